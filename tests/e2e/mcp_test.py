"""Tests `kq mcp` as an agent uses it: the library's own client over stdio, a real broker and a real CPU worker."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import unittest
from collections.abc import AsyncIterator
from typing import Any

import kq as tools

sys.path.insert(0, str(tools.ROOT / "python"))
try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError:
    ClientSession = None

LEAVES = "import torch\ns = torch.cuda.Stream()\n" + tools.RIGHT


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "KQ_BROKER": url, "KQ_BIN": str(tools.BIN), "PYTHONPATH": str(tools.ROOT / "python")}


@contextlib.asynccontextmanager
async def agent(url: str) -> AsyncIterator[Any]:
    """Yields a session with a server that `kq mcp` starts."""
    # Python would import tests/e2e/kq.py instead of the package if it were started beside it.
    parameters = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "kq", "mcp", "--run", "agent"], env=environment(url)
    )
    async with stdio_client(parameters) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        yield session


async def call(session: Any, tool: str, **arguments: Any) -> Any:
    """Calls a tool and returns its object, or its error as a text."""
    answer = await session.call_tool(tool, arguments)
    text = "".join(one.text for one in answer.content)
    is_error = getattr(answer, "is_error", None) or getattr(answer, "isError", None)
    return text if is_error else json.loads(text)


class WithoutLibrary(unittest.TestCase):
    def test_a_missing_library_is_one_sentence(self) -> None:
        words = "import sys; sys.modules['mcp'] = None; from kq.mcp import run; sys.exit(run([]))"
        done = subprocess.run(
            [sys.executable, "-P", "-c", words],
            env=environment("ipc:///x"),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("pip install", done.stderr)


@unittest.skipUnless(ClientSession, "the Python package mcp is not installed; tests/e2e/requirements.txt names it")
class Agent(tools.QueueTest):
    def test_an_agent_without_a_broker_gets_a_sentence_for_each_mistake(self) -> None:
        async def talk() -> None:
            async with agent(f"ipc://{self.folder}/none") as session:
                names = {tool.name for tool in (await session.list_tools()).tools}
                self.assertEqual(names, {"check", "submit", "results", "show", "boards", "cancel"})
                self.assertTrue((await call(session, "check", source=tools.RIGHT, problem=tools.RELU))["accepted"])
                refused = await call(session, "check", source=LEAVES)
                self.assertFalse(refused["accepted"])
                self.assertIn("STREAM", json.dumps(refused["report"]).upper())
                self.assertIn("give either jobs or run", await call(session, "cancel"))
                self.assertIn("limit must be from 1", await call(session, "results", limit=100_000))
                self.assertIn("wait_s must be", await call(session, "submit", source="x", problem="y\n", wait_s=1e9))
                self.assertIn("did not answer", await call(session, "boards"))

        asyncio.run(talk())

    def test_an_agent_submits_reads_and_cancels(self) -> None:
        async def talk() -> None:
            async with agent(self.url) as session:
                waiting = await call(
                    session, "submit", source=tools.RIGHT, problem=tools.RELU, label="waits", run="later", wait_s=0
                )
                self.assertEqual((waiting["label"], waiting["run"]), ("waits", "later"))
                cancelled = await call(session, "cancel", run="later")
                self.assertEqual(len(cancelled["jobs"]), 1)
                with self.worker():
                    right, wrong = await asyncio.gather(
                        call(session, "submit", source=tools.RIGHT + "# 2\n", problem=tools.RELU, label="right"),
                        call(session, "submit", source=tools.WRONG, problem=tools.RELU, label="wrong"),
                    )
                self.assertTrue(right["passed"], right)
                self.assertGreater(right["speedup"], 0)
                self.assertEqual((wrong["passed"], wrong["verdict"], wrong["fault"]), (False, "wrong_answer", "user"))
                listed = await call(session, "results", failed_only=True)
                self.assertEqual([row["label"] for row in listed["rows"]], ["wrong"])
                shown = await call(session, "show", label="wrong")
                self.assertIn("mismatch_expected", shown)
                self.assertIn("no job with the label 'lost'", await call(session, "show", label="lost"))
                board = await call(session, "boards")
                self.assertEqual([row["label"] for row in board["rows"]], ["right"])

        with self.broker():
            asyncio.run(talk())


if __name__ == "__main__":
    unittest.main()
