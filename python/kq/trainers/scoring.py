"""Evaluates the completions of a model; every adapter uses this."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from kq.aio import AsyncClient
from kq.client import Client
from kq.completion import first_code_block, last_code_block
from kq.connection.submitter import DefaultRun
from kq.errors import BadInput
from kq.evaluation import EVALUATE_TIMEOUT_S, Evaluation, Source
from kq.records.arguments import EvaluateFields
from kq.records.hash import Hash
from kq.records.submission import Problem, unknown_field

Extract = Callable[[Any], Source]  # takes a completion and returns the kernel in it

NAME_DIGITS = 12  # of the hash that names a problem which is given as a text


def problem_of(given: Problem | str | Path) -> Problem:
    """Returns the problem; a text of several lines is its source, any other text is the path of its file."""
    if isinstance(given, str) and "\n" in given:
        return Problem.of(given, f"problem-{str(Hash.of(given.encode(errors='surrogatepass')))[:NAME_DIGITS]}")
    return Problem.given(given)


def extractor(given: Extract | str) -> Extract:
    """Returns the function that takes the kernel out of a completion.

    It is given itself, or as a text, as frameworks with settings in files need it: "first" for first_code_block(),
    "last" for last_code_block(), or "package.module:function".
    """
    if callable(given):
        return given
    if given in ("first", "last"):
        return first_code_block if given == "first" else last_code_block
    module, _, name = given.partition(":") if isinstance(given, str) else ("", "", "")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        wanted = "extract must be a function, 'first', 'last' or 'package.module:function'"
        raise BadInput(f"{wanted}, got {given!r}: {error}") from error
    if not callable(found):
        raise BadInput(f"extract: {given} is no function")
    return found  # type: ignore[no-any-return]


OWN_ARGUMENTS = ("run", "timeout", "url", "key", "extract")  # of Scorer, beside the fields of a submission


class Scorer:
    """Evaluates completions with clients that are made on first use: one for each process, one for each event loop."""

    def __init__(
        self,
        *,
        run: str = DefaultRun("training"),  # noqa: B008
        timeout: float = EVALUATE_TIMEOUT_S,
        url: str | None = None,
        key: str | Path | None = None,
        extract: Extract | str = "first",
        **fields: Any,
    ) -> None:
        """`url` and `key` are those of Client; `fields` are those of Submission, such as device or gpu_model.

        `extract` takes the kernel out of a completion; see extractor().
        `timeout` is how many seconds one evaluation, or one batch of them, may take; then it has an infra_error.
        """
        for name in fields.keys() - EvaluateFields.__annotations__.keys():
            raise BadInput(unknown_field(name, dict.fromkeys((*OWN_ARGUMENTS, *EvaluateFields.__annotations__))))
        self._run, self._timeout, self._url, self._key, self._fields = run, timeout, url, key, fields
        self._extract = extractor(extract)
        self._client: Client | None = None
        self._pid = 0
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    def score(self, completions: Sequence[Any], problems: Sequence[Problem | str | Path]) -> list[Evaluation]:
        """Evaluates a batch and returns one Evaluation for each completion, in order.

        A completion is a text or a chat, as first_code_block() takes it.
        """
        if self._client is None or self._pid != os.getpid():  # a client does not survive a fork
            self._client, self._pid = Client(self._url, self._key), os.getpid()
        return list(
            self._client.evaluate_many(
                [self._extract(one) for one in completions],
                problem=[problem_of(one) for one in problems],
                timeout=self._timeout,
                run=self._run,
                **self._fields,
            )
        )

    async def score_one(
        self, completion: Any, problem: Problem | str | Path, *, fresh: bool = False, timeout: float | None = None
    ) -> Evaluation:
        """Evaluates one completion. Calls that are awaited at the same time share messages to the broker."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = AsyncClient(self._url, self._key)
        return await client.evaluate(
            self._extract(completion),
            problem=problem_of(problem),
            timeout=self._timeout if timeout is None else min(timeout, self._timeout),
            run=self._run,
            fresh=fresh,
            **self._fields,
        )

    async def close(self) -> None:
        """Closes the clients of this process and of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()
        if self._client is not None and self._pid == os.getpid():
            self._client.close()
        self._client = None


def feedback(evaluation: Evaluation) -> dict[str, Any]:
    """Returns what a model, or the log of a trainer, may read about an evaluation."""
    verdict = evaluation.verdict
    name = verdict.name.value if verdict else "bad_source" if evaluation.bad_source else ""
    message = verdict.evidence.message if verdict and verdict.evidence else ""
    return {
        "verdict": name,
        "passed": evaluation.passed,
        "speedup": evaluation.speedup,
        "speedup_noise": evaluation.noise,
        "message": evaluation.bad_source or message,
        "infra_error": evaluation.infra_error or "",
    }
