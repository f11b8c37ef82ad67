import torch
import torch.distributed as dist


def custom_kernel(data: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(data)
    return data
