"""How far a batch has come, in one line: producer/client/progress.h in Python."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kq.errors import BadInput

LINE_EVERY_S = 10.0  # where the line is not rewritten in place
LINE_EVERY_PERCENT = 5


@dataclass(frozen=True)
class Tally:
    total: int = 0
    running: int = 0
    queued: int = 0
    passed: int = 0
    failed: int = 0  # held against the kernel
    infra: int = 0  # says nothing about the kernel
    elapsed_s: float = 0.0

    @property
    def finished(self) -> int:
        return self.passed + self.failed + self.infra

    @property
    def percent(self) -> int:
        return 100 * self.finished // self.total if self.total else 100

    def __str__(self) -> str:
        width = len(str(self.total))
        text = (
            f"[{self.finished:{width}}/{self.total}] {self.percent:3}% run {self.running} q {self.queued} "
            f"pass {self.passed} fail {self.failed} infra {self.infra}"
        )
        if not self.finished or self.elapsed_s <= 0:
            return text
        rate = self.finished / self.elapsed_s
        text += f" {rate:.1f}/s"
        left = self.total - self.finished
        return f"{text} eta {clock_text(round(left / rate))}" if left else text


def clock_text(seconds: int) -> str:
    """ "02:48", "1:02:48" """
    hours, rest = divmod(seconds, 3600)
    return (f"{hours}:" if hours else "") + f"{rest // 60:02}:{rest % 60:02}"


class Progress(Protocol):
    """Who is told how far a batch has come."""

    def __call__(self, tally: Tally) -> None: ...


class StatusLine:
    """One line on stderr, rewritten in place on a terminal and in a notebook, and now and then a new one elsewhere."""

    def __init__(
        self,
        write: Callable[[str], object] | None = None,
        in_place: bool | None = None,
        columns: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write or _to_stderr
        self._in_place = is_rewritable() if in_place is None else in_place
        self._columns = columns or shutil.get_terminal_size().columns
        self._now = now
        self._last = ""
        self._last_percent = 0
        self._last_s = now()

    def __call__(self, tally: Tally) -> None:
        text = str(tally)
        if self._in_place:
            text = text[: self._columns - 1]  # some terminals wrap after the last column
            if text != self._last:
                self._write("\r" + text.ljust(len(self._last)))
                self._last = text
            if tally.finished == tally.total:
                self._write("\n")
                self._last = ""
            return
        advanced = tally.percent >= self._last_percent + LINE_EVERY_PERCENT or (
            tally.percent == 100 and self._last_percent < 100
        )
        if advanced or self._now() - self._last_s >= LINE_EVERY_S:
            self._last_percent, self._last_s = tally.percent, self._now()
            self._write(text + "\n")


def is_rewritable() -> bool:
    """A terminal, or a notebook, whose stderr is none but knows the carriage return."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def progress_of(wish: bool | Progress | None) -> Progress | None:
    """True is a line on stderr."""
    if wish is True:
        return StatusLine()
    if wish and not callable(wish):
        raise BadInput(f"progress must be True or a function that is given a Tally, got {type(wish).__name__}")
    return wish or None


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
