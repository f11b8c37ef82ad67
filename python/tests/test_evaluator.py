"""Tests the replacement of the persistent KernelBench evaluator: results, scores, texts, and the choice of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from examples import MODEL, ended, passed
from fake_worker import GPU

import kq
from kq import evaluator as module
from kq.evaluator import code_of, placement_of
from kq.kernelbench import result_of
from kq.wire.messages import BrokerReply, WorkerStatus

RIGHT = "import torch\nclass ModelNew: ...\n"


@pytest.fixture
def h100(shared_broker: str) -> Iterator[kq.LocalKernelEvaluatorWrapper]:
    with kq.LocalKernelEvaluatorWrapper(gpu="H100", url=shared_broker, timeout=60) as evaluator:
        yield evaluator


def test_results_scores_and_texts(h100: kq.LocalKernelEvaluatorWrapper, capsys: pytest.CaptureFixture[str]) -> None:
    right = h100.evaluate(MODEL, RIGHT, verbose=True)
    assert right.compiled and right.correctness and right["metadata"]["hardware"] == GPU.model
    assert (right.runtime, right.runtime_stats["num_trials"], right.ref_runtime) == (0.002, 20, 0.003)
    assert right.evaluation.row and right.evaluation.row.entry.submission.trials == kq.Trials(5, 2, 100)
    assert kq.score(right) == 1 / (0.002 / 1000) and "Score (1/runtime_sec): 500000.0000" in capsys.readouterr().out
    guide = kq.KernelGuide(modal_evaluator=h100)
    assert guide.get_feedback(task="make it fast", response=RIGHT, info=MODEL)[0] == 500_000
    assert guide.metric("make it fast", f"Sure:\n```python\n{RIGHT}```\n", MODEL) == 500_000
    score, text = h100.get_feedback("# wrong", MODEL)
    assert score == 0.0 and "failed correctness tests" in text and "output 0 differs" in text
    score, text = guide.get_feedback("# ends as build_failed", MODEL)
    assert score == 0.0 and "Compilation/Runtime failed" in text and "Error Type: SomeError" in text
    assert guide.get_feedback(" ", MODEL)[0] == 0.0
    for nothing in ({"response": None, "info": MODEL}, {"task": "make it fast", "response": None, "info": MODEL}):
        score, text = guide.get_feedback(**nothing)  # the model returned nothing
        assert score == 0.0 and "submission.py: is empty" in text
    assert guide.get_feedback(None, MODEL)[0] == 0.0
    for missing in ({"info": MODEL}, {"response": RIGHT}, {"response": RIGHT, "info": None}, {}):
        with pytest.raises(kq.BadInput, match="get_feedback\\(response, info\\) needs "):
            guide.get_feedback(**missing)


def test_a_failure_of_kq_is_repeated_and_has_no_score(h100: kq.LocalKernelEvaluatorWrapper) -> None:
    with pytest.raises(kq.InfraError, match="abandoned: the judge died"):
        h100.evaluate(MODEL, "# abandoned")


def test_a_reference_that_is_not_a_text_is_refused(h100: kq.LocalKernelEvaluatorWrapper) -> None:
    with pytest.raises(kq.BadInput, match="ref_arch_src must be the text of the reference, got PosixPath"):
        h100.evaluate(Path("relu.py"), "class ModelNew: ...")  # type: ignore[arg-type]


def test_many_calls_run_at_the_same_time(h100: kq.LocalKernelEvaluatorWrapper) -> None:
    sources = [f"# {'wrong' if i % 2 else 'right'} {i}" for i in range(100)]
    with ThreadPoolExecutor(20) as threads:
        results = list(threads.map(lambda source: h100.evaluate(MODEL, source), sources))
    assert [kq.score(result) > 0 for result in results] == [True, False] * 50
    assert h100.evaluate_batch(MODEL, sources) == results


def test_a_gpu_that_no_worker_has_is_an_error(shared_broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GPU_SEARCH_S", 0.0)
    with kq.LocalKernelEvaluatorWrapper(gpu="cpu", url=shared_broker, timeout=60) as on_cpu:
        assert on_cpu.evaluate(MODEL, RIGHT).metadata["hardware"] == "a processor"
    sentence = "no worker has the GPU or label 'L40S'; there are: NVIDIA H100 80GB HBM3, a processor"
    with kq.LocalKernelEvaluatorWrapper(gpu="L40S", url=shared_broker) as nowhere:
        with pytest.raises(kq.InfraError, match=sentence):
            nowhere.evaluate(MODEL, RIGHT)
    with pytest.raises(RuntimeError, match="Evaluator not active"):
        nowhere.evaluate(MODEL, RIGHT)


def with_devices(*models: str, labels: list[str] | None = None) -> BrokerReply:
    devices = [kq.DeviceInfo(kq.DeviceKind.CUDA, model=model) for model in models]
    return BrokerReply(workers=[WorkerStatus("w", devices, labels=labels or [])])


@pytest.mark.parametrize(
    ("gpu", "model"),
    [
        ("L40S", "NVIDIA L40S"),
        ("H100", "NVIDIA H100 80GB HBM3"),
        ("A100", "NVIDIA A100-SXM4-80GB"),
        ("L4", "NVIDIA L4"),
        ("T4", "Tesla T4"),
        ("A10G", "NVIDIA A10G"),
    ],
)
def test_short_names_stand_for_models(gpu: str, model: str) -> None:
    every = ["NVIDIA L40S", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA L4", "Tesla T4", "NVIDIA A10G"]
    assert placement_of(gpu, with_devices(*every)) == {"device": "cuda", "gpu_model": model}
    assert placement_of(gpu, with_devices(*(set(every) - {model}))) is None
    assert placement_of(gpu, with_devices("NVIDIA H200", labels=["fast", gpu.lower()])) == {"labels": [gpu.lower()]}


@pytest.mark.parametrize("name", list(kq.VerdictName))
def test_every_verdict_is_a_result_or_an_infra_error(name: kq.VerdictName) -> None:
    verdict = passed() if name is kq.VerdictName.PASSED else ended(name, "IndexError: because")
    one = kq.Evaluation("run", "a", 1, kq.RunRow(result=kq.Result(verdict=verdict)))
    if one.infra_error:
        with pytest.raises(kq.InfraError):
            result_of(one)
        return
    result = result_of(one)
    assert (kq.score(result) > 0) == result.correctness == (name is kq.VerdictName.PASSED)
    assert result.metadata["kq_verdict"] == name
    assert name is kq.VerdictName.PASSED or any("because" in str(told) for told in result.metadata.values())


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (RIGHT, RIGHT),
        (f"Sure:\n```python\n{RIGHT}```", RIGHT),
        ('import x\n"""\n```\nno\n```\n"""\n', 'import x\n"""\n```\nno\n```\n"""\n'),
        (f"<think>\nfrom scratch\n</think>\n```bash\nls\n```\n```python\n{RIGHT}```", RIGHT),
        ("no code at all", "no code at all"),
    ],
)
def test_the_kernel_is_extracted_from_a_response(response: str, code: str) -> None:
    assert code_of(response) == code
