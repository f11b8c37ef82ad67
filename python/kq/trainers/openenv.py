"""An OpenEnv environment: the agent writes a kernel for a problem, and is told the verdict.

    env = KernelEnvironment(problems=["problems/relu.py"], turns=3)
    app = create_app(lambda: env, KernelAction, KernelObservation)      # openenv.core.env_server

An episode ends when a kernel passes, or after `turns` kernels. A kernel that could not be judged has the reward None
and an infra_error, and does not count as a turn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from kq.errors import BadInput
from kq.evaluation import Evaluation
from kq.records.submission import Problem
from kq.trainers.scoring import Scorer, feedback, problem_of


class KernelAction(Action):
    """A kernel: its source, or a completion with the source in a fenced block."""

    source: str


class KernelObservation(Observation):
    """The problem after a reset, and what came of the kernel after a step."""

    problem: str = ""
    verdict: str = ""
    message: str = ""
    speedup: float | None = None
    infra_error: str = ""


class KernelState(State):
    """The state of an episode; `step_count` counts judged kernels."""

    problem: str = ""
    best_speedup: float | None = None


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    """Episodes over a list of problems. Environments of one process may run at the same time."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, problems: Sequence[Problem | str | Path], *, turns: int = 1, **scoring: Any) -> None:
        """`problems` are sources or paths of files; `scoring` are the arguments of Scorer."""
        super().__init__()
        if not problems:
            raise BadInput("an environment needs at least one problem")
        if turns < 1:
            raise BadInput(f"turns must be at least 1, got {turns}")
        self._problems = [problem_of(one) for one in problems]
        self._turns = turns
        self._scorer = Scorer(**scoring)
        self._problem = self._problems[0]
        self._state = KernelState()

    def list_splits(self) -> list[str]:
        return ["train"]

    def num_tasks(self, split: str) -> int:
        return len(self._problems)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return {"id": self._problems[index].name, "index": index}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [self.get_task(split, i) for i in range(len(self._problems))]

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, *, index: int | None = None, **_: Any
    ) -> KernelObservation:
        """Begins an episode with the problem of this index, else with one chosen by the seed."""
        if index is not None and not 0 <= index < len(self._problems):
            raise BadInput(f"index {index}: there are {len(self._problems)} problems")
        self._problem = self._problems[random.Random(seed).randrange(len(self._problems)) if index is None else index]
        self._state = KernelState(episode_id=episode_id or uuid4().hex, problem=self._problem.name)
        return KernelObservation(problem=_source_of(self._problem))

    def step(self, action: KernelAction, timeout_s: float | None = None, **_: Any) -> KernelObservation:
        """Judges a kernel and waits for it."""
        return self._observe(self._scorer.score([action.source], [self._problem])[0])

    async def step_async(self, action: KernelAction, timeout_s: float | None = None, **_: Any) -> KernelObservation:
        """Judges a kernel; other sessions go on meanwhile."""
        return self._observe(await self._scorer.score_one(action.source, self._problem, timeout=timeout_s))

    @property
    def state(self) -> KernelState:
        return self._state

    def _observe(self, evaluation: Evaluation) -> KernelObservation:
        seen = feedback(evaluation)
        passed = seen.pop("passed")
        if evaluation.infra_error is None:
            self._state.step_count += 1
            best = self._state.best_speedup
            if evaluation.speedup is not None:
                self._state.best_speedup = max(evaluation.speedup, best or 0.0)
        done = passed or self._state.step_count >= self._turns
        return KernelObservation(problem=_source_of(self._problem), reward=evaluation.reward, done=done, **seen)


def _source_of(problem: Problem) -> str:
    return (problem.content or b"").decode(errors="replace")
