import torch
import torch.distributed as dist


def device_of(rank: int) -> torch.device:
    return torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")


def generate_input(rank: int, world_size: int, size: int, seed: int) -> torch.Tensor:
    device = device_of(rank)
    generator = torch.Generator(device=device).manual_seed(seed * world_size + rank)
    return torch.randn(size, device=device, generator=generator)


def ref_kernel(data: torch.Tensor) -> torch.Tensor:
    """Adds the vectors in the order of ranks, with a collective that the submission need not use."""
    parts = [torch.empty_like(data) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, data)
    return torch.stack(parts).sum(dim=0)


def check_implementation(data: torch.Tensor, output: torch.Tensor) -> tuple[bool, str]:
    worst = (ref_kernel(data) - output).abs().max().item()
    return worst < 1e-4, f"the largest difference is {worst}"
