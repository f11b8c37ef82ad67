"""A drop-in replacement for the persistent KernelBench evaluator. A script written for that needs only another import.

    with LocalKernelEvaluatorWrapper(gpu="L40S") as evaluator:
        guide = KernelGuide(modal_evaluator=evaluator)
        score, feedback = guide.get_feedback(task=prompt, response=code, info=reference)

One connection serves the calls of any number of threads: a background thread runs an event loop with an AsyncClient,
and each call waits for its coroutine there. kq's workers stay warm by themselves, so a script starts and keeps nothing
alive.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from kq.aio import AsyncClient
from kq.completion import first_code_block, without_thoughts
from kq.connection.submitter import DefaultRun
from kq.errors import BadInput, BrokerUnreachable, Error, InfraError
from kq.evaluation import Evaluation
from kq.kernelbench import KernelExecResult, result_of, score
from kq.records.hash import Hash
from kq.records.jobs import DeviceKind
from kq.records.submission import Problem, Trials
from kq.wire.messages import BrokerReply

GPUS = ("L40S", "H100", "A100", "L4", "T4", "A10G")  # the GPUs of that evaluator; kq accepts any GPU that a worker has
TIMEOUT_S = 3_600.0
TRIES = 2  # each try is already three attempts of the broker
GPU_SEARCH_S = 60.0  # how long to wait for a worker with the GPU, since one may be starting
GPU_SEARCH_PAUSE_S = 1.0  # the pause between two queries during that wait
NOT_GIVEN = "\0 not given"  # the default of `response`; None means that the model returned nothing
CODE_BEGINS = re.compile(r"^\s*(import|from|class|def|@|#include)\b", re.M)


class LocalKernelEvaluatorWrapper:
    """Evaluates kernels on one kind of GPU, each against its own reference. Use it in a `with` block."""

    def __init__(
        self,
        gpu: str = "L40S",
        *,
        url: str | None = None,
        key: str | Path | None = None,
        timeout: float = TIMEOUT_S,
        num_correct_trials: int = 5,
        num_perf_trials: int = 100,
        run: str = DefaultRun("evaluator"),  # noqa: B008
    ) -> None:
        """Stores the settings; the connection is opened by the `with` block.

        `gpu` is a word of the GPU model's name, such as "H100", or a label of workers; "any" takes any device and "cpu"
        the CPU. `timeout` is how many seconds one evaluation may take, including the time in the queue.
        """
        self.gpu = gpu
        self._url, self._key = url, key
        self._timeout = timeout
        self._trials = Trials(correctness=num_correct_trials, timed=num_perf_trials)
        self._run = run
        self._where: dict[str, Any] | None = {"any": {}, "cpu": {"device": "cpu"}}.get(gpu)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: AsyncClient | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> LocalKernelEvaluatorWrapper:
        self._client = AsyncClient(self._url, self._key)  # raises BadInput here if the URL or key is wrong
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kq evaluator", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is None or self._client is None or self._thread is None:
            return
        if not self._thread.is_alive():  # this is a forked process, and threads do not exist after a fork
            self._loop = self._client = self._thread = None
            return
        asyncio.run_coroutine_threadsafe(self._end(self._client), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._client = self._thread = None

    def evaluate(self, ref_arch_src: str, custom_cuda: str, verbose: bool = False) -> KernelExecResult:
        """Evaluates a kernel and returns KernelBench's result; see KernelExecResult.

        An evaluation that fails without fault of the kernel is repeated once; then evaluate() raises InfraError.
        """
        return self.start(ref_arch_src, custom_cuda, verbose).result()

    def start(self, ref_arch_src: str, custom_cuda: str, verbose: bool = False) -> Future[KernelExecResult]:
        """Starts evaluate() and returns a future of its result. Any number of evaluations may run at the same time."""
        return self._spawn(self._evaluate(ref_arch_src, custom_cuda, verbose))

    def evaluate_batch(
        self, ref_arch_src: str, custom_cudas: Sequence[str], verbose: bool = False
    ) -> list[KernelExecResult]:
        """Evaluates many kernels against one reference at the same time; returns their results in order."""
        started = [self.start(ref_arch_src, code, verbose) for code in custom_cudas]
        return [future.result() for future in started]

    def get_feedback(self, response: str, info: str) -> tuple[float, str]:
        """See KernelGuide.get_feedback()."""
        return KernelGuide(self).get_feedback(response, info)

    def _spawn(self, work: Coroutine[Any, Any, KernelExecResult]) -> Future[KernelExecResult]:
        """Runs the coroutine in the background thread."""
        if self._loop is None:
            work.close()
            raise RuntimeError("Evaluator not active. Use 'with LocalKernelEvaluatorWrapper() as evaluator:'")
        if self._thread is None or not self._thread.is_alive():
            work.close()
            raise Error(
                "this evaluator was entered before a fork and cannot be used after it; enter one in each process"
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _evaluate(self, reference: str, code: str, verbose: bool) -> KernelExecResult:
        assert self._client is not None
        if not isinstance(reference, str):
            raise BadInput(f"ref_arch_src must be the text of the reference, got {type(reference).__name__}")
        digest = str(Hash.of(reference.encode(errors="surrogatepass")))[:12]
        problem = Problem.of(reference, f"reference-{digest}")
        deadline = time.monotonic() + self._timeout
        for tries in range(TRIES):
            where = await self._placement(min(deadline, time.monotonic() + GPU_SEARCH_S))
            one: Evaluation = await self._client.evaluate(
                code,
                problem=problem,
                timeout=max(0.0, deadline - time.monotonic()),
                run=self._run,
                fresh=tries > 0,
                trials=self._trials,
                **where,
            )
            if one.infra_error is None or time.monotonic() >= deadline:
                break
        result = result_of(one)
        if verbose:
            print(feedback_of(result), flush=True)
        return result

    async def _placement(self, deadline: float) -> dict[str, Any]:
        """Returns the fields of a submission that select the GPU, found once among the connected workers.

        Raises InfraError if no worker has the GPU before the deadline.
        """
        while self._where is None:
            assert self._client is not None
            try:
                status = await self._client.status()
                self._where = placement_of(self.gpu, status)
                failure = f"no worker has the GPU or label '{self.gpu}'; {devices_text(status)}"
            except BrokerUnreachable as error:
                failure = str(error)
            if self._where is None:
                if time.monotonic() + GPU_SEARCH_PAUSE_S > deadline:
                    raise InfraError(failure)
                await asyncio.sleep(GPU_SEARCH_PAUSE_S)
        return self._where

    async def _end(self, client: AsyncClient) -> None:
        """Cancels all evaluations and closes the client."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await client.close()


class KernelGuide:
    """Gives an optimiser a score and a text for each response of a model."""

    def __init__(self, modal_evaluator: LocalKernelEvaluatorWrapper, verbose: bool = False) -> None:
        self._evaluator = modal_evaluator
        self._verbose = verbose

    def get_feedback(
        self, *given: str | None, response: str | None = NOT_GIVEN, info: str | None = None, **_: Any
    ) -> tuple[float, str]:
        """Returns (score, text) for (response, info) or (task, response, info).

        `response` holds the kernel, `info` is the source of the reference, and the task is not used. None as response
        is a response without a kernel. Raises InfraError, which is not a score, if the kernel is not at fault for a
        failure.
        """
        if info is None and given:
            *others, info = given
            given = tuple(others)
        if response is NOT_GIVEN and given:
            response = given[-1]
        if response is NOT_GIVEN or info is None:
            raise BadInput(
                f"get_feedback(response, info) needs {'both' if info else 'info, the source of the reference'}"
            )
        result = self._evaluator.evaluate(info, code_of(response or ""), self._verbose)
        return score(result), feedback_of(result)

    def metric(self, *given: str | None, **named: Any) -> float:
        """Returns the score alone."""
        return self.get_feedback(*given, **named)[0]


def feedback_of(result: KernelExecResult) -> str:
    """Returns the text about a result that the model reads before it writes the next kernel."""
    metadata = result["metadata"]
    if not result["compiled"]:
        return (
            "Compilation/Runtime failed. Please fix the error and try again.\n\n"
            + _error_in(metadata)
            + f"\nFull Metadata: {metadata}"
        )
    if not result["correctness"]:
        return (
            "The kernel code compiled but failed correctness tests.\n\n"
            + _error_in(metadata)
            + f"\nPlease fix the logic error and try again.\n\nFull Metadata: {metadata}"
        )
    return (
        "The kernel code compiled and is correct!\n"
        f"Runtime: {result['runtime']:.4f} ms\n"
        f"Reference: {result['ref_runtime']:.4f} ms\n"
        f"Runtime Stats: {result['runtime_stats']}\n"
        f"Score (1/runtime_sec): {score(result):.4f}\n"
        f"Metadata: {metadata}"
    )


def code_of(response: str) -> str:
    """Returns the kernel in a response: that of first_code_block() if no code comes before a fence, else the whole."""
    response = without_thoughts(response)
    fence, code = response.find("```"), CODE_BEGINS.search(response)
    return first_code_block(response) if fence >= 0 and (code is None or fence < code.start()) else response


def placement_of(gpu: str, status: BrokerReply) -> dict[str, Any] | None:
    """Returns the fields of a submission that select the GPU, or None if no worker has it.

    The GPU is found as a label of a worker, else as a word in the model's name.
    """
    for worker in status.workers:
        for label in worker.labels:
            if label.casefold() == gpu.casefold():
                return {"labels": [label]}
    models = Counter(
        device.model
        for worker in status.workers
        for device in worker.devices
        if device.kind is DeviceKind.CUDA and gpu.casefold() in re.split(r"[^0-9a-z]+", device.model.casefold())
    )
    if not models:
        return None
    return {"device": "cuda", "gpu_model": min(models, key=lambda model: (-models[model], model))}


def devices_text(status: BrokerReply) -> str:
    """Returns a list of the connected workers' devices for an error text."""
    devices = sorted({device.model for worker in status.workers for device in worker.devices})
    return "there are: " + ", ".join(devices) if devices else "no worker is connected"


def _error_in(metadata: dict[str, Any]) -> str:
    key = next((one for one in metadata if f"{one}_name" in metadata), "error")
    name = metadata.get(f"{key}_name", metadata.get("kq_verdict", "Unknown"))
    text = f"Error Type: {name}\nError Message: {metadata.get(key, 'Unknown error')}\n"
    return text + (f"Hint: {metadata['hint']}\n" if "hint" in metadata else "")
