"""The jobs of scripts/bench faults: kernels that end badly, each in its own way, and the good one that stands between
them.
"""

from dataclasses import dataclass

LIMIT_S = 5.0  # the time limit of kernels that never end by themselves
OTHERS_LIMIT_S = 30.0

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn({rows}, 1024)]


def get_init_inputs():
    return []
"""

# The number makes each source a different submission.
KERNEL = """import torch
{before}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        {body}


# {number}
"""

GOOD = "return torch.clamp(x, min=0)"

FAR_STORE = """import triton
import triton.language as tl


@triton.jit
def far(out, at):
    tl.store(out + at, 1.0)

"""


@dataclass(frozen=True)
class Fault:
    body: str
    verdicts: tuple[str, ...]
    limit_s: float = 0.0  # 0: the kernel ends by itself
    before: str = ""
    backend: str = "torch"


ANYWHERE = {
    "endless_loop": Fault("while True: pass", ("timed_out",), LIMIT_S),
    "segfault": Fault("ctypes.string_at(0)", ("crashed",), before="import ctypes"),
    "exits": Fault("os._exit(0)", ("runtime_error",), before="import os"),
    "raises": Fault("raise ValueError('no')", ("runtime_error",)),
    "host_memory": Fault("return x + len(b'1' * (16 << 40))", ("out_of_memory",)),
}
ON_A_GPU = {
    "endless_kernel": Fault("torch.cuda._sleep(1 << 62); return torch.relu(x)", ("timed_out",), LIMIT_S),
    "illegal_address": Fault(
        "far[(1,)](x, 1 << 40); return torch.relu(x)", ("gpu_fault",), before=FAR_STORE, backend="triton"
    ),
    "device_assert": Fault("return x[torch.full((4,), 1 << 40, device=x.device)]", ("gpu_fault",)),
    # The kernel catches its own fault, but the error stays in the CUDA context for later calls.
    "sticky_error": Fault(
        "\n        ".join(
            (
                "try:",
                "    x[torch.full((4,), 1 << 40, device=x.device)].sum().item()",
                "except RuntimeError:",
                "    pass",
                "return torch.relu(x)",
            )
        ),
        ("gpu_fault", "runtime_error"),
    ),
    "gpu_memory": Fault(
        "hoard = [torch.empty(1 << 30, device=x.device) for _ in range(1000)]; return x + len(hoard)",
        ("out_of_memory",),
    ),
    "gpu_memory_kept": Fault(
        "self.hoard = [torch.empty(1 << 30, device=x.device) for _ in range(1000)]; return torch.relu(x)",
        ("out_of_memory",),
    ),
}


def faults_of(device: str) -> dict[str, Fault]:
    return ANYWHERE | (ON_A_GPU if device == "cuda" else {})


def good_kernel(number: int) -> str:
    return KERNEL.format(before="", body=GOOD, number=number)


def bad_kernel(fault: Fault, number: int) -> str:
    return KERNEL.format(before=fault.before, body=fault.body, number=number)
