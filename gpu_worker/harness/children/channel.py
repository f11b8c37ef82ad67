"""The child's end of its channel: gpu_worker/channel/channel.h describes the protocol.

The judge's commands arrive in the page; an answer is a status, a text, and whatever the command put into the tables.
"""

import ctypes
import os
import select
import socket
from collections.abc import Callable

from harness.children.page import MAGIC, TEXT_MAX, Command, Failure, Page, Status, TensorDesc
from harness.children.runtime import ChildRuntime

CHANNEL_FD = 3  # in every child that has one
# How often a child without work looks whether its judge is still there.
JUDGE_CHECK_NS = 1_000_000_000


# What is preceded by seeding every generator: 9 us, which a null call costs as well; answers each have seeds of their own. The seed comes with `go`:
# whoever had it while he stages, or waits, would draw ahead of the clock.
SEEDED = frozenset(
    {
        Command.NULL_CALL,
        Command.LOAD,
        Command.MAKE_INPUTS,
        Command.CALL,
        Command.BURST,
        Command.COMPILE,
        Command.CALL_COMPILED,
    }
)


class ChannelClosed(Exception):
    """The judge is gone: nothing is left to do."""


class Channel:
    def __init__(self, judge: socket.socket, runtime: ChildRuntime) -> None:
        self._judge = judge
        self._runtime = runtime
        fd = self.receive_fd(b"P")
        self._memory = runtime.map_shared(fd, ctypes.sizeof(Page))
        os.close(fd)
        self.page = Page.from_buffer(self._memory)
        if self.page.magic != MAGIC or self.page.page_bytes != ctypes.sizeof(Page):
            raise RuntimeError(f"the page has layout {self.page.magic:#x}, this harness speaks {MAGIC:#x}")
        self._address = ctypes.addressof(self.page)
        self._last_go = self.page.done
        self._bytes = memoryview(self._memory).cast("B")

    def receive_fd(self, tag: bytes) -> int:
        """The descriptor that comes with this one-byte tag."""
        try:
            data, fds, _, _ = socket.recv_fds(self._judge, 16, 4, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        if data != tag or len(fds) != 1:
            room = "" if fds else "; a process that has taken its own room for descriptors away gets none"
            raise RuntimeError(f"the judge sent {data!r} with {len(fds)} descriptors, expected {tag!r} with one{room}")
        return fds[0]

    def serve(self, seed: Callable[[int], None], handle: Callable[[int], bool], explain: Callable[[int], None]) -> None:
        """Answers commands until the judge is gone. `handle` fills the page and says whether the answer is an ok one.

        What it launched is waited for in the stub, which then says done without a step of Python between; where CUDA fails there,
        `explain` fills the page anew.
        """
        page, runtime, address = self.page, self._runtime, self._address
        while True:
            if not runtime.wait_go(address, self._last_go, JUDGE_CHECK_NS):
                if self._judge_is_gone():
                    return
                continue
            self._last_go = page.go
            command = page.command
            if command in SEEDED:
                seed(page.seed)
            runtime.begin(address)
            if not handle(command) or runtime.complete(address, self._last_go) != 0:
                if page.status == Status.OK:
                    explain(command)
                runtime.post_done(address, self._last_go)

    def next_slot(self, returned: int) -> int:
        """Of a burst, when so many calls have returned: where the next one's inputs lie; negative behind the last."""
        return int(self._runtime.next_slot(self._address, returned))

    def answer_ok(self) -> None:
        self.page.status = Status.OK
        self.page.failure = Failure.NONE
        self.page.text_bytes = 0

    def answer_failed(self, failure: Failure, text: str) -> None:
        raw = text.replace("\0", "\\0").encode(errors="replace")[: TEXT_MAX - 1]  # the judge's text ends at the first
        self.page.status = Status.FAILED
        self.page.failure = failure
        self.page.text = raw
        self.page.text_bytes = len(raw)

    def raw(self, table: str, count: int) -> bytes:
        """The bytes of the first entries of a table: equal bytes, equal tensors."""
        start = getattr(Page, table).offset
        return bytes(self._bytes[start : start + count * ctypes.sizeof(TensorDesc)])

    def _judge_is_gone(self) -> bool:
        poll = select.poll()
        poll.register(self._judge, select.POLLHUP)
        return bool(poll.poll(0))
