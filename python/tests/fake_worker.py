"""A fake worker for a real broker. It speaks the protocol but evaluates nothing: a function decides each verdict."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

import zmq
from examples import ROOT, ended, passed
from worker_messages import REPLIES, AttemptResult, Heartbeat, Hello, Lease, LeaseBatch, ResultAck, ResultBatch, Unknown

import kq
from kq.records.jobs import Conditions, GpuProcess, StageTimes
from kq.wire.codec import decode_message, encode_message
from kq.wire.messages import Blob, Packing
from kq.wire.packing import unpacked

EPOCH = 1
DEVICE = kq.DeviceInfo(kq.DeviceKind.CPU, model="a processor", memory_bytes=1 << 30)


GPU = kq.DeviceInfo(
    kq.DeviceKind.CUDA, model="NVIDIA H100 80GB HBM3", uuid="GPU-1", arch="sm_90", memory_bytes=80 << 30
)
CONDITIONS = Conditions(1_980, 0, 41, 312.5, "sw_power_cap", [GpuProcess(4711, 512), GpuProcess(4712)])


def judge(lease: Lease) -> kq.Verdict:
    """Returns the verdict that the source names: "wrong", "abandoned", or "ends as NAME"; else returns passed."""
    sources = {blob.hash: _plain(blob) for blob in lease.blobs}
    source = sources[lease.submission.files[0].hash]
    if b"wrong" in source:
        return ended(kq.VerdictName.WRONG_ANSWER, "output 0 differs")
    if b"abandoned" in source:
        return ended(kq.VerdictName.ABANDONED, "the judge died")
    if found := re.search(rb"ends as (\w+)", source):
        return ended(kq.VerdictName(found[1].decode()), "SomeError: because")
    return passed(median_ns=2_000, reference_ns=3_000)


def _plain(blob: Blob) -> bytes:
    return blob.bytes if blob.packing is Packing.RAW else unpacked(blob.bytes)


class FakeWorker:
    """A worker in a thread. It sends every result until the broker acknowledges it."""

    def __init__(
        self,
        broker_url: str,
        judge: Callable[[Lease], kq.Verdict],
        devices: Sequence[kq.DeviceInfo] = (DEVICE,),
        labels: Sequence[str] = (),
    ) -> None:
        self._url = broker_url + ".workers"
        self._devices, self._labels = list(devices), list(labels)
        self._judge = judge
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        context = zmq.Context()
        socket = context.socket(zmq.DEALER)
        socket.connect(self._url)
        (evaluator,) = re.findall(r'kEvaluatorVersion = "(.*)"', (ROOT / "core/submission.h").read_text())
        hello = encode_message(0, Hello("fake", EPOCH, self._devices, 8, evaluator, self._labels))
        held: dict[int, AttemptResult] = {}
        socket.send(hello)
        while not self._stopped.is_set():
            if not socket.poll(100):
                socket.send(encode_message(0, Heartbeat(EPOCH, [result.lease for result in held.values()])))
                if held:  # results are sent again until they are acknowledged, because the broker may have restarted
                    socket.send(encode_message(0, ResultBatch(EPOCH, list(held.values()))))
                continue
            _, body = decode_message(socket.recv(), REPLIES)
            if isinstance(body, Unknown):
                socket.send(hello)
            elif isinstance(body, LeaseBatch):
                new = [AttemptResult(lease.id, self._result(lease)) for lease in body.leases]
                held |= {result.lease.seq: result for result in new}
                socket.send(encode_message(0, ResultBatch(EPOCH, new)))
            elif isinstance(body, ResultAck):
                for lease in body.leases:
                    held.pop(lease.seq, None)
        socket.close(linger=0)
        context.term()

    def _result(self, lease: Lease) -> kq.Result:
        return kq.Result(
            verdict=self._judge(lease),
            device=lease.device,
            worker="fake",
            log="done\n",
            samples=kq.Samples([1, 2], [3, 4]),
            times=StageTimes(build_ms=3, run_ms=900, trials_us=640_125),
            conditions=CONDITIONS if lease.device.kind is kq.DeviceKind.CUDA else None,
        )
