"""Tests zygote/malloc_thresholds.py in a child of a real zygote."""

import unittest

from harness.children.page import Command
from world import RELU, WorldTest

FORWARD = """import ctypes
        libc = ctypes.CDLL(None)
        libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
        end = libc.sbrk(0)
        for block in [libc.malloc(ctypes.c_size_t(30 << 20)) for _ in range(3)]:
            libc.free(ctypes.c_void_p(block))
        kept = libc.sbrk(0) - end
        if kept < 60 << 20:
            raise RuntimeError(f"{kept >> 20} MB are left of 90")
        return torch.relu(x)"""


class Heap(WorldTest):
    def test_what_is_freed_is_kept(self) -> None:
        _, submission = self.pair(
            RELU, RELU.replace("class Model", "class ModelNew").replace("return torch.relu(x)", FORWARD)
        )
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.assert_ok(submission.do(Command.CALL, 1))


if __name__ == "__main__":
    unittest.main()
