"""The sandbox of a child, through ctypes: gpu_worker/child/sandbox/sandbox.h in Python. The zygote calls fork(); the
two processes of the child call enter() and confine().
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int64, c_size_t, c_uint32, c_uint64

from harness.children.runtime import ERROR_BYTES, ChildRuntime, ChildRuntimeError

ALL_LAYERS = 0x3FF
MOUNT = 1 << 3
RLIMITS = 1 << 7


class _Options(ctypes.Structure):
    _fields_ = [
        ("uid", c_uint32),
        ("wanted", c_uint32),
        ("host_bytes", c_uint64),
        ("view", c_char_p),
        ("device_count", c_uint32),
    ]


class Sandbox:
    """The sandbox of one child. fork() makes the child's first process, which calls enter() and forks; the second
    process calls confine().
    """

    def __init__(
        self, runtime: ChildRuntime, uid: int, wanted: int, host_bytes: int, view: str, device_count: int = 1
    ) -> None:
        self._options = _Options(uid, wanted, host_bytes, view.encode(), device_count)
        self._fork = runtime.forking("kq_sandbox_fork", POINTER(_Options), POINTER(c_uint32), c_char_p, c_size_t)
        step = (c_int64, POINTER(_Options), c_uint32, c_char_p, c_size_t)
        self._enter = runtime.function("kq_sandbox_enter", *step)
        self._confine = runtime.function("kq_sandbox_confine", *step)
        self._words = runtime.function("kq_sandbox_words", None, c_uint32, c_char_p, c_size_t)
        self._error = ctypes.create_string_buffer(ERROR_BYTES)
        self.layers = 0

    def fork(self) -> int:
        """Forks as os.fork() does, into a pid namespace where that is allowed. An error that occurs in the child alone
        is raised by enter().
        """
        layers = c_uint32()
        python = ctypes.pythonapi
        python.PyOS_BeforeFork()
        pid = self._fork(ctypes.byref(self._options), ctypes.byref(layers), self._error, ERROR_BYTES)
        if pid == 0:
            python.PyOS_AfterFork_Child()
        else:
            python.PyOS_AfterFork_Parent()
        self.layers = layers.value
        if pid < 0:
            raise ChildRuntimeError(self._error.value.decode(errors="replace"))
        return int(pid)

    def enter(self) -> None:
        if self._error.value:
            raise ChildRuntimeError(self._error.value.decode(errors="replace"))
        self._take(self._enter(ctypes.byref(self._options), self.layers, self._error, ERROR_BYTES))

    def confine(self) -> None:
        self._take(self._confine(ctypes.byref(self._options), self.layers, self._error, ERROR_BYTES))

    @property
    def has_view(self) -> bool:
        return bool(self.layers & MOUNT)

    def layer_names(self) -> str:
        """ "uid,user,pid": the names of the layers in force."""
        words = ctypes.create_string_buffer(ERROR_BYTES)
        self._words(self.layers, words, ERROR_BYTES)
        return words.value.decode()

    def _take(self, layers: int) -> None:
        if layers < 0:
            raise ChildRuntimeError(self._error.value.decode(errors="replace"))
        self.layers = layers
