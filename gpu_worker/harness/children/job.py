"""The work of one child, as its order describes it. Every kind of child reads a Job."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from harness.children.tensors import PRECISIONS

PREFORKED_FIELDS = ("role", "device", "source", "given", "work", "out", "arch")


@dataclass(frozen=True)
class Job:
    """The work of one child. Paths are those inside the sandbox."""

    role: str
    device: torch.device
    backend: str
    source: Path  # the files of the job as its code sees them; in children that run it, a copy that it may write
    given: Path  # the same files as the worker wrote them, with those that the build made; read only
    work: Path
    out: Path
    entry: str
    problem: str
    precision: torch.dtype | None
    arch: str
    audit: bool = False
    # The folder of precompiled headers in a compile child, and that of the driver's code in a child with a GPU
    # (kernels/driver_cache.py). The child may only read it.
    shared: Path | None = None
    profiler: str = ""  # profile child: the path of ncu
    device_count: int = 1  # eval child: the devices that its problem needs

    @staticmethod
    def from_order(
        order: dict[str, Any],
        source: Path,
        work: Path,
        out: Path,
        shared: Path | None = None,
        given: Path | None = None,
    ) -> "Job":
        return Job(
            role=order["role"],
            device=torch.device(order["device"]),
            backend=order.get("backend", ""),
            source=source,
            given=given or source,
            work=work,
            out=out,
            entry=order.get("entry", ""),
            problem=order.get("problem", ""),
            precision=PRECISIONS[order.get("precision", "as_given")],
            arch=order.get("arch", ""),
            audit=order.get("audit", False),
            shared=shared,
            profiler=order.get("profiler", ""),
            device_count=order.get("device_count", 1),
        )

    def as_strings(self) -> dict[str, str]:
        """Returns the fields of a pre-forked child without an assignment as text, for a process that starts anew."""
        return {
            field.name: str(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name in PREFORKED_FIELDS
        }

    @staticmethod
    def from_strings(strings: dict[str, str]) -> "Job":
        source, work, out, given = (Path(strings[place]) for place in ("source", "work", "out", "given"))
        return Job.from_order(strings, source, work, out, given=given)

    @property
    def on_gpu(self) -> bool:
        return self.device.type == "cuda"
