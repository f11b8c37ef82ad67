"""The child's end of its channel to the judge; gpu_worker/channel/channel.h describes the protocol.

The channel is a socket, which passes descriptors and shows when the judge is gone, and a page of shared memory. The
judge writes a command into the page and increments `go`; the child answers with a status, a text and entries in the
tables of the page, and sets `done`.
"""

import ctypes
import os
import select
import socket
from collections.abc import Callable

from harness.children.page import MAGIC, TEXT_MAX, Command, Failure, Page, Status, TensorDesc
from harness.children.runtime import ChildRuntime

CHANNEL_FD = 3  # the channel's descriptor in every child that has one
# How often a child without work checks whether its judge still lives.
JUDGE_CHECK_NS = 1_000_000_000


# The commands before which every generator is seeded. A null call is seeded too, so that it costs what a call costs;
# expected outputs have seeds of their own. The seed comes with `go`: code of a submission that had the seed earlier,
# while inputs are staged, could draw ahead of the measured time.
SEEDED = frozenset(
    {
        Command.NULL_CALL,
        Command.LOAD,
        Command.MAKE_INPUTS,
        Command.CALL,
        Command.BURST,
        Command.COMPILE,
        Command.CALL_COMPILED,
        Command.INSPECT,
    }
)


class ChannelClosed(Exception):
    """The judge is gone, so the child has nothing left to do."""


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

    def tell_process(self) -> None:
        """Sends the judge a packet, with which the kernel tells the number of this process."""
        self._judge.send(b"I")

    def receive_fd(self, tag: bytes) -> int:
        """Receives the descriptor that comes with this one-byte tag. Raises ChannelClosed when the judge is gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self._judge, 16, 4, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        if data != tag or len(fds) != 1:
            hint = "" if fds else "; a process that has used up its limit of descriptors receives none"
            raise RuntimeError(f"the judge sent {data!r} with {len(fds)} descriptors, expected {tag!r} with one{hint}")
        return fds[0]

    def serve(self, seed: Callable[[int], None], handle: Callable[[int], bool], explain: Callable[[int], None]) -> None:
        """Answers commands until the judge is gone. `handle` fills the page and returns whether the command succeeded.

        The child runtime, which is C++, waits for what the command launched and then sets `done`, without a step of
        Python between. If CUDA fails there, `explain` fills the page with the error.
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
        """Returns the slot of the next call's inputs in a burst of which `returned` calls have returned; negative when
        the burst is over.
        """
        return int(self._runtime.next_slot(self._address, returned))

    def answer_ok(self, note: str = "") -> None:
        self._answer(Status.OK, Failure.NONE, note)

    def answer_failed(self, failure: Failure, text: str) -> None:
        self._answer(Status.FAILED, failure, text)

    def _answer(self, status: Status, failure: Failure, text: str) -> None:
        # the judge's text ends at the first zero byte
        raw = text.replace("\0", "\\0").encode(errors="replace")[: TEXT_MAX - 1] if text else b""
        self.page.status = status
        self.page.failure = failure
        if raw:
            self.page.text = raw
        self.page.text_bytes = len(raw)

    def raw(self, table: str, count: int) -> bytes:
        """Returns the bytes of the first `count` entries of a table. Equal bytes describe equal tensors."""
        start = getattr(Page, table).offset
        return bytes(self._bytes[start : start + count * ctypes.sizeof(TensorDesc)])

    def _judge_is_gone(self) -> bool:
        poll = select.poll()
        poll.register(self._judge, select.POLLHUP)
        return bool(poll.poll(0))
