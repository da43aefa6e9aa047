"""A system whose locks fail, as on a network file system that is mounted without them."""

from __future__ import annotations

import platform
import sys

import pytest

_NUMBERS = {"x86_64": 73, "aarch64": 32}  # of the system call `flock`

LOCKLESS = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in _NUMBERS, reason="system calls are only refused on Linux"
)

WITHOUT_LOCKS = f"""
import ctypes, struct, sys
flock, error = {_NUMBERS.get(platform.machine(), 0)}, int(sys.argv.pop(1))
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, flock), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
filter = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
assert libc.prctl(22, 2, ctypes.c_char_p(filter), 0, 0) == 0, ctypes.get_errno()  # a filter of system calls
"""
"""The beginning of a program whose first argument is the error that every `flock` of this process ends with from then on."""
