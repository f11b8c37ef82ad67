"""How calls of this package fail. Each message is one sentence: what was wrong, where, and what would be right.

What a kernel did wrong is no error: it is a Verdict, and a normal outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Error(Exception):
    """Base of all errors of this package."""


class BadInput(Error):
    """The caller asked for something that kq does not accept; nothing of it was done."""


class BadSource(BadInput):
    """The text of a kernel cannot be one: empty, too long, or with NUL bytes. To a learner it is worth 0."""


class BrokerUnreachable(Error):
    """The broker did not answer in time, or in words this version does not understand. Asking again does no harm."""


class GaveUp(Error):
    """The time of a wait is over; the jobs go on, and `pending` lists them: a JobStatus each."""

    def __init__(self, what: str, pending: Sequence[Any] = ()) -> None:
        super().__init__(what)
        self.pending = list(pending)


class InfraError(Error):
    """There is no figure, and not because of the kernel: a failure of ours, or the end of the time. It is no 0."""
