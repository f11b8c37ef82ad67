"""The command `kq mcp`: a server of the Model Context Protocol on standard input and output, for agents.

An agent can check a kernel, submit it, wait for it, read results and boards, and cancel jobs. Answers are bounded, so
that they fit into a model's context. A mistake of the agent and a failure of kq are errors of the tool, in one
sentence; a kernel that is at fault is an ordinary answer with its verdict.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any

from kq.aio import AsyncClient
from kq.calls.operations import checked
from kq.errors import BadInput, Error, NotFound, exit_code_of
from kq.evaluation import Evaluation, label_of
from kq.records.jobs import JobState, RunRow
from kq.records.submission import Submission
from kq.tables.columns import Row
from kq.trainers.scoring import problem_of

WAIT_S_MAX = 600.0  # the longest wait of one call
ROWS_MAX = 100  # rows of one answer
TEXT_CHARS_MAX = 4_000  # characters of one text in an answer; longer ones are cut in the middle
CHECK_S_MAX = 30.0  # how long the static guard may take
CANCEL_MAX = 10_000  # jobs of one call
RESULT_COLUMNS = (
    "label",
    "job_id",
    "state",
    "verdict",
    "fault",
    "speedup",
    "speedup_noise",
    "median_us",
    "device_model",
    "message",
)
NEED_MCP = "kq mcp needs the Python package mcp: pip install 'kq[mcp]', or pip install mcp"
CUDA = re.compile(r"^\s*#\s*include\b|__global__", re.M)
INSTRUCTIONS = (
    "kq evaluates GPU kernels against a problem, which is a Python file with class Model, get_inputs and "
    "get_init_inputs. A kernel is a Python file with class ModelNew of the same interface, or a CUDA file. Call check "
    "first, then submit. Read the verdict and its message; show has more. A speedup of 2 is twice as fast as the "
    "problem's own model."
)


def bounded(text: str) -> str:
    """Returns the text, without its middle if it is too long for an answer."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    half = TEXT_CHARS_MAX // 2
    return f"{text[:half]}\n[{len(text) - TEXT_CHARS_MAX} characters are left out here]\n{text[-half:]}"


def plain(value: Any) -> Any:
    """Returns a value as JSON has it, with bounded texts and without entries that hold nothing."""
    if isinstance(value, dict):
        entries = {str(name): plain(one) for name, one in value.items()}
        return {name: one for name, one in entries.items() if one not in (None, "", [], {})}
    if isinstance(value, str):
        return bounded(value)
    if isinstance(value, bool | int | float) or value is None:
        return value
    return bounded(str(value))


def columns_of(row: RunRow, names: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Returns the columns of kq-dump of a row; all of them, or those with these names."""
    flat = dataclasses.asdict(Row.of(row))
    return plain(flat if names is None else {name: flat.get(name) for name in names})  # type: ignore[no-any-return]


def guard_program() -> str:
    """Returns the path of kq-check: in the folder KQ_BIN, else in PATH."""
    folder = os.environ.get("KQ_BIN")
    found = shutil.which("kq-check", path=folder) if folder else shutil.which("kq-check")
    if found is None:
        raise Error("kq-check is not installed here; put kq's programs into PATH, or name their folder in KQ_BIN")
    return found


def language_of(source: str) -> str:
    """Returns the language of a kernel as kq-check names it; a text that is neither counts as Python."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "cuda" if CUDA.search(source) else "python"
    return "python"


class Tools:
    """The tools of the server. Each returns an object for the agent."""

    def __init__(self, url: str | None, key: str | None, run: str) -> None:
        self._client = AsyncClient(url, key)
        self._run = run

    async def check(self, source: str, problem: str = "", backend: str = "") -> dict[str, Any]:
        """Checks a kernel without running it: the static rules, and with a problem whether kq would take the job.

        `source` is the text of the kernel, `problem` the text of the problem or the path of its file.
        """
        if problem:
            self._submission(source, problem, "check", backend, {})
        guard = await asyncio.create_subprocess_exec(
            guard_program(),
            *("--format", "json", "--language", language_of(source), "-"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, words = await asyncio.wait_for(guard.communicate(source.encode(errors="replace")), CHECK_S_MAX)
        except TimeoutError:
            guard.kill()
            raise Error(f"kq-check did not end within {CHECK_S_MAX:g} s") from None
        if guard.returncode not in (0, 1):
            raise BadInput(bounded(words.decode(errors="replace").strip()) or "kq-check refused the source")
        return {"accepted": guard.returncode == 0, "report": json.loads(out)}

    async def submit(
        self,
        source: str,
        problem: str,
        label: str = "",
        run: str = "",
        backend: str = "",
        device: str = "any",
        gpu_model: str = "",
        wait_s: float = 300.0,
    ) -> dict[str, Any]:
        """Submits a kernel and waits up to wait_s seconds for its verdict; with 0 it returns at once.

        `source` is the text of the kernel, `problem` the text of the problem or the path of its file. The answer has
        the job's number and its label in the run, for results, show and cancel. Equal work is not run again.
        """
        if not 0 <= wait_s <= WAIT_S_MAX:
            raise BadInput(f"wait_s must be from 0 to {WAIT_S_MAX:g}, got {wait_s}")
        place = {"device": device, "gpu_model": gpu_model} if gpu_model else {"device": device}
        job = self._submission(source, problem, label, backend, place)
        batch = await self._client.submit_many(run or self._run, [job], timeout=60)
        outcomes = [one async for one in batch.as_completed(timeout=wait_s)]
        if waiting := batch.pending:  # the time was over first
            return {"run": run or self._run, "label": job.label, "job_id": waiting[0].seq, "state": str(waiting[0])}
        return self._outcome(outcomes[0])

    async def _rows(self, run: str) -> AsyncIterator[RunRow]:
        """Yields the rows of a run; an empty name is the run of this server, which has no rows before its first job."""
        try:
            async for row in self._client.each_row(run or self._run):
                yield row
        except NotFound:
            if run:
                raise

    async def results(self, run: str = "", failed_only: bool = False, limit: int = 20) -> dict[str, Any]:
        """Lists the jobs of a run with verdict, speedup and message; with failed_only those that did not pass."""
        if not 1 <= limit <= ROWS_MAX:
            raise BadInput(f"limit must be from 1 to {ROWS_MAX}, got {limit}")
        rows: list[dict[str, Any]] = []
        found = 0
        async for row in self._rows(run):
            verdict = row.verdict
            if failed_only and (verdict is None or verdict.name.value == "passed"):
                continue
            found += 1
            if len(rows) < limit:
                rows.append(columns_of(row, RESULT_COLUMNS))
        return {"run": run or self._run, "rows": rows, "left_out": found - len(rows)}

    async def show(self, label: str, run: str = "") -> dict[str, Any]:
        """Shows everything that is known of one job of a run: why it failed, its log, its times and device."""
        async for row in self._rows(run):
            if row.label == label:
                log = row.result.log if row.result else ""
                return columns_of(row) | ({"log": bounded(log)} if log else {})
        raise BadInput(f"run '{run or self._run}' has no job with the label '{label}'; results lists its labels")

    async def boards(self, problem: str = "", limit: int = 20) -> dict[str, Any]:
        """Lists the best kernel of each problem on each device model; `problem` is a part of a problem's name.

        Problems with equal files are one row, under the name to which its kernel was submitted.
        """
        if not 1 <= limit <= ROWS_MAX:
            raise BadInput(f"limit must be from 1 to {ROWS_MAX}, got {limit}")
        rows = [row for row in await self._client.leaderboard() if problem in row.problem]
        shown = []
        for row in rows[:limit]:
            fields = dataclasses.asdict(row)
            fields["run_count"] = len(fields.pop("runs"))
            fields["speedup_noise"] = row.speedup_noise
            shown.append(plain(fields))
        return {"rows": shown, "left_out": max(0, len(rows) - limit)}

    async def cancel(self, jobs: list[int] | None = None, run: str = "") -> dict[str, Any]:
        """Cancels jobs by their numbers, or all unfinished jobs of a run. Finished jobs do not change."""
        if bool(jobs) == bool(run):
            raise BadInput("give either jobs or run")
        numbers = list(jobs or [])
        if run:
            async for row in self._client.each_row(run):
                if row.job.state is not JobState.FINISHED:
                    numbers.append(row.entry.seq)
        if len(numbers) > CANCEL_MAX:
            raise BadInput(f"{len(numbers)} jobs; at most {CANCEL_MAX} are cancelled by one call")
        actions = await self._client.cancel(numbers) if numbers else []
        return {"jobs": [plain(dataclasses.asdict(action)) for action in actions]}

    def _submission(self, source: str, problem: str, label: str, backend: str, place: dict[str, Any]) -> Submission:
        """Returns the submission; raises BadInput where the broker would refuse it."""
        job = Submission.of(source, label=label, problem=problem_of(problem), backend=backend or None, **place)
        if not label:
            job = dataclasses.replace(job, label=label_of(job))
        return checked(self._run, [job])[0]

    def _outcome(self, one: Evaluation) -> dict[str, Any]:
        if one.infra_error:
            raise Error(one.infra_error)
        known = columns_of(one.row, RESULT_COLUMNS) if one.row else {}
        return {"run": one.run, "passed": one.passed, **known}


def said(tool: Callable[..., Awaitable[dict[str, Any]]], error: type[Exception]) -> Callable[..., Any]:
    """Returns the tool with kq's errors as those of the protocol's library, whose text the agent reads."""

    @wraps(tool)
    async def call(*words: Any, **named: Any) -> dict[str, Any]:
        try:
            return await tool(*words, **named)
        except Error as failed:
            raise error(str(failed)) from None

    return call


def server(tools: Tools) -> Any:
    """Returns the server of the library, of either of its major versions."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        from mcp.server.fastmcp import FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ToolError
    made = MCPServer("kq", instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in (tools.check, tools.submit, tools.results, tools.show, tools.boards, tools.cancel):
        made.tool()(said(tool, ToolError))
    return made


def main(arguments: list[str]) -> int:
    """Serves until standard input ends."""
    parser = argparse.ArgumentParser(prog="kq mcp", description="Serves agents by the Model Context Protocol on stdio.")
    parser.add_argument("--broker", help="the broker's URL (default: KQ_BROKER, that of kq up, tcp://127.0.0.1:5570)")
    parser.add_argument("--key", help="the key file, if the broker needs one (default: KQ_KEY)")
    parser.add_argument("--run", default="mcp", help="the run of jobs that name no other (default: mcp)")
    given = parser.parse_args(arguments)
    if given.key and not Path(given.key).is_file():
        raise BadInput(f"key file {given.key}: there is no such file")
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise BadInput(NEED_MCP) from None

    async def serve() -> None:
        await server(Tools(given.broker, given.key, given.run)).run_stdio_async()

    asyncio.run(serve())
    return 0


def run(arguments: list[str] | None = None) -> int:
    """Runs main() and returns the exit code."""
    return exit_code_of("kq mcp", lambda: main(sys.argv[1:] if arguments is None else arguments))
