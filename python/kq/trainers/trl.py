"""A reward function for TRL's GRPOTrainer and the trainers that call reward functions as it does.

    trainer = GRPOTrainer(model, reward_funcs=[reward_function(run="grpo")], ...)

A sample whose kernel could not be judged has the reward None, which TRL leaves out of the group's baseline.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kq.errors import BadInput
from kq.trainers.scoring import Scorer


def reward_function(column: str = "problem", **scoring: Any) -> Callable[..., list[float | None]]:
    """Returns a function that gives each completion the speedup of its kernel, 0 if it is at fault, None if unknown.

    `column` is the column of the data set with the problem: its source, or the path of its file. `scoring` are the
    arguments of Scorer. The function logs the verdicts as a column and the count of infra errors as a metric.
    """
    scorer = Scorer(**scoring)

    def kq_speedup(completions: list[Any], **columns: Any) -> list[float | None]:
        if column not in columns:
            raise BadInput(f"the data set has no column '{column}'; it must hold the problem of each prompt")
        evaluations = scorer.score(completions, columns[column])
        failures = [one.infra_error for one in evaluations if one.infra_error]
        for failure in dict.fromkeys(failures):
            print("kq: no reward:", failure, file=sys.stderr)
        if log_extra := columns.get("log_extra"):
            names = [one.verdict.name.value if one.verdict else "" for one in evaluations]
            log_extra("kq_verdict", names)
        if log_metric := columns.get("log_metric"):
            log_metric("kq_infra_errors", float(len(failures)))
        return [one.reward for one in evaluations]

    return kq_speedup
