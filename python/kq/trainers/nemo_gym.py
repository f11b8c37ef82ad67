"""A resources server for NeMo Gym, which judges the kernel in a response.

A row of the data set has `problem` beside `responses_create_params`: the source of the problem, or the path of its
file. A kernel that could not be judged has `mask_sample` true and an `infra_error`, as the samples that NeMo Gym's own
agents exclude from training. A trainer that does not read `mask_sample` needs `on_infra_error: fail`, which answers
503.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import HTTPException
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from pydantic import PrivateAttr

from kq.trainers.scoring import Scorer, feedback


class KernelServerConfig(BaseResourcesServerConfig):
    """The settings of the server."""

    broker: str | None = None
    run: str = "nemo-gym"
    timeout: float = 600.0  # seconds
    device: str = "any"
    extract: str = "first"  # how the kernel is taken out of a completion; see kq.trainers.scoring.extractor()
    on_infra_error: Literal["mask", "fail"] = "mask"


class KernelVerifyRequest(BaseVerifyRequest):
    """A response of the model, and the problem that it was asked to solve."""

    problem: str


class KernelVerifyResponse(BaseVerifyResponse):
    """The reward, and why."""

    mask_sample: bool = False
    verdict: str = ""
    passed: bool = False
    speedup: float | None = None
    message: str = ""
    infra_error: str = ""


class KernelResourcesServer(SimpleResourcesServer):
    """Judges kernels by kq."""

    config: KernelServerConfig
    _scorer: Scorer = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        config = self.config
        self._scorer = Scorer(
            run=config.run, timeout=config.timeout, url=config.broker, device=config.device, extract=config.extract
        )

    async def verify(self, body: KernelVerifyRequest) -> KernelVerifyResponse:
        evaluation = await self._scorer.score_one(body.response.output_text or "", body.problem)
        if evaluation.reward is None and self.config.on_infra_error == "fail":
            raise HTTPException(503, evaluation.infra_error)
        return KernelVerifyResponse(
            responses_create_params=body.responses_create_params,
            response=body.response,
            reward=evaluation.reward or 0.0,
            mask_sample=evaluation.reward is None,
            **feedback(evaluation),
        )


if __name__ == "__main__":
    KernelResourcesServer.run_webserver()
