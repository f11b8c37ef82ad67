"""Ports of this machine for tests, which run beside one another."""

import contextlib
import fcntl
import os
import random
import socket

BLOCK = 4  # neighbouring ports, which one call reserves
# The kernel gives ports from 32768 on to outgoing connections, unless ip_local_port_range says otherwise.
FIRST_PORTS = range(20_000, 32_000, BLOCK)

# A lock on the byte N of this file reserves port N until the process ends.
_file = os.open(f"/tmp/kq-test-ports.{os.geteuid()}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
_reserved: set[int] = set()


def free_port() -> int:
    """Returns a port that is free together with the next three. No other test gets them while this process runs."""
    for first in random.sample(FIRST_PORTS, len(FIRST_PORTS)):
        if first in _reserved:
            continue
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            fcntl.lockf(_file, fcntl.LOCK_EX | fcntl.LOCK_NB, BLOCK, first)
            _reserved.add(first)
            for port in range(first, first + BLOCK):
                stack.enter_context(socket.socket()).bind(("", port))
            return first
    raise AssertionError("no free ports were found")
