"""triton: as torch; ModelNew launches @triton.jit kernels of its file. Without a GPU triton's interpreter runs them.

The interpreter is chosen by TRITON_INTERPRET before triton is imported (zygote.py), so there is nothing left to do here.
"""

from harness.backends.torch import load

__all__ = ["load"]
