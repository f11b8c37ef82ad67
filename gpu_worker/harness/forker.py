"""The zygote's loop: orders in, forks out, exits reported."""

import gc
import json
import os
import select
import signal
import socket
import sys
from typing import Any

PACKET_BYTES = 160 << 10
FDS_MAX = 4
ROLES = {"reference": 2, "submission": 2, "build": 1}  # how many descriptors come with an order


class Refused(Exception):
    """An order that cannot be carried out, in one sentence."""


def main(control_fd: int, device: str, stub_path: str) -> int:
    control = socket.socket(fileno=control_fd)
    try:
        versions = import_everything()
    except ImportError as error:
        message = f"{sys.executable} cannot import torch, triton and numpy ({error}); set KQ_PYTHON to an interpreter that can"
        control.send(json.dumps({"error": message}).encode())
        return 3
    from harness.stub import Stub

    stub = Stub(stub_path)
    gc.collect()
    gc.freeze()
    forker = Forker(control, device, stub)
    control.send(json.dumps({"ready": True, **versions, "sandbox": ""}).encode())
    forker.loop()
    return 0


def import_everything() -> dict[str, str]:
    """Imports what children will need, ourselves included: after the fork there may be nothing left to read it from."""
    import numpy  # noqa: F401
    import torch
    import triton

    from harness import child  # noqa: F401

    return {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda or "",
    }


class Forker:
    def __init__(self, control: socket.socket, device: str, stub: Any) -> None:
        self._control = control
        self._device = device
        self._stub = stub
        self._children: dict[int, int] = {}  # pid -> id
        self._wake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def loop(self) -> None:
        """Until control closes its socket; children die with us."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self._wake in ready:
                self.reap()
            if self._control.fileno() in ready and not self.take_order():
                self.kill_all()
                return

    def take_order(self) -> bool:
        """Carries out one order. False: control is gone."""
        try:
            packet, fds, _, _ = socket.recv_fds(self._control, PACKET_BYTES, FDS_MAX, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return False
        if not packet:
            return False
        try:
            order = parse_order(packet, len(fds))
            answer = {"id": order["id"], "pid": self.fork(order, fds)}
        except Refused as error:
            answer = {"id": id_of(packet), "error": str(error)}
        finally:
            for fd in fds:
                os.close(fd)
        self.report(answer)
        return True

    def fork(self, order: dict[str, Any], fds: list[int]) -> int:
        from harness import child

        try:
            pid = os.fork()
        except OSError as error:
            raise Refused(f"cannot fork: {error}") from error
        if pid == 0:
            code = 70
            try:
                signal.set_wakeup_fd(-1)
                os.setsid()
                child.settle(order, fds[0], fds[1] if len(fds) > 1 else None)
                code = child.run(order, self._stub)
            except BaseException as error:
                print(f"kq: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(code)
        self._children[pid] = order["id"]
        return pid

    def reap(self) -> None:
        os.read(self._wake, 4096)
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            order_id = self._children.pop(pid, None)
            if order_id is not None:
                self.report({"id": order_id, "exit": status})

    def kill_all(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def report(self, answer: dict[str, Any]) -> None:
        self._control.send(json.dumps(answer).encode())


def parse_order(packet: bytes, fds_n: int) -> dict[str, Any]:
    try:
        order = json.loads(packet)
    except ValueError as error:
        raise Refused(f"the order is no JSON: {error}") from error
    if not isinstance(order, dict) or not isinstance(order.get("id"), int):
        raise Refused("the order has no id")
    if order.get("role") not in ROLES:
        raise Refused(f"unknown role {order.get('role')!r}; known are {', '.join(ROLES)}")
    if fds_n != ROLES[order["role"]]:
        raise Refused(f"{fds_n} descriptors came with a {order['role']} order, expected {ROLES[order['role']]}")
    return order


def id_of(packet: bytes) -> int:
    try:
        order = json.loads(packet)
        return int(order["id"])
    except (ValueError, KeyError, TypeError):
        return 0
