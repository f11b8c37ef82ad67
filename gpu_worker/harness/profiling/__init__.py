"""A submission run under NVIDIA Nsight Compute (ncu), and the figures made of its report."""
