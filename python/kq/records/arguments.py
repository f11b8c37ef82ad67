"""The keyword arguments that several calls share, as types, so that mypy and editors know their names.

A call that has `**fields: Unpack[SubmissionFields]` takes each key of SubmissionFields as an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from kq.records.submission import (
        Backend,
        DeviceWish,
        Precision,
        Priority,
        Trials,
        TruthRule,
        Workload,
    )


class ProblemFields(TypedDict, total=False):
    """The fields of a Problem beside its text and its name."""

    precision: Precision | str
    rtol: float | None
    atol: float | None
    workloads: list[Workload]
    device_count: int


class SubmissionFields(TypedDict, total=False):
    """The fields of a Submission beside its label, source, backend and problem."""

    author: str
    tags: dict[str, str]
    device: DeviceWish | str
    gpu_model: str
    trials: Trials
    salt: str
    priority: Priority | str
    not_before_ms: int
    deadline_ms: int
    labels: Sequence[str]
    time_limit_ms: int
    truth: TruthRule


class EvaluateFields(SubmissionFields, total=False):
    """What evaluate() and evaluate_many() take beside sources, problem and timeouts."""

    backend: Backend | str | None
    contract: Mapping[str, Any] | str | None
    run: str
    label: str
    fresh: bool


class RewardFields(EvaluateFields, total=False):
    """What reward() takes beside the kernel and the problem."""

    timeout: float | None
