"""Finds rows of a run that a call replaces by kernels for another problem, which is seldom meant.

Submission.of() labels a file by its name, and files of several problems may have the same name.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence

from kq.calls import operations
from kq.calls.operations import Operation, checked, rows_of
from kq.errors import BadInput, BrokerUnreachable
from kq.records.submission import Problem, Submission
from kq.records.validate import span_s
from kq.wire.messages import JobAck

LOOKED_AT_MAX = 20  # submissions of one call; their rows have to be read before the jobs are sent
ROWS_TIMEOUT_S = 1.0  # how long the call waits for those rows; without them there is no warning


def submit(
    run: str, submissions: Sequence[Submission], submitter: str, timeout: float | None, now: Callable[[], float]
) -> Operation[list[JobAck]]:
    """Does what operations.submit() does, after warn_of_replaced()."""
    deadline = now() + span_s(timeout)
    yield from warn_of_replaced(run, submissions, deadline - now())
    left = None if timeout is None else max(0.0, deadline - now())
    return (yield from operations.submit(run, submissions, submitter, left, now))


def warn_of_replaced(run: str, submissions: Sequence[Submission], left_s: float) -> Operation[None]:
    """Warns where the run has a row with the label of a submission and another problem's name or file.

    Only the first LOOKED_AT_MAX submissions are looked at, and none whose label begins with the name of its problem, as
    those of evaluate() do. The operation takes at most `left_s` seconds.
    """
    first = checked(run, submissions[:LOOKED_AT_MAX])
    problems = {one.label: one.problem for one in first if not one.label.startswith(f"{one.problem.name}/")}
    try:
        rows = (yield from rows_of(run, problems, min(left_s, ROWS_TIMEOUT_S))) if left_s > 0 else {}
    except (BadInput, BrokerUnreachable):
        return
    replaced = [row for label, row in rows.items() if not _is_same(row.entry.submission.problem, problems[label])]
    if not replaced:
        return
    old = replaced[0]
    former, new = old.entry.submission.problem.name, problems[old.label].name
    new += " with another file" if former == new else ""
    more = f", and so for {len(replaced) - 1} more" if len(replaced) > 1 else ""
    _warn(
        f"run {run!r}: the row {old.label!r} has a kernel for {former}, which one for "
        f"{new} replaces{more}; job {old.entry.seq} is the former one; kernels of other problems "
        "need other labels or another run"
    )


def _is_same(one: Problem, other: Problem) -> bool:
    return (one.name, one.hash) == (other.name, other.hash)


def _warn(text: str) -> None:
    """Warns at the line of the caller outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("kq."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)
