"""The outcome of one AsyncClient.evaluate(), and what it is worth to a learner."""

from __future__ import annotations

from dataclasses import dataclass

from kq.records import RunRow
from kq.verdict import Fault, Verdict, VerdictName


@dataclass(frozen=True)
class Evaluation:
    """Either a finished row, or a source that cannot be a kernel, or a failure that is not the kernel's."""

    run: str
    label: str
    seq: int = 0  # the broker's number of the job; 0 when there is none
    row: RunRow | None = None
    bad_source: str = ""  # why nothing was sent: a sentence about the source's text
    failure: str = ""  # why there is no finished row: a sentence

    @property
    def verdict(self) -> Verdict | None:
        return self.row.verdict if self.row else None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.name is VerdictName.PASSED

    @property
    def speedup(self) -> float | None:
        """How much faster than the reference; nothing unless it passed and was timed."""
        if not self.passed or self.verdict is None or self.verdict.measurement is None:
            return None
        return self.verdict.measurement.speedup or None

    @property
    def is_held_against_it(self) -> bool:
        """Whether the kernel was judged and did not pass. A job that somebody cancelled was not judged."""
        if self.bad_source:
            return True
        verdict = self.verdict
        return (
            verdict is not None
            and verdict.fault in (Fault.USER, Fault.POLICY)
            and verdict.name is not VerdictName.CANCELLED
        )

    @property
    def infra_error(self) -> str | None:
        """Why this says nothing about the kernel: a sentence, or None when it does."""
        if self.is_held_against_it or self.speedup is not None:
            return None
        if self.failure:
            return self.failure
        if self.verdict is None:
            return f"{self.label}: there is no verdict"
        if self.passed:
            return f"{self.label}: passed, but no trial was timed; ask for trials.timed > 0"
        message = self.verdict.evidence.message if self.verdict.evidence else ""
        return f"{self.label}: {self.verdict.name.value}" + (f": {message}" if message else "")


def reward(evaluation: Evaluation) -> float | None:
    """The speedup over the reference when it passed, 0 when the kernel is at fault, None when neither is known.

    The speedup is the reference's median time over the submission's, so 1.0 is as fast as the reference. Fault `user`
    or `policy` earns 0, and so does a source that cannot be a kernel. Where `evaluation.infra_error` says why there is
    no reward (a machine failed, the time was over, no worker has such a device), leave the sample out or evaluate it
    again: a 0 would teach that the kernel was bad.
    """
    if evaluation.is_held_against_it:
        return 0.0
    return evaluation.speedup
