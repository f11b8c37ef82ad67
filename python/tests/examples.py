"""Example problems, submissions and verdicts that many tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kq
from kq.records.verdict import Correctness, Statistics

ROOT = Path(__file__).resolve().parents[2]

MODEL = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"


def problem(name: str = "relu", text: str = MODEL) -> kq.Problem:
    return kq.Problem.of(text, name)


def submission(label: str = "relu/a", text: str = "class ModelNew: ...", **fields: Any) -> kq.Submission:
    fields.setdefault("problem", problem())
    fields.setdefault("backend", "torch")
    return kq.Submission.of(text, label=label, **fields)


def passed(median_ns: float = 2_000, reference_ns: float = 3_000) -> kq.Verdict:
    measurement = kq.Measurement(
        "bracket",
        Statistics(samples_n=20, median_ns=median_ns, mean_ns=median_ns),
        Statistics(samples_n=20, median_ns=reference_ns, mean_ns=reference_ns),
        overhead_ns=100,
    )
    return kq.Verdict(kq.VerdictName.PASSED, measurement=measurement, correctness=Correctness(trials_passed=5))


def ended(name: kq.VerdictName, message: str = "") -> kq.Verdict:
    return kq.Verdict(name, evidence=kq.Evidence(message=message))
