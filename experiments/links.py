"""Hosts that are network namespaces of this machine, and links between them that have a delay and a rate.

Kernels without `netem` cannot delay packets, so this process carries them: each host has a TUN device, whose packets it
reads, holds back as long as a link would, and writes to the device of the host that they are for. A host sends at its rate,
one packet after the other; packets of 9,000 bytes. Needs root and the command `ip` of Linux.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import select
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["Link", "address", "command", "kill_all", "network", "refusal"]

_TUNSETIFF, _TUN_WITHOUT_HEADER, _NEWNET = 0x400454CA, 0x1001, 0x40000000  # of Linux's if_tun.h and sched.h
_PACKET, _LONGEST = 9000, 0.05  # bytes; seconds until the end is noticed


class Link(NamedTuple):
    """Milliseconds one way, and megabits a second; None for as little, and as much, as this machine can."""

    delay: float | None = None
    rate: float | None = None


def command(*words: object) -> str:
    """Return what a command of the system writes; its own message is the error."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def address(number: int) -> str:
    """Return the address of a host, from 1."""
    return f"10.93.0.{number}"


def refusal() -> str | None:
    """Return in one line why this machine has no network namespaces; None where it has."""
    try:
        with network(1, Link()):
            return None
    except OSError as error:
        return f"no network namespaces here: {error}"


def kill_all(name: str) -> None:
    """Kill with SIGKILL all that runs on a host; a launcher's workers are in sessions of their own."""
    for word in command("ip", "netns", "pids", name).split():
        with suppress(ProcessLookupError):
            os.kill(int(word), signal.SIGKILL)


@contextmanager
def network(hosts: int, link: Link) -> Iterator[list[str]]:
    """Yield the namespaces of hosts that are linked; whatever happens, all of them are removed with what runs there."""
    made: list[str] = []
    devices: list[int] = []
    ended = threading.Event()
    relay = threading.Thread(target=_carry, args=(devices, link, ended), daemon=True)
    try:
        for number in range(1, hosts + 1):
            name = f"relatum-{os.getpid()}-{number}"
            command("ip", "netns", "add", name)
            made.append(name)
            devices.append(_device(name))
            command("ip", "-n", name, "link", "set", "lo", "up")
            command("ip", "-n", name, "addr", "add", f"{address(number)}/24", "dev", "eth0")
            command("ip", "-n", name, "link", "set", "eth0", "mtu", _PACKET, "up")
        relay.start()
        yield made
    finally:
        ended.set()
        if relay.is_alive():
            relay.join()
        for device in devices:
            os.close(device)
        for name in made:
            kill_all(name)
            command("ip", "netns", "del", name)


def _device(name: str) -> int:
    """Return an open TUN device that is the interface eth0 of a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/self/ns/net").open() as own, Path(f"/run/netns/{name}").open() as other:
        for_thread = libc.setns(other.fileno(), _NEWNET)
        if for_thread:
            raise OSError(ctypes.get_errno(), f"namespace {name}: cannot be entered")
        try:
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"eth0", _TUN_WITHOUT_HEADER))
        finally:
            libc.setns(own.fileno(), _NEWNET)
    return device


def _carry(devices: list[int], link: Link, ended: threading.Event) -> None:
    """Carry packets until the end; what a host cannot take is lost, as on a wire."""
    delay, second = (link.delay or 0.0) / 1e3, 8e-6 / link.rate if link.rate else 0.0
    free = dict.fromkeys(devices, 0.0)  # when a host can send its next packet
    held: list[tuple[float, int, bytes]] = []
    count = 0
    while not ended.is_set():
        wait = max(0.0, held[0][0] - time.monotonic()) if held else _LONGEST
        ready, _, _ = select.select(devices, [], [], min(wait, _LONGEST))
        for device in ready:
            with suppress(OSError):  # nothing more to read, or the host is cut off
                packet = os.read(device, _PACKET)
                now = time.monotonic()
                free[device] = max(now, free[device]) + second * len(packet)
                heapq.heappush(held, (free[device] + delay, count, packet))
                count += 1
        while held and held[0][0] <= time.monotonic():
            packet = heapq.heappop(held)[2]
            target = packet[19] - 1 if packet[0] >> 4 == 4 else -1  # the last byte of where an IPv4 packet goes
            if 0 <= target < len(devices):
                with suppress(OSError):
                    os.write(devices[target], packet)
