"""The outcome of one submission and its reward, and the preparation of evaluate() calls."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from kq.connection.submitter import DefaultRun
from kq.errors import BadInput, BadSource
from kq.records.arguments import RewardFields, SubmissionFields
from kq.records.field_types import field_type_error
from kq.records.hash import Hash
from kq.records.jobs import REPR_TEXT_MAX, RunRow, speedup_text
from kq.records.limits import NAME_BYTES_MAX
from kq.records.submission import OTHER_FIELDS, Backend, Problem, SourceFile, Submission, source_error, unknown_field
from kq.records.text_safety import one_line
from kq.records.verdict import Fault, Verdict, VerdictName
from kq.wire.codec import Malformed, encode

if TYPE_CHECKING:
    from typing_extensions import Unpack

# A kernel: its text, the Path of its file, or its files with the entry first.
Source = str | Path | Sequence[SourceFile]
# A problem, or the path of its file.
GivenProblem = Problem | str | Path

EVALUATE_TIMEOUT_S = 600.0  # the default timeout of evaluate() and evaluate_many()


class Reward(NamedTuple):
    """Either a value, or the sentence that says why there is none. A failure of kq itself never has a value."""

    value: float | None
    infra_error: str | None


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The outcome of one submission: a finished row, a source that cannot be a kernel, or a failure of kq."""

    run: str
    label: str
    seq: int = 0  # the job's number; 0 if there is no job
    row: RunRow | None = None
    bad_source: str = ""  # a sentence that says why the source cannot be a kernel; then nothing was sent
    failure: str = ""  # a sentence that says why there is no finished row

    def __repr__(self) -> str:
        """One line: the names, the verdict, and the speedup or what went wrong. `row` has everything."""
        ended = self.verdict.name.value if self.verdict else "no verdict"
        told = speedup_text(self.speedup) if self.speedup is not None else self.bad_source or self.failure
        if self.verdict is not None and self.verdict.evidence is not None and not told:
            told = self.verdict.evidence.message
        told = one_line(told, REPR_TEXT_MAX)
        return f"<Evaluation {self.label!r} of run {self.run!r}, job {self.seq}: {ended}{told and ', ' + told}>"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the finished row, or None."""
        return self.row.verdict if self.row else None

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`."""
        return self.verdict is not None and self.verdict.name is VerdictName.PASSED

    @property
    def speedup(self) -> float | None:
        """The reference's median time over the kernel's; None unless the kernel passed and was timed."""
        if not self.passed or self.verdict is None or self.verdict.measurement is None:
            return None
        return self.verdict.measurement.speedup or None

    @property
    def noise(self) -> float | None:
        """The noise of the speedup, and so of the reward: 1.3 with the noise 0.4 is no gain. None if it is unknown."""
        if self.speedup is None or self.verdict is None or self.verdict.measurement is None:
            return None
        noise = self.verdict.measurement.speedup_noise
        return noise if math.isfinite(noise) else None

    @property
    def is_noisy(self) -> bool:
        """Whether the machine was busy while the kernel was timed."""
        measurement = self.verdict.measurement if self.verdict else None
        return measurement is not None and measurement.is_noisy

    @property
    def is_held_against_it(self) -> bool:
        """Whether the kernel is at fault for not passing. A kernel is not at fault if its job was cancelled."""
        if self.bad_source:
            return True
        verdict = self.verdict
        return (
            verdict is not None
            and verdict.fault in (Fault.USER, Fault.POLICY)
            and verdict.name is not VerdictName.CANCELLED
        )

    @property
    def reward(self) -> float | None:
        """The speedup if the kernel passed, 0 if the kernel is at fault, None if neither is known.

        The speedup is the reference's median time over the kernel's, so 1.0 is as fast as the reference. A verdict with
        the fault `user` or `policy` has the reward 0, and so has a source that cannot be a kernel. If the reward is
        None, `infra_error` says why, such as a failed machine, a timeout, or no worker with such a device. Leave such a
        sample out or evaluate it again; a 0 would teach that the kernel was bad.
        """
        return 0.0 if self.is_held_against_it else self.speedup

    @property
    def infra_error(self) -> str | None:
        """A sentence that says why the outcome tells nothing about the kernel, or None if it does."""
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

    def as_reward(self) -> Reward:
        """The reward and the infra_error as a tuple."""
        return Reward(self.reward, self.infra_error)


@dataclass
class Order:
    """The work of one evaluate() or evaluate_many() call: the submissions to send, and the outcomes by label."""

    run: str
    labels: list[str] = field(default_factory=list)  # one label per source; sources of equal work share a label
    submissions: dict[str, Submission] = field(default_factory=dict)
    outcomes: dict[str, Evaluation] = field(default_factory=dict)

    def add(self, source: Source, label: str, fresh: bool, **arguments: Any) -> None:
        """Adds a source; a source that cannot be a kernel gets its outcome here. Raises BadInput for other mistakes."""
        try:
            submission = Submission.of(source, label=label, **arguments)
        except BadSource as error:
            label = label or f"source {len(self.labels)}"
            self.outcomes[label] = Evaluation(self.run, label, bad_source=str(error))
            self.labels.append(label)
            return
        if fresh:
            submission = replace(submission, salt=uuid4().hex)
        if not label:
            if wrong := field_type_error(submission):
                raise BadInput(f"submission: {wrong}")
            try:
                submission = replace(submission, label=label_of(submission))
            except Malformed as wrong:
                raise BadInput(f"submission: {wrong}") from None
        self.labels.append(submission.label)
        self.submissions[submission.label] = submission

    def add_outcome(self, evaluation: Evaluation) -> None:
        """Stores the outcome of a submission."""
        self.outcomes[evaluation.label] = evaluation

    def fail(self, failure: str) -> None:
        """Gives this failure to every submission that has no outcome."""
        for label in self.submissions:
            if label not in self.outcomes:
                self.outcomes[label] = Evaluation(self.run, label, failure=f"{label}: {failure}")

    def evaluations(self) -> list[Evaluation]:
        """Returns the outcome of each source, in order."""
        return [self.outcomes[label] for label in self.labels]


def order_of(
    sources: Sequence[Source],
    *,
    problem: GivenProblem | Sequence[GivenProblem],
    backend: Backend | str | None = None,
    contract: Mapping[str, Any] | str | None = None,
    run: str = DefaultRun("evaluate"),  # noqa: B008
    label: str = "",
    fresh: bool = False,
    **fields: Unpack[SubmissionFields],
) -> Order:
    """Returns the order for these sources, with one problem for all or one for each.

    Raises BadInput for a mistake of the caller. `label` may be given for a single source only.
    """
    if isinstance(sources, str | bytes | Path):  # iterating over a text would make a kernel of each letter
        raise BadInput("evaluate_many() takes a list of sources, evaluate() a single one")
    if not isinstance(sources, Iterable):
        raise BadInput(f"evaluate_many() takes a list of sources, got {type(sources).__name__}")
    sources = list(sources)
    for i, source in enumerate(sources):
        if wrong := source_error(source):
            raise BadInput(wrong if len(sources) == 1 else f"source {i}: {wrong}")
    if label and len(sources) > 1:
        raise BadInput(
            f"one label, {label!r}, for {len(sources)} sources; labels are unique inside a run, so leave it out"
        )
    for name in fields.keys() - OTHER_FIELDS.keys():
        raise BadInput(unknown_field(name, RewardFields.__annotations__))
    order = Order(run)
    if isinstance(problem, Problem | str | bytes | Path) or not isinstance(problem, Iterable):
        problems = [Problem.given(problem)] * len(sources)
    else:
        problems = [_problem_given(one, i) for i, one in enumerate(problem)]
        if len(problems) != len(sources):
            raise BadInput(
                f"{len(sources)} sources and {len(problems)} problems; one problem for all, or one for each, is needed"
            )
    for source, one in zip(sources, problems, strict=True):
        order.add(source, label, fresh, problem=one, backend=backend, contract=contract, **fields)
    return order


def _problem_given(problem: GivenProblem, i: int) -> Problem:
    try:
        return Problem.given(problem)
    except BadInput as error:
        raise BadInput(f"problem {i}: {error}") from None


def label_of(submission: Submission) -> str:
    """Returns a label made from the hash of the submission, so that equal work has equal labels."""
    digest = str(Hash.of(encode(submission)))[:24]
    label = f"{submission.problem.name}/{digest}"
    return label if len(label.encode()) <= NAME_BYTES_MAX else digest
