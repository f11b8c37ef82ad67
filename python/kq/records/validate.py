"""Checks submissions before they are sent. The Python twin of core/submission.cc, with the same error texts.

The broker makes the same checks; a test sends every kind of bad submission and compares the texts.
"""

from __future__ import annotations

import math
from numbers import Real

from kq.errors import BadInput
from kq.records.field_types import field_type_error
from kq.records.limits import (
    DEVICE_COUNT_MAX,
    FILES_PER_SUBMISSION_MAX,
    LABELS_MAX,
    NAME_BYTES_MAX,
    TAGS_MAX,
    TRIALS_MAX,
    TRUTH_FACTOR_MAX,
    WORKLOADS_MAX,
)
from kq.records.submission import DeviceWish, Submission
from kq.records.text_safety import is_hidden


def name_error(name: str) -> str | None:
    """Returns what is wrong with a name that people choose (run, label, author, tag), or None."""
    if not isinstance(name, str):  # the caller may ignore the type annotation
        return f"must be a text, got {type(name).__name__}"
    if not name:
        return "is empty"
    try:
        data = name.encode()
    except UnicodeEncodeError as error:
        return f"is not UTF-8 at byte {len(name[: error.start].encode())}"
    if len(data) > NAME_BYTES_MAX:
        return f"is {len(data)} bytes long, the limit is {NAME_BYTES_MAX}"
    for i, character in enumerate(name):
        if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0:
            return f"holds a control character at byte {len(name[:i].encode())}"
        if is_hidden(character):
            return f"holds an invisible character at byte {len(name[:i].encode())}"
    return None


def check_name(what: str, name: str) -> None:
    """Raises BadInput if the name is invalid; `what` says what is named."""
    if wrong := name_error(name):
        raise BadInput(f"{what} {wrong}")


def span_s(timeout: float | None, what: str = "timeout") -> float:
    """Returns the timeout in seconds, or infinity for None; raises BadInput for anything but a number of 0 or more."""
    if timeout is None:
        return math.inf
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not timeout >= 0:
        raise BadInput(f"{what} must be a number of seconds, 0 or more, or None for no limit; got {timeout!r}")
    return float(timeout)


def check(submission: Submission) -> None:
    """Raises BadInput if the broker would refuse the submission; the error text starts with the label."""
    check_name("label", submission.label)
    if wrong := field_type_error(submission) or _submission_error(submission):
        raise BadInput(f"{submission.label}: {wrong}")


def _submission_error(submission: Submission) -> str | None:
    problem = submission.problem
    if wrong := name_error(problem.name):
        return f"the problem's name {wrong}"
    if wrong := name_error(problem.file):
        return f"the problem's file name {wrong}"
    if not _is_plain(problem.file):
        return "the problem's file name must not hold a directory"
    if wrong := _files_error(submission) or _texts_error(submission):
        return wrong
    if wrong := _schedule_error(submission):
        return wrong
    if not 1 <= len(problem.workloads) <= WORKLOADS_MAX:
        return f"a job selects 1 to {WORKLOADS_MAX} workloads"
    for workload in problem.workloads:
        if wrong := name_error(workload.name):
            return f"the workload's name {wrong}"
    if not 1 <= problem.device_count <= DEVICE_COUNT_MAX:
        return f"a job uses 1 to {DEVICE_COUNT_MAX} devices, not {problem.device_count}"
    trials = submission.trials
    right = (
        1 <= trials.correctness <= TRIALS_MAX and 0 <= trials.warmup <= TRIALS_MAX and 0 <= trials.timed <= TRIALS_MAX
    )
    if not right:
        return f"trials must be between 1 (correctness) or 0 (warmup, timed) and {TRIALS_MAX}"
    for tolerance in (problem.rtol, problem.atol):
        if tolerance is not None and not 0 <= tolerance <= 1:
            return "a tolerance must be between 0 and 1"
    for factor in (submission.truth.rms, submission.truth.max):
        if not 0 <= factor <= TRUTH_FACTOR_MAX:
            return f"the factors of the truth must be between 0 and {TRUTH_FACTOR_MAX}"
    return None


def _files_error(submission: Submission) -> str | None:
    files = submission.files
    if not files:
        return "no source file"
    if len(files) > FILES_PER_SUBMISSION_MAX:
        return f"{len(files)} files, at most {FILES_PER_SUBMISSION_MAX} are allowed"
    names: set[str] = set()
    for file in files:
        if wrong := name_error(file.name):
            return f"a file name {wrong}"
        if not _is_plain(file.name):
            return f"file '{file.name}': a plain name without a directory is needed"
        if file.name in names:
            return f"two files are named '{file.name}'"
        names.add(file.name)
    return None


def _texts_error(submission: Submission) -> str | None:
    for name in (submission.author, submission.gpu_model, submission.salt):
        if name and (wrong := name_error(name)):
            return f"author, gpu model or salt {wrong}"
    if submission.gpu_model in ("CPU", "cpu"):
        return f"'{submission.gpu_model}' is no model of a GPU; device cpu asks for a CPU"
    if submission.device is DeviceWish.CPU and submission.gpu_model:
        return f"a CPU and the GPU '{submission.gpu_model}' are asked for; only one can be had"
    if len(submission.tags) > TAGS_MAX:
        return f"more than {TAGS_MAX} tags"
    for name, value in submission.tags.items():
        if wrong := name_error(name):
            return f"a tag {wrong}"
        if value and (wrong := name_error(value)):
            return f"tag '{name}' {wrong}"
    return None


def _schedule_error(submission: Submission) -> str | None:
    labels = submission.labels
    if len(labels) > LABELS_MAX:
        return f"more than {LABELS_MAX} labels"
    for label in labels:
        if wrong := name_error(label):
            return f"a label of a worker {wrong}"
    if labels != sorted(set(labels), key=str.encode):
        return "the labels of a worker must be sorted, no two alike"
    if not 0 <= submission.time_limit_ms < 1 << 32:
        return f"its time_limit_ms must be between 0 and {(1 << 32) - 1}"
    if submission.not_before_ms < 0 or submission.deadline_ms < 0:
        return "a time must not be negative"
    if submission.deadline_ms and submission.deadline_ms <= submission.not_before_ms:
        return "its deadline is not after the time before which it must not run"
    return None


def _is_plain(name: str) -> bool:
    return name not in (".", "..") and "/" not in name
