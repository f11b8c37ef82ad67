"""Tests what a pre-forked child reports before it has a job: warm, or cold, after which the lane replaces it."""

import socket
import threading
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from harness.children import preforked


class Ready(unittest.TestCase):
    def word(self, **changes: Any) -> bytes:
        """Returns the child's report after the judge has let it begin."""
        judge, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        judge.settimeout(60)
        job: Any = SimpleNamespace(on_gpu=False, device="cpu")
        stub: Any = None
        with mock.patch.multiple(preforked, **changes):
            serving = threading.Thread(target=preforked.serve, args=(job, child, stub, None))
            serving.start()
            if judge.recv(16) == b"asks":
                judge.send(b"go")
            word = judge.recv(16)
            judge.close()
            serving.join()
        child.close()
        return word

    def test_warm_where_all_is_well(self) -> None:
        self.assertEqual(self.word(is_gpu_memory_short=lambda job: False), b"warm")

    def test_cold_where_the_memory_is_full(self) -> None:
        self.assertEqual(self.word(is_gpu_memory_short=lambda job: True), b"cold")

    def test_cold_where_it_could_not_warm_up(self) -> None:
        def warm_up(job: Any, judge: socket.socket, *_: Any) -> None:
            judge.send(b"asks")
            preforked.receive(judge)
            raise RuntimeError("CUDA error: out of memory")

        self.assertEqual(self.word(warm_up=warm_up), b"cold")


if __name__ == "__main__":
    unittest.main()
