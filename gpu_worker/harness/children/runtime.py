"""The child runtime through ctypes: libkqstub.so, whose functions gpu_worker/child/runtime/runtime.h declares. The
zygote loads the library once; children inherit it.
"""

import ctypes
import os
import weakref
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

ERROR_BYTES = 512


class ChildRuntimeError(Exception):
    """An error of the child runtime, in one sentence."""


class ChildRuntime:
    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)  # a path through a link may not exist in a child's mount view
        self._library = ctypes.CDLL(path)
        self._layout = self.function("kq_layout", c_int64, c_char_p)
        self.wait_go = self.function("kq_wait_go", c_int, c_void_p, c_uint32, c_int64)
        self.begin = self.function("kq_begin", None, c_void_p)
        self.complete = self.function("kq_complete", c_int, c_void_p, c_uint32)
        self.next_slot = self.function("kq_next_slot", c_int, c_void_p, c_uint32)
        self.arena_use = self.function("kq_arena_use", None, c_uint64, c_uint64)
        self._clock_use_cuda = self.function("kq_clock_use_cuda", c_int, c_char_p, c_size_t)
        self.post_done = self.function("kq_post_done", None, c_void_p, c_uint32)
        self._map = self.function(
            "kq_map_cuda_window", c_int, c_int, c_uint64, ctypes.POINTER(c_uint64), c_char_p, c_size_t
        )
        self._unmap = self.function("kq_unmap_cuda_window", c_int, c_uint64, c_uint64, c_char_p, c_size_t)
        self.audit_begin = self.function("kq_audit_begin", None, c_int)
        self.audit_poll = self.function("kq_audit_poll", None)
        self.audit_begin_watch = self.function("kq_audit_begin_watch", None)
        self.audit_end_watch = self.function("kq_audit_end_watch", None)
        self.audit_stop_launch_reports = self.function("kq_audit_stop_launch_reports", None)
        self.become_subreaper = self.function("kq_become_subreaper", c_int)
        self._map_shared = self.function("kq_map_shared", c_void_p, c_int, c_size_t)
        self._unmap_shared = self.function("kq_unmap_shared", None, c_void_p, c_size_t)
        self.supervise = self.function("kq_supervise", None, c_int, c_int)
        self.hide = self.function("kq_hide", c_int)

    def function(self, name: str, result: type | None, *arguments: type) -> "ctypes._NamedFuncPointer":
        found: ctypes._NamedFuncPointer = getattr(self._library, name)
        found.restype = result
        found.argtypes = arguments
        return found

    def forking(self, name: str, *arguments: type) -> "ctypes._FuncPointer":
        """Returns a function that forks. It holds the interpreter's lock while it runs, so that the child holds the
        lock too.
        """
        return ctypes.PYFUNCTYPE(c_int, *arguments)((name, self._library))

    def layout(self, name: str) -> int:
        """Returns the offset of a field of the page, or a size, as the C++ compiler has it."""
        value = self._layout(name.encode())
        if value < 0:
            raise KeyError(name)
        return int(value)

    def map_shared(self, fd: int, size: int) -> "ctypes.Array[ctypes.c_ubyte]":
        """Maps shared memory as a buffer, which is unmapped with its last reference. Unlike Python's mmap, it keeps no
        descriptor.
        """
        address = self._map_shared(fd, size)
        if not address:
            raise ChildRuntimeError(f"cannot map {size} bytes of shared memory")
        buffer = (ctypes.c_ubyte * size).from_address(address)
        weakref.finalize(buffer, self._unmap_shared, address, size).atexit = False
        return buffer

    def clock_use_cuda(self) -> None:
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if self._clock_use_cuda(error, ERROR_BYTES) != 0:
            raise ChildRuntimeError(error.value.decode(errors="replace"))

    def map_cuda_window(self, fd: int, size: int) -> int:
        """Maps the window behind a descriptor and returns its device pointer."""
        pointer = c_uint64()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if self._map(fd, size, ctypes.byref(pointer), error, ERROR_BYTES) != 0:
            raise ChildRuntimeError(error.value.decode(errors="replace"))
        return pointer.value

    def unmap_cuda_window(self, pointer: int, size: int) -> None:
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if self._unmap(pointer, size, error, ERROR_BYTES) != 0:
            raise ChildRuntimeError(error.value.decode(errors="replace"))
