"""Tests the adapters for trainers with a stub model, a real broker and a real CPU worker.

The adapters of OpenEnv, verifiers and NeMo Gym run where their framework is installed; those of TRL and verl are plain
functions, called here as these trainers call them.
"""

import asyncio
import contextlib
import importlib.util
import io
import os
import re
import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import kq as tools

# The package kq has the name of the module with the helpers.
sys.path.insert(0, str(tools.ROOT / "python"))
sys.modules["kq_tools"] = sys.modules.pop("kq")
has_client = importlib.util.find_spec("zmq") and importlib.util.find_spec("msgpack")
if has_client:
    import kq.completion
    import kq.trainers.trl
    import kq.trainers.verl
    from kq.errors import BadInput, InfraError


def has(package: str) -> bool:
    return bool(has_client and importlib.util.find_spec(package))


class StubModel:
    """Answers every prompt with the next of its completions, as a model would."""

    def __init__(self, *sources: str) -> None:
        self._completions = [f"Here it is:\n```python\n{source}```\nIt is fast." for source in sources]
        self._next = 0

    def __call__(self, prompt: Any) -> str:
        self._next += 1
        return self._completions[(self._next - 1) % len(self._completions)]

    def chat(self, prompt: Any) -> list[dict[str, str]]:
        return [{"role": "assistant", "content": self(prompt)}]


MODEL = (tools.RIGHT, tools.WRONG, "")


@unittest.skipUnless(has_client, "pyzmq and msgpack are not installed")
class WithWorker(tools.SubmitTest):
    def scoring(self, **more: Any) -> dict[str, Any]:
        return {"url": self.url, "timeout": 120.0, **more}

    def test_a_misspelt_argument_is_refused_before_anything_is_judged(self) -> None:
        with self.assertRaisesRegex(BadInput, "there is no field 'timout'"):
            kq.trainers.trl.reward_function(run="r", timout=3)

    def test_trl_gets_a_reward_for_each_completion(self) -> None:
        model = StubModel(*MODEL)
        logged: dict[str, Any] = {}
        reward = kq.trainers.trl.reward_function(**self.scoring())
        rewards = reward(
            prompts=["p"] * 3,
            completions=[model.chat("p") for _ in range(3)],
            completion_ids=[[1]] * 3,
            problem=[tools.RELU] * 3,
            trainer_state=None,
            log_extra=logged.__setitem__,
            log_metric=logged.__setitem__,
        )
        self.assertGreater(rewards[0], 0)
        self.assertEqual(rewards[1:], [0.0, 0.0])
        self.assertEqual(logged["kq_verdict"][:2], ["passed", "wrong_answer"])
        self.assertEqual(logged["kq_infra_errors"], 0)

    def test_a_kernel_is_found_among_other_blocks(self) -> None:
        kernel = f"```python\n{tools.RIGHT}```\n"
        draft = f"```python\n{tools.WRONG}```\n"
        completions = [f"```bash\npip install triton\n```\n{kernel}", f"<think>\n{draft}</think>\n{kernel}"]
        reward = kq.trainers.trl.reward_function(**self.scoring())
        self.assertNotIn(0.0, reward(completions=completions, problem=[tools.RELU] * 2))
        for extract in ("last", "kq.completion:last_code_block", kq.completion.last_code_block):
            with self.subTest(extract=extract):
                (score,) = kq.trainers.verl.compute_scores(
                    ["k"], [draft + kernel], [tools.RELU], **self.scoring(extract=extract)
                )
                self.assertEqual(score["kq_verdict"], "passed")
        with self.assertRaisesRegex(BadInput, "extract must be"):
            kq.trainers.trl.reward_function(extract="frist")

    def test_verl_gets_a_score_for_each_sample_and_for_a_batch(self) -> None:
        model = StubModel(*MODEL)

        async def samples() -> list[dict[str, Any]]:
            scores = [
                kq.trainers.verl.compute_score(
                    data_source="kernels",
                    solution_str=model("p"),
                    ground_truth=tools.RELU,
                    extra_info={"num_turns": None},
                    **self.scoring(),
                )
                for _ in range(3)
            ]
            return list(await asyncio.gather(*scores))

        one_by_one = asyncio.run(samples())
        self.assertGreater(one_by_one[0]["score"], 0)
        self.assertEqual([one["score"] for one in one_by_one[1:]], [0.0, 0.0])
        self.assertEqual({tuple(one) for one in one_by_one}, {("score", "acc", "kq_verdict")})
        batch = kq.trainers.verl.compute_scores(
            data_sources=["kernels"] * 3,
            solution_strs=[model("p") for _ in range(3)],
            ground_truths=[tools.RELU] * 3,
            extra_infos=[{}] * 3,
            **self.scoring(),
        )
        self.assertEqual([one["acc"] for one in batch], [1.0, 0.0, 0.0])

    def test_the_snippets_of_the_document_run(self) -> None:
        text = (tools.ROOT / "docs/user/trainers.md").read_text()
        names: dict[str, Any] = {}
        with contextlib.chdir(tools.ROOT), mock.patch.dict(os.environ, KQ_BROKER=self.url):
            for snippet in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
                if "openenv" not in snippet or has("openenv"):
                    with contextlib.redirect_stdout(io.StringIO()) as said:
                        exec(compile(snippet, "docs/user/trainers.md", "exec"), names)
                    self.assertNotIn("None", said.getvalue())

    @unittest.skipUnless(has("openenv"), "the Python package openenv is not installed")
    def test_an_openenv_episode_ends_when_a_kernel_passes(self) -> None:
        from kq.trainers.openenv import KernelAction, KernelEnvironment

        model = StubModel(tools.WRONG, tools.RIGHT)
        environment = KernelEnvironment([tools.RELU], turns=3, **self.scoring())
        seen = environment.reset(seed=1)
        self.assertIn("class Model", seen.problem)
        first = environment.step(KernelAction(source=model(seen.problem)))
        self.assertEqual((first.reward, first.done, first.verdict), (0.0, False, "wrong_answer"))
        last = asyncio.run(environment.step_async(KernelAction(source=model(first.message))))
        self.assertTrue(last.done)
        self.assertEqual(last.reward, last.speedup)
        self.assertEqual((environment.state.step_count, environment.state.best_speedup), (2, last.speedup))

    @unittest.skipUnless(has("verifiers"), "the Python package verifiers is not installed")
    def test_a_verifiers_task_scores_a_trace(self) -> None:
        from kq.trainers.verifiers import KernelConfig, KernelTaskset

        (self.folder / "relu.py").write_text(tools.RELU)
        config = KernelConfig(problems=self.folder / "relu.py", url=self.url, timeout=120, device="cpu")
        (task,) = KernelTaskset(config)
        self.assertIn("class Model", task.data.prompt)
        for source, reward in ((tools.RIGHT, None), (tools.WRONG, 0.0)):
            trace = trace_of(task, StubModel(source)("p"))
            asyncio.run(task.score(trace))
            found = trace.rewards["speedup"]
            self.assertEqual(
                found.score if hasattr(found, "score") else found, reward or trace.info["kq"]["speedup"] or 0
            )

    @unittest.skipUnless(has("nemo_gym"), "the Python package nemo-gym is not installed")
    def test_a_nemo_gym_server_verifies_a_response(self) -> None:
        answers = [nemo_answer(self.url, StubModel(source)("p")) for source in MODEL[:2]]
        self.assertEqual([one["verdict"] for one in answers], ["passed", "wrong_answer"])
        self.assertEqual([one["mask_sample"] for one in answers], [False, False])
        self.assertGreater(answers[0]["reward"], 0)


@unittest.skipUnless(has_client, "pyzmq and msgpack are not installed")
class WithoutBroker(tools.EndToEndTest):
    """A failure of kq never becomes a reward."""

    def scoring(self) -> dict[str, Any]:
        return {"url": f"ipc://{self.folder}/none", "timeout": 0.5}

    def test_trl_gets_none(self) -> None:
        reward = kq.trainers.trl.reward_function(**self.scoring())
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(reward(completions=["```python\nx = 1\n```"], problem=[tools.RELU]), [None])
        self.assertIn("no reward", said.getvalue())

    def test_verl_gets_an_exception(self) -> None:
        sample = kq.trainers.verl.compute_score("k", "x = 1", tools.RELU, **self.scoring())
        with self.assertRaises(InfraError):
            asyncio.run(sample)
        with self.assertRaises(InfraError):
            kq.trainers.verl.compute_scores(["k"], ["x = 1"], [tools.RELU], **self.scoring())

    @unittest.skipUnless(has("openenv"), "the Python package openenv is not installed")
    def test_openenv_gets_no_reward_and_no_turn(self) -> None:
        from kq.trainers.openenv import KernelAction, KernelEnvironment

        environment = KernelEnvironment([tools.RELU], **self.scoring())
        environment.reset()
        seen = environment.step(KernelAction(source="x = 1"))
        self.assertEqual((seen.reward, seen.done, environment.state.step_count), (None, False, 0))
        self.assertTrue(seen.infra_error)

    @unittest.skipUnless(has("verifiers"), "the Python package verifiers is not installed")
    def test_verifiers_gets_an_exception_and_no_reward(self) -> None:
        import verifiers.v1 as vf
        from kq.trainers.verifiers import KernelConfig, KernelTaskset

        (self.folder / "relu.py").write_text(tools.RELU)
        (task,) = KernelTaskset(KernelConfig(problems=self.folder / "relu.py", **self.scoring()))
        trace = trace_of(task, "x = 1")
        with self.assertRaises(vf.TaskError):
            asyncio.run(task.score(trace))
        self.assertIsNone(trace.rewards["speedup"])

    @unittest.skipUnless(has("nemo_gym"), "the Python package nemo-gym is not installed")
    def test_nemo_gym_masks_the_sample_or_fails(self) -> None:
        masked = nemo_answer(self.scoring()["url"], "x = 1", timeout=0.5)
        self.assertTrue(masked["mask_sample"])
        self.assertTrue(masked["infra_error"])
        self.assertEqual(nemo_answer(self.scoring()["url"], "x = 1", timeout=0.5, on_infra_error="fail"), 503)


def trace_of(task: Any, reply: str) -> Any:
    """Returns a trace of verifiers whose last reply is this text."""
    import verifiers.v1 as vf

    class Trace(vf.Trace):
        @property
        def last_reply(self) -> str:
            return reply

    return Trace.model_construct(task=task.data, rewards={}, metrics={}, info={}, errors=[])


def nemo_answer(url: str, reply: str, **settings: Any) -> Any:
    """Returns what /verify of the resources server answers, or the status of its error."""
    from fastapi.testclient import TestClient
    from kq.trainers.nemo_gym import KernelResourcesServer, KernelServerConfig
    from nemo_gym.server_utils import ServerClient

    settings = {"timeout": 120.0, **settings}
    config = KernelServerConfig(
        host="127.0.0.1", port=0, entrypoint="", name="kq", domain="coding", broker=url, **settings
    )
    server = KernelResourcesServer(config=config, server_client=ServerClient.model_construct())
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": reply, "annotations": []}],
    }
    response = {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": "stub",
        "output": [message],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
    }
    body = {"responses_create_params": {"input": "p"}, "response": response, "problem": tools.RELU}
    answer = TestClient(server.setup_webserver()).post("/verify", json=body)
    return answer.json() if answer.status_code == 200 else answer.status_code


if __name__ == "__main__":
    assert Path(kq.trainers.trl.__file__).is_relative_to(tools.ROOT)
    unittest.main()
