"""A judge's window in device memory, shared as a POSIX descriptor, as the real judge makes it with CUDA's virtual
memory interface.
"""

import ctypes
import os
from ctypes import byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint64, c_ushort, c_void_p


class _Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class _Properties(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("handle_types", c_int),
        ("location", _Location),
        ("win32", c_void_p),
        ("compression", c_ubyte),
        ("rdma", c_ubyte),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 4),
    ]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", c_int)]


class CudaWindow:
    """Device memory that can be sliced like a bytearray. Every access waits for its copy."""

    def __init__(self, size: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._do("cuInit", 0)
        context = c_void_p()
        self._do("cuDevicePrimaryCtxRetain", byref(context), 0)
        self._do("cuCtxSetCurrent", context)
        properties = _Properties(type=1, handle_types=1, location=_Location(1, 0))
        unit = c_size_t()
        self._do("cuMemGetAllocationGranularity", byref(unit), byref(properties), 0)
        self.size = (size + unit.value - 1) // unit.value * unit.value
        handle = c_uint64()
        self._do("cuMemCreate", byref(handle), c_size_t(self.size), byref(properties), c_uint64(0))
        fd = c_int(-1)
        self._do("cuMemExportToShareableHandle", byref(fd), handle, 1, c_uint64(0))
        self.fd = fd.value
        pointer = c_uint64()
        self._do("cuMemAddressReserve", byref(pointer), c_size_t(self.size), c_size_t(0), c_uint64(0), c_uint64(0))
        self._do("cuMemMap", pointer, c_size_t(self.size), c_size_t(0), handle, c_uint64(0))
        access = _Access(_Location(1, 0), 3)
        self._do("cuMemSetAccess", pointer, c_size_t(self.size), byref(access), c_size_t(1))
        self._pointer = pointer.value

    def __getitem__(self, part: slice) -> bytes:
        data = ctypes.create_string_buffer(max(1, part.stop - part.start))
        self._do("cuMemcpyDtoH_v2", data, c_uint64(self._pointer + part.start), c_size_t(part.stop - part.start))
        return data.raw[: part.stop - part.start]

    def __setitem__(self, part: slice, data: bytes) -> None:
        self._do("cuMemcpyHtoD_v2", c_uint64(self._pointer + part.start), data, c_size_t(len(data)))

    def close_fd(self) -> None:
        os.close(self.fd)

    def _do(self, name: str, *arguments: object) -> None:
        result = getattr(self._cuda, name)(*arguments)
        if result != 0:
            words = c_char_p()
            self._cuda.cuGetErrorString(c_int(result), byref(words))
            raise RuntimeError(f"{name}: {(words.value or b'?').decode()} ({result})")
