#!/usr/bin/env python3
"""What strangers at the monitor's port cost a run: seconds of wall and processor time per step, as the difference of a
long and a short run (what comes before and after the steps falls out), unwatched and under each kind of attention.

    bench/watched.py PROGRAM CONFIG [--dashboard] [--only KINDS] [--steps 48] [--repeats 3] [--set KEY=VALUE]...

With --dashboard the port is that of `rldp run --dashboard`, and also pages, readers that never read, by the thousand, and
garbage call there; processor time is that of the run alone.
All kinds take turns in every repetition; medians are printed, and ratios to the unwatched run."""
import argparse
import os
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


def subscribed():
    peer = connect()
    peer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return peer


def watcher(stop, meanwhile=lambda: None):
    """One reader of the stream."""
    with subscribed() as peer:
        while not stop.is_set():
            try:
                if not peer.recv(65536):
                    return
            except TimeoutError:
                pass
            except OSError:
                return
            meanwhile()


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
            peer = subscribed()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peers.append(peer)
        except OSError:
            pass
    stop.wait()


def page(stop):
    """A page as a browser has it open, and three more: each follows the events and reads the whole run every two seconds."""
    def one():
        last = [0.0]

        def read_all():
            if time.monotonic() - last[0] > 2:
                last[0] = time.monotonic()
                for path in NAMES[0], "/metrics":
                    ask(path)
        watcher(stop, read_all)
    viewers = [threading.Thread(target=one) for _ in range(4)]
    for each in viewers:
        each.start()
    for each in viewers:
        each.join()


def ask(path):
    try:
        with connect() as peer:
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            while peer.recv(65536):
                pass
    except OSError:
        pass


def slow(stop):
    """A thousand readers that ask for the events of all runs and never read; whoever is dropped comes again."""
    peers = []
    while not stop.is_set():
        try:
            peer = subscribed()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peers.append(peer)
        except OSError:
            time.sleep(0.01)
        if len(peers) >= 1000:
            stop.wait(0.05)
            peers.pop(0).close()
    for peer in peers:
        peer.close()


def garbage(stop):
    """Requests that are none, 200 a second."""
    kinds = [b"\x16\x03\x01\x00\xff" * 40, b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", b"\0" * 100,
             b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999\r\n\r\n", b"GET /api/runs/../.. HTTP/1.1\r\nHost: evil\r\n\r\n"]
    count = 0
    while not stop.is_set():
        try:
            with connect() as peer:
                peer.sendall(kinds[count % len(kinds)])
        except OSError:
            pass
        count += 1
        time.sleep(0.005)


NAMES = ["/api/runs"]  # of the run that is watched
OF_STREAM = [nobody, watcher, packets, idle, deaf]
OF_DASHBOARD = [nobody, page, slow, garbage, idle]


def listening():
    try:
        connect().close()
        return True
    except OSError:
        return False


def count_server(pid, seconds, stop):
    """The processor time of the thread that answers, as long as it can be read."""
    tick = os.sysconf("SC_CLK_TCK")
    while not stop.wait(0.25):
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
            try:
                if (task / "comm").read_text().strip() == "rldp-http":
                    fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
                    seconds[0] = (int(fields[11]) + int(fields[12])) / tick
            except OSError:
                pass


def run(program, config, more, steps, kind, out, option):
    """Wall and processor seconds of a run of so many steps, and the most memory it held, in bytes."""
    NAMES[0] = "/api/runs/" + pathlib.Path(out).name
    began = time.monotonic()
    child = subprocess.Popen([program, "run", config, *more, "--set", f"train.steps={steps}", "--quiet", "--out", out,
                              option, f"{ADDRESS[0]}:{ADDRESS[1]}"], stdout=subprocess.DEVNULL)
    while child.poll() is None and not listening():
        time.sleep(0.02)
    stop = threading.Event()
    attention = threading.Thread(target=kind, args=(stop,))
    attention.start()
    server = [0.0]
    counting = threading.Thread(target=count_server, args=(child.pid, server, stop))
    counting.start()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    wall = time.monotonic() - began
    stop.set()
    attention.join()
    counting.join()
    if status != 0:
        raise SystemExit(f"{kind.__name__}: the run ended with {status}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, server[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("config")
    parser.add_argument("--dashboard", action="store_true")
    parser.add_argument("--only", help="comma list of kinds")
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    given = parser.parse_args()
    more = [word for setting in given.settings for word in ("--set", setting)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    option = "--dashboard" if given.dashboard else "--monitor"
    kinds = OF_DASHBOARD if given.dashboard else OF_STREAM
    if given.only:
        kinds = [kind for kind in kinds if kind.__name__ in ["nobody", *given.only.split(",")]]
    times = {kind.__name__: [] for kind in kinds}
    memory = {}
    with tempfile.TemporaryDirectory() as scratch:
        for repeat in range(given.repeats):
            for kind in kinds:
                name = kind.__name__
                out = [str(pathlib.Path(scratch) / f"{name}-{repeat}-{steps}") for steps in (SHORT, given.steps)]
                short = run(given.program, given.config, more, SHORT, kind, out[0], option)
                long = run(given.program, given.config, more, given.steps, kind, out[1], option)
                columns = [(b - a) / (given.steps - SHORT) for a, b in zip(short[:2], long[:2])]
                times[name].append([*columns, long[3] / long[1]])
                memory[name] = max(memory.get(name, 0), long[2])
    print("| attention | wall, ms per step | of unwatched | processor, ms per step | of unwatched | most memory, MiB | server's share of the processor time |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in times.items()}
    for name, (wall, processor, share) in medians.items():
        quiet = medians["nobody"]
        print(f"| {name} | {wall * 1e3:.1f} | {wall / quiet[0]:.3f} | {processor * 1e3:.1f} | {processor / quiet[1]:.3f} | {memory[name] / 2**20:.0f} | {share:.2%} |")


if __name__ == "__main__":
    main()
