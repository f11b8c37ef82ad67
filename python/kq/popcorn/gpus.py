"""The names of GPUs that callers of popcorn-cli use: "H100", "CPU". The Python twin of gpus_of() and gpu_of() in
producer/gateway/popcorn, so that a name means the same with and without a gateway.
"""

from __future__ import annotations

from dataclasses import dataclass

from kq.errors import BadInput
from kq.records.jobs import DeviceKind
from kq.wire.messages import BrokerReply

MAKER_WORDS = ("NVIDIA", "GeForce", "Tesla", "Quadro")  # they are no part of a short name
SERIES_WORDS = ("RTX", "GTX", "TITAN")  # the word behind one of these belongs to the short name


@dataclass(frozen=True)
class Gpu:
    """A kind of device under its name."""

    name: str
    model: str = ""  # as the workers report it; empty for a CPU

    def options(self) -> list[str]:
        """Returns the words for kq submit that select the device."""
        return ["--gpu", self.model] if self.model else ["--device", "cpu"]


def gpus_of(broker: BrokerReply) -> list[Gpu]:
    """Returns the devices of the connected workers, GPUs first, with short names that no two models share."""
    devices = [device for worker in broker.workers for device in worker.devices]
    models: dict[str, set[str]] = {}  # by short name
    for device in devices:
        if device.kind is DeviceKind.CUDA:
            models.setdefault(short_name(device.model), set()).add(device.model)
    found = [
        Gpu(name if len(of_name) == 1 else long_name(model), model)
        for name, of_name in sorted(models.items())
        for model in sorted(of_name)
    ]
    return found + [Gpu("CPU")] * any(device.kind is DeviceKind.CPU for device in devices)


def gpu_of(name: str, broker: BrokerReply) -> Gpu:
    """Returns the device of a name, in any case of letters, or of the whole name of a model.

    Raises BadInput with a sentence that lists the devices that there are.
    """
    gpus = gpus_of(broker)
    for gpu in gpus:
        if name.lower() in (gpu.name.lower(), gpu.model.lower()):
            return gpu
    there = "there are " + ", ".join(gpu.name for gpu in gpus) if gpus else "there is no worker"
    raise BadInput(f"no connected worker has a GPU {name}; {there}")


def short_name(model: str) -> str:
    """Returns "H100" of "NVIDIA H100 80GB HBM3" and "RTX_4090" of "NVIDIA GeForce RTX 4090"."""
    words: list[str] = []
    for word in model.split():
        if word in MAKER_WORDS:
            continue
        words.append(word)
        if word not in SERIES_WORDS:
            break
    return "_".join(words).partition("-")[0] if words else "GPU"


def long_name(model: str) -> str:
    return model.replace(" ", "_").replace("/", "_")
