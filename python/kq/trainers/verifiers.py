"""A taskset for verifiers 0.4: one task for each problem, whose reward is the speedup of the kernel.

    tasks = KernelTaskset(KernelConfig(problems="problems"))

A kernel that could not be judged raises InfraError, which verifiers records as the error of the rollout, without a
reward.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import verifiers.v1 as vf

from kq.errors import BadInput, InfraError
from kq.trainers.scoring import Scorer, feedback

PROMPT = (
    "Write a faster implementation of this PyTorch model as a class ModelNew with the same interface. "
    "Answer with one Python file in a fenced code block.\n\n```python\n{source}\n```\n"
)


class KernelConfig(vf.TasksetConfig):
    """The settings of the taskset."""

    problems: Path  # a problem's file, or a folder of them
    prompt: str = PROMPT
    run: str = "verifiers"
    timeout: float = 600.0  # seconds
    url: str | None = None
    device: str = "any"
    extract: str = "first"  # how the kernel is taken out of a completion; see kq.trainers.scoring.extractor()


class KernelData(vf.TaskData):
    """What a task travels with."""

    problem: str


class KernelTask(vf.Task[KernelData, vf.State, vf.TaskConfig]):
    """One problem."""

    scorer: Scorer

    @vf.reward(weight=1.0)
    async def speedup(self, trace: vf.Trace) -> float:
        evaluation = await self.scorer.score_one(trace.last_reply, self.data.problem)
        seen = feedback(evaluation)
        trace.info["kq"] = seen
        if evaluation.reward is None:
            raise InfraError(seen["infra_error"])
        trace.record_metric("kq_passed", float(evaluation.passed))
        return evaluation.reward


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    """The problems of a file or a folder."""

    def load(self) -> Iterator[KernelTask]:
        config = self.config
        scorer = Scorer(
            run=config.run, timeout=config.timeout, url=config.url, device=config.device, extract=config.extract
        )
        files = sorted(config.problems.glob("*.py")) if config.problems.is_dir() else [config.problems]
        if not files:
            raise BadInput(f"{config.problems}: holds no problem; files that end in .py are needed")
        for file in files:
            source = file.read_text()
            prompt = config.prompt.replace("{source}", source)
            task = KernelTask(KernelData(name=file.stem, prompt=prompt, problem=source))
            task.scorer = scorer
            yield task


__all__ = ["KernelTaskset"]  # what verifiers looks for in a module
