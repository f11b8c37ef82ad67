"""libkqstub.so through ctypes: gpu_worker/stub/stub.h in Python."""

import ctypes
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ERROR_BYTES = 512

TIMEOUT, GO, SEED = 0, 1, 2  # what wait_go returns


class StubError(Exception):
    """One sentence of the stub about what went wrong."""


class Stub:
    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        self._layout = _function(library, "kq_layout", c_int64, c_char_p)
        self.wait_go = _function(library, "kq_wait_go", c_int, c_void_p, c_uint32, c_uint64, c_int64)
        self.post_done = _function(library, "kq_post_done", None, c_void_p, c_uint32)
        self._map = _function(
            library, "kq_map_cuda_window", c_int, c_int, c_uint64, ctypes.POINTER(c_uint64), c_char_p, c_size_t
        )
        self._unmap = _function(library, "kq_unmap_cuda_window", c_int, c_uint64, c_uint64, c_char_p, c_size_t)

    def layout(self, name: str) -> int:
        """Offset of a field of the page, or a size, as C++ has it."""
        value = self._layout(name.encode())
        if value < 0:
            raise KeyError(name)
        return int(value)

    def map_cuda_window(self, fd: int, size: int) -> int:
        """The device pointer of the window behind a descriptor."""
        pointer = c_uint64()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if self._map(fd, size, ctypes.byref(pointer), error, ERROR_BYTES) != 0:
            raise StubError(error.value.decode(errors="replace"))
        return pointer.value

    def unmap_cuda_window(self, pointer: int, size: int) -> None:
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if self._unmap(pointer, size, error, ERROR_BYTES) != 0:
            raise StubError(error.value.decode(errors="replace"))


def _function(library: ctypes.CDLL, name: str, result: type | None, *arguments: type) -> "ctypes._NamedFuncPointer":
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function
