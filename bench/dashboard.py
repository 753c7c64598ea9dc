#!/usr/bin/env python3
"""How soon a dashboard is there, and what it holds: copies of a finished run as 500 runs, and one of them stretched to 100,000 steps.

    bench/dashboard.py PROGRAM RUN [--runs 500] [--steps 100000]

RUN is the directory of a run that is over. Prints medians of five starts (seconds until it listens, and until the overview has been
answered), the first and later answers of the long run, whole and zoomed, and the most memory that the process held."""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request
import zlib

PORT = 4272


def ask(path):
    began = time.monotonic()
    body = urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}").read()
    return time.monotonic() - began, len(body)


class dashboard:
    def __init__(self, program, directory):
        began = time.monotonic()
        self.process = subprocess.Popen([program, "dashboard", directory, "--http", str(PORT)], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.listens = time.monotonic() - began
        ask("/api/runs")
        self.answered = time.monotonic() - began

    def memory(self):
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    def end(self):
        self.process.terminate()
        self.process.wait()


def stretch(run, out, steps):
    """Public files of a run of so many steps: each line is one of the run's, with another step and loss."""
    lines = [json.loads(line) for line in (run / "public/metrics.jsonl").read_text().splitlines()]
    some = [line for line in lines if line.get("radii")]
    for line in some:
        del line["crc32"]
    (out / "public").mkdir(parents=True)
    shutil.copy(run / "public/config.json", out / "public")
    ledger = (run / "public/ledger.jsonl").read_text().splitlines()
    (out / "public/ledger.jsonl").write_text(ledger[0] + "\n")
    with (out / "public/metrics.jsonl").open("w") as file:
        for step in range(1, steps + 1):
            line = {**some[step % len(some)], "step": step, "loss_released": 4 * math.exp(-step / steps) + math.sin(step) / 10}
            text = json.dumps(line, separators=(",", ":"))
            file.write(f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--steps", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        many, long = pathlib.Path(scratch) / "many", pathlib.Path(scratch) / "long"
        for i in range(given.runs):
            shutil.copytree(given.run / "public", many / f"run-{i}/public", ignore=shutil.ignore_patterns("adapter"))
        starts = []
        for _ in range(5):
            one = dashboard(given.program, many)
            starts.append((one.listens, one.answered, one.memory()))
            one.end()
        listens, answered, memory = (statistics.median(column) for column in zip(*starts))
        print(f"{given.runs} runs: listens after {listens:.2f} s, overview answered after {answered:.2f} s, {memory:.0f} MiB")
        stretch(given.run, long / "run", given.steps)
        one = dashboard(given.program, long)
        first, size = ask("/api/runs/run?points=1200")
        again = statistics.median(ask("/api/runs/run?points=1200")[0] for _ in range(9))
        zoomed = statistics.median(ask(f"/api/runs/run?points=1200&from={given.steps // 3}&to={given.steps // 2}")[0] for _ in range(9))
        print(f"{given.steps} steps: read in {first:.2f} s, then answered in {1e3 * again:.1f} ms ({size / 1024:.0f} KiB), zoomed in {1e3 * zoomed:.1f} ms, "
              f"{one.memory():.0f} MiB")
        one.end()


if __name__ == "__main__":
    main()
