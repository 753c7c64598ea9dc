#!/usr/bin/env python3
"""What a run's memory grows by with every step: a run of many quick steps, its resident memory read now and then.

    bench/memory.py PROGRAM [--steps 20000] [--from 4000] [--set KEY=VALUE]...

Prints the slope of a straight line through the readings between step --from (until then every buffer has been made once) and the last
one, in bytes per step, and how much more than at that step the run's end took. The default is the demo on less."""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

QUICK = ["data.path=synthetic:300", "data.max_tokens=24", "train.expected_batch_size=2", "privacy.book=none"]


def memory(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return None


def charged(ledger):
    """Steps so far."""
    with open(ledger, "rb") as file:
        return file.read().count(b'"seq":')


def slope(points):
    mean_x, mean_y = (sum(column) / len(points) for column in zip(*points))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--from", type=int, default=4_000, dest="begin")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    settings = [word for one in [*QUICK, f"train.steps={given.steps}", *given.settings] for word in ("--set", one)]
    with tempfile.TemporaryDirectory() as scratch:
        run = pathlib.Path(scratch) / "run"
        child = subprocess.Popen([given.program, "run", "config/demo.json", "--quiet", "--out", run, *settings], stdout=subprocess.DEVNULL)
        points, most = [], 0
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(1)
            resident, step = memory(child.pid, "VmRSS"), 0
            if (run / "public/ledger.jsonl").exists():
                step = charged(run / "public/ledger.jsonl")
            if resident and given.begin <= step < given.steps:
                points.append((step, resident))
            most = max(most, memory(child.pid, "VmHWM") or 0)
        if child.wait() != 0:
            raise SystemExit(f"the run ended with {child.returncode}")
    if len(points) < 10:
        raise SystemExit("too few readings: give more --steps")
    print(f"{given.steps} steps, {len(points)} readings from step {points[0][0]} on: {slope(points):.0f} bytes per step, "
          f"{points[0][1] / 2**20:.1f} MiB at first, {points[-1][1] / 2**20:.1f} MiB at last, {most / 2**20:.1f} MiB at most")


if __name__ == "__main__":
    main()
