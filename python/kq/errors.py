"""The exceptions of this package. Each text is one sentence that says what was wrong, where, and what would be right.

A failure of a kernel is not an exception. It is a Verdict, which is a normal outcome.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any


class Error(Exception):
    """The base class of all errors of this package."""


class BadInput(Error):
    """The caller asked for something that kq does not accept. No part of the call was carried out."""


class BadSource(BadInput):
    """The text of a kernel cannot be a source, because it is empty, too long, or holds NUL bytes. Its reward is 0."""


class NotFound(BadInput):
    """There is nothing with this name, such as no run. The programs of kq end with the exit code 5."""


class BrokerUnreachable(Error):
    """The broker did not answer in time, or its answer is not of this protocol version. The call may be repeated."""


class GaveUp(Error):
    """The timeout of a wait has passed. The jobs go on; `pending` holds a JobStatus for each."""

    def __init__(self, what: str, pending: Sequence[Any] = ()) -> None:
        super().__init__(what)
        self.pending = list(pending)


class InfraError(Error):
    """A kernel has no result, and the cause is not the kernel but a failure of kq or a timeout. It does not mean 0."""


def exit_code_of(program: str, work: Callable[[], int]) -> int:
    """Runs the work of a program. Returns its exit code, or that of kq's programs for the error that it raises: 5 for
    a name that is not found, 2 for other bad input, 3 for another error, which is printed, and 130 for an interrupt.
    """
    try:
        return work()
    except Error as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 5 if isinstance(error, NotFound) else 2 if isinstance(error, BadInput) else 3
    except KeyboardInterrupt:
        return 130
