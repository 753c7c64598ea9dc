#!/usr/bin/env python3
"""What strangers at the monitor's port cost a run: seconds of wall and processor time per step, as the difference of a
long and a short run (what comes before and after the steps falls out), unwatched and under each kind of attention.

    bench/watched.py PROGRAM CONFIG [--steps 48] [--repeats 3] [--set KEY=VALUE]...

All kinds take turns in every repetition; medians are printed, and ratios to the unwatched run."""
import argparse
import pathlib
import resource
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time

ADDRESS = ("127.0.0.1", 4271)
SHORT = 4  # steps


def connect():
    peer = socket.create_connection(ADDRESS, timeout=1)
    peer.settimeout(1)
    return peer


def nobody(stop):
    stop.wait()


def watcher(stop):
    """One reader of the stream."""
    with connect() as peer:
        peer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while not stop.is_set():
            try:
                if not peer.recv(65536):
                    return
            except TimeoutError:
                pass


def packets(stop):
    """Server handshakes of CAF's protocol with an empty payload, each on a connection of its own, 200 a second."""
    packet = struct.pack(">BBBBIQQQ", 0, 0, 0, 0, 0, 0, 0, 0)
    while not stop.is_set():
        try:
            with connect() as peer:
                peer.sendall(packet)
        except OSError:
            pass
        time.sleep(0.005)


def idle(stop):
    """1,100 connections that say nothing."""
    peers = []
    while len(peers) < 1100 and not stop.is_set():
        try:
            peers.append(connect())
        except OSError:
            time.sleep(0.01)
    stop.wait()
    for peer in peers:
        peer.close()


def deaf(stop):
    """Sixteen subscribers that never read."""
    peers = []
    for _ in range(16):
        try:
            peer = connect()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            peers.append(peer)
        except OSError:
            pass
    stop.wait()


KINDS = [nobody, watcher, packets, idle, deaf]


def listening():
    try:
        connect().close()
        return True
    except OSError:
        return False


def run(program, config, more, steps, kind, out):
    """Wall and processor seconds of a run of so many steps."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    child = subprocess.Popen([program, "run", config, *more, "--set", f"train.steps={steps}", "--quiet", "--out", out,
                              "--monitor", f"{ADDRESS[0]}:{ADDRESS[1]}"], stdout=subprocess.DEVNULL)
    while child.poll() is None and not listening():
        time.sleep(0.02)
    stop = threading.Event()
    attention = threading.Thread(target=kind, args=(stop,))
    attention.start()
    status = child.wait()
    wall = time.monotonic() - began
    stop.set()
    attention.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        raise SystemExit(f"{kind.__name__}: the run ended with {status}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("config")
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    more = [word for setting in given.settings for word in ("--set", setting)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    times = {kind.__name__: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as scratch:
        for repeat in range(given.repeats):
            for kind in KINDS:
                name = kind.__name__
                out = [str(pathlib.Path(scratch) / f"{name}-{repeat}-{steps}") for steps in (SHORT, given.steps)]
                short = run(given.program, given.config, more, SHORT, kind, out[0])
                long = run(given.program, given.config, more, given.steps, kind, out[1])
                times[name].append([(b - a) / (given.steps - SHORT) for a, b in zip(short, long)])
    print("| attention | wall, ms per step | of unwatched | processor, ms per step | of unwatched |")
    print("| --- | ---: | ---: | ---: | ---: |")
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in times.items()}
    for name, (wall, processor) in medians.items():
        quiet = medians["nobody"]
        print(f"| {name} | {wall * 1e3:.1f} | {wall / quiet[0]:.3f} | {processor * 1e3:.1f} | {processor / quiet[1]:.3f} |")


if __name__ == "__main__":
    main()
