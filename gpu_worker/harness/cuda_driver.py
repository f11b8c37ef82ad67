"""The few calls of libcuda that loading and launching a cubin takes, in the context torch made."""

import ctypes
from ctypes import c_char_p, c_int, c_uint, c_void_p

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CU_FUNC_ATTRIBUTE_...


class Kernel:
    """A kernel of a cubin; the module stays loaded as long as the process lives."""

    def __init__(self, cubin: bytes, name: str, shared_mem_bytes: int, opt_in_above: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._launch = self._cuda.cuLaunchKernel
        self._launch.argtypes = [c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p]
        module = c_void_p()
        self._function = c_void_p()
        self._check(self._cuda.cuModuleLoadData(ctypes.byref(module), cubin), "loading the module")
        self._check(
            self._cuda.cuModuleGetFunction(ctypes.byref(self._function), module, name.encode()),
            f"finding kernel {name}",
        )
        if shared_mem_bytes > opt_in_above:
            result = self._cuda.cuFuncSetAttribute(
                self._function, c_int(MAX_DYNAMIC_SHARED_SIZE_BYTES), c_int(shared_mem_bytes)
            )
            self._check(result, f"asking for {shared_mem_bytes} bytes of shared memory")

    def launch(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], shared_mem_bytes: int, parameters: ctypes.Array
    ) -> None:
        """On the legacy default stream, which is torch's current one."""
        self._check(self._launch(self._function, *grid, *block, shared_mem_bytes, None, parameters, None), "launching")

    def _check(self, result: int, what: str) -> None:
        if result == 0:
            return
        words = c_char_p()
        self._cuda.cuGetErrorString(c_int(result), ctypes.byref(words))
        text = words.value.decode(errors="replace") if words.value else "unknown error"
        raise RuntimeError(f"CUDA error: {text} ({result}), {what}")
