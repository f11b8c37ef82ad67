import torch
from task import input_t, output_t

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(size: int, seed: int) -> input_t:
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    a, b = (torch.randn(size, device=DEVICE, generator=generator) for _ in range(2))
    return a, b, torch.empty(size, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    a, b, out = data
    return torch.add(a, b, out=out)


def check_implementation(data: input_t, output: output_t) -> tuple[bool, str]:
    worst = (ref_kernel(data) - output).abs().max().item()
    return worst < 1e-5, f"the largest difference is {worst}"
