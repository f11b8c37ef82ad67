"""Device code: CUDA kernels compiled and described, Triton kernels compiled ahead of time, torch kernels preloaded."""
