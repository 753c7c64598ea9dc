#!/usr/bin/env python3
"""A network between two network namespaces, with delay and loss, for kernels without netem: packets of a tun device in each go
through this process, which drops some and holds the others back. To kill it is to cut the network: devices stay, packets vanish
when it is stopped (SIGSTOP).

    slow_network.py NAMESPACE_A NAMESPACE_B DELAY_MS LOSS DEVICE      (addresses 10.77.0.1 and 10.77.0.2; says "up")"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
HOME = os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace can't be entered")


def device_in(namespace, name, address):
    enter(os.open(f"/run/netns/{namespace}", os.O_RDONLY))
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI))
    for words in (["addr", "add", f"{address}/24", "dev", name], ["link", "set", name, "up"], ["link", "set", "lo", "up"]):
        subprocess.run(["ip", *words], check=True)
    enter(HOME)
    return tun


def main():
    first, second, delay, loss, name = sys.argv[1:]
    ends = [device_in(first, name, "10.77.0.1"), device_in(second, name, "10.77.0.2")]
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    print("up", flush=True)
    waiting, count, chance = [], 0, random.Random(1)
    while True:
        until = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for tun in select.select(ends, [], [], until)[0]:
            packet = os.read(tun, 65536)
            if chance.random() >= float(loss):
                count += 1
                heapq.heappush(waiting, (time.monotonic() + float(delay) / 1000, count, other[tun], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, tun, packet = heapq.heappop(waiting)
            os.write(tun, packet)


main()
