"""Measures the peak memory of a worker's process tree and of the GPUs, by sampling twice a second during a block."""

import ctypes
import threading
from pathlib import Path

from process_tree import tree_below

SAMPLE_S = 0.5
UUID_BYTES = 96


class MemoryInfo(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    """The GPUs of this machine; none if there is no driver."""

    def __init__(self) -> None:
        self.handles: list[ctypes.c_void_p] = []
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        count = ctypes.c_uint()
        if self.library.nvmlInit_v2() != 0 or self.library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return
        for i in range(count.value):
            handle = ctypes.c_void_p()
            if self.library.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(handle)) == 0:
                self.handles.append(handle)

    def used_bytes(self) -> dict[str, int]:
        """Returns the used memory of each GPU by UUID."""
        found = {}
        for handle in self.handles:
            uuid, memory = ctypes.create_string_buffer(UUID_BYTES), MemoryInfo()
            if (
                self.library.nvmlDeviceGetUUID(handle, uuid, UUID_BYTES) == 0
                and self.library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0
            ):
                found[uuid.value.decode()] = memory.used
        return found


def pss_bytes(pid: int) -> int | None:
    """Returns the proportional memory of a process (PSS), or None if this user may not read it."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except PermissionError:
        return None
    except OSError:  # the process has ended
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0)


class Peaks:
    """Samples memory during a block `with Peaks(pid, nvml) as peaks:`; holds the peaks afterwards."""

    def __init__(self, worker: int, nvml: Nvml) -> None:
        self.worker, self.nvml = worker, nvml
        self.host_bytes = 0
        self.process_count = 0
        self.unread_count = 0  # processes whose memory could not be read and is missing in host_bytes
        self.gpu_bytes: dict[str, int] = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> "Peaks":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def watch(self) -> None:
        while True:
            self.sample()
            if self.over.wait(SAMPLE_S):
                return

    def sample(self) -> None:
        sizes = [pss_bytes(pid) for pid in tree_below(self.worker)]
        self.host_bytes = max(self.host_bytes, sum(size for size in sizes if size))
        self.process_count = max(self.process_count, len(sizes))
        self.unread_count = max(self.unread_count, sizes.count(None))
        for uuid, used in self.nvml.used_bytes().items():
            self.gpu_bytes[uuid] = max(self.gpu_bytes.get(uuid, 0), used)
