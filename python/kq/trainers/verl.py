"""Reward functions for verl.

    reward.custom_reward_function.path=pkg://kq.trainers.verl    # or the path of this file
    reward.custom_reward_function.name=compute_score             # compute_scores for the reward manager `batch`
    +reward.custom_reward_function.reward_kwargs.timeout=300     # the arguments of Scorer

`ground_truth` of each row is the problem: its source, or the path of its file. verl has no reward that means "unknown",
so a kernel that could not be judged is evaluated again, and then the step fails with InfraError. Resume from the last
checkpoint when kq works again; nothing is judged twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kq.errors import InfraError
from kq.evaluation import Evaluation
from kq.trainers.scoring import Scorer, feedback

TRIES = 3  # each try is already three attempts of the broker
SCORERS_MAX = 64  # different reward_kwargs of one process

_scorers: dict[str, Scorer] = {}


def _scorer(scoring: dict[str, Any]) -> Scorer:
    """Returns the scorer for these arguments; verl passes them with every call."""
    known = json.dumps(scoring, sort_keys=True, default=str)
    if known not in _scorers:
        if len(_scorers) >= SCORERS_MAX:
            raise InfraError(f"reward_kwargs changed {SCORERS_MAX} times; they must be the same for all samples")
        _scorers[known] = Scorer(**scoring)
    return _scorers[known]


def _score_of(evaluation: Evaluation) -> dict[str, Any]:
    """Returns verl's score; every sample has the same entries, as verl makes a column of each."""
    seen = feedback(evaluation)
    return {"score": evaluation.reward, "acc": float(evaluation.passed), "kq_verdict": seen["verdict"]}


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **scoring: Any,
) -> dict[str, Any]:
    """Returns the score of one sample, for the reward managers that ask for one; raises InfraError if there is none."""
    scorer = _scorer(scoring)
    for tries in range(TRIES):
        evaluation = await scorer.score_one(solution_str, ground_truth, fresh=tries > 0)
        if evaluation.infra_error is None:
            return _score_of(evaluation)
    raise InfraError(f"no reward after {TRIES} evaluations: {evaluation.infra_error}")


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[str],
    extra_infos: Sequence[Any] | None = None,
    **scoring: Any,
) -> list[dict[str, Any]]:
    """Returns the scores of a batch, for the reward manager `batch`; raises InfraError if one has none."""
    scorer = _scorer(scoring)
    for _ in range(TRIES):
        # Samples that have a verdict are answered at once when the batch is sent again.
        evaluations = scorer.score(solution_strs, ground_truths)
        failures = [one.infra_error for one in evaluations if one.infra_error]
        if not failures:
            return [_score_of(one) for one in evaluations]
    raise InfraError(f"no reward for {len(failures)} of {len(evaluations)} samples: {failures[0]}")
