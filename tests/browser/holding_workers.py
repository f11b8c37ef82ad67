"""Workers that speak the protocol and evaluate nothing: python3 holding_workers.py BROKER COUNT BUSY

The first BUSY of COUNT workers take one job each and never end it. The program prints a line once all are connected.
"""

import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests")]

import kq  # noqa: E402
import zmq  # noqa: E402 - the paths come first
from kq.wire.codec import decode_message, encode_message  # noqa: E402
from worker_messages import REPLIES, Heartbeat, Hello, LeaseBatch, LeaseId, Unknown  # noqa: E402

HEARTBEAT_S = 5
POLL_MS = 200
GPU_BYTES = 141 << 30
GPUS = 8


def hello(number: int, is_busy: bool) -> bytes:
    (evaluator,) = re.findall(r'kEvaluatorVersion = "(.*)"', (ROOT / "core/submission.h").read_text())
    devices = [
        kq.DeviceInfo(kq.DeviceKind.CUDA, "NVIDIA H200", f"GPU-{number}-{gpu}", "sm_90", GPU_BYTES)
        for gpu in range(GPUS)
    ]
    return encode_message(0, Hello(f"node{number:04}", 1, devices, 1 if is_busy else 0, evaluator))


def main(broker: str, count: int, busy: int) -> None:
    context = zmq.Context(io_threads=1)
    context.max_sockets = count + 10
    poller = zmq.Poller()
    hellos: dict[zmq.Socket[bytes], bytes] = {}
    leases: dict[zmq.Socket[bytes], list[LeaseId]] = {}
    for number in range(count):
        socket = context.socket(zmq.DEALER)
        socket.connect(broker + ".workers")
        hellos[socket] = hello(number, number < busy)
        leases[socket] = []
        socket.send(hellos[socket])
        poller.register(socket, zmq.POLLIN)
    print("connected", flush=True)
    next_beat = time.monotonic() + HEARTBEAT_S
    while True:
        for socket, _ in poller.poll(POLL_MS):
            _, body = decode_message(socket.recv(), REPLIES)
            if isinstance(body, LeaseBatch):
                leases[socket] += [lease.id for lease in body.leases]
            elif isinstance(body, Unknown):
                socket.send(hellos[socket])
        if time.monotonic() >= next_beat:
            next_beat = time.monotonic() + HEARTBEAT_S
            for socket, held in leases.items():
                socket.send(encode_message(0, Heartbeat(1, held)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
