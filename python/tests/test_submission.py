"""Tests how sources become submissions and batches, and that mistakes raise errors before anything is sent."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import zstandard
from examples import MODEL, ROOT, problem, submission

import kq
from kq.calls import operations
from kq.evaluation import order_of
from kq.records.arguments import ProblemFields, SubmissionFields
from kq.records.hash import Hash
from kq.records.limits import FILE_BYTES_MAX, SUBMIT_BYTES_MAX, SUBMIT_JOBS_MAX
from kq.records.submission import OTHER_FIELDS
from kq.records.validate import name_error
from kq.wire import packing
from kq.wire.messages import Blob, Packing
from kq.wire.packing import batches, packed, unpacked

SWEEP = ROOT / "examples/sweep"
RELU = SWEEP / "submissions/relu"


def test_a_text_is_one_file() -> None:
    one = submission(text="class ModelNew: ...", backend="triton", trials=kq.Trials(timed=50))
    assert one.backend is kq.Backend.TRITON
    assert [file.name for file in one.files] == ["submission.py"]
    assert one.files[0].hash == Hash.of(b"class ModelNew: ...")
    assert one.problem.file == "relu.py"


def test_python_that_compiles_is_torch_cuda() -> None:
    one = submission(text="from torch.utils.cpp_extension import load_inline\nclass ModelNew: ...", backend=None)
    assert one.backend is kq.Backend.TORCH_CUDA


def test_a_cu_file_includes_its_contract() -> None:
    path = SWEEP / "submissions/relu/right_fast_cuda.cu"
    one = kq.Submission.of(path, label="relu/cuda", problem=SWEEP / "problems/relu.py", backend="cuda")
    assert [file.name for file in one.files] == ["right_fast_cuda.cu", "right_fast_cuda.json"]
    assert (one.problem.name, one.problem.file) == ("relu", "relu.py")


def test_a_path_gives_a_label_and_a_text_does_not(tmp_path: Path) -> None:
    path = tmp_path / "fast.py"
    path.write_text("class ModelNew: ...\n")
    problem = kq.Problem.of("# p", "p")
    assert kq.Submission.of(path, problem=problem).label == "fast"
    with pytest.raises(kq.BadInput, match="label is missing: the name of the row in its run"):
        kq.Submission.of("class ModelNew: ...\n", problem=problem)


def test_a_cu_file_that_is_an_extension_of_torch_has_an_entry_that_builds_it(tmp_path: Path) -> None:
    relu = SWEEP / "problems/relu.py"
    text = "#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
    path = tmp_path / "mine.cu"
    path.write_text(text)
    one = kq.Submission.of(path, label="a", problem=relu)
    assert ([file.name for file in one.files], one.backend) == (["mine.py", "mine.cu"], kq.Backend.TORCH_CUDA)
    entry = (one.files[0].content or b"").decode()
    assert entry in (ROOT / "producer/formats/single_file.cc").read_text()
    given = kq.Submission.of(text, label="a", problem=relu)
    assert [file.name for file in given.files] == ["submission.py", "submission.cu"]
    path.with_suffix(".json").write_text("{}")
    assert kq.Submission.of(path, label="a", problem=relu).backend is kq.Backend.CUDA


def test_a_contract_may_be_given_as_argument() -> None:
    one = submission(backend="cuda", contract={"args": [], "launch": {}})
    assert [file.name for file in one.files] == ["submission.cu", "submission.json"]
    assert one.files[1].content == b'{"args": [], "launch": {}}'


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: submission(text=" \n"), kq.BadSource, "submission.py: is empty"),
        (lambda: submission(text="x" * (FILE_BYTES_MAX + 1)), kq.BadSource, "has more than the 1048576 bytes"),
        (lambda: submission(text="a\0b"), kq.BadSource, "holds a NUL byte"),
        (lambda: submission(text="\ud800"), kq.BadSource, "UTF-8 is needed"),
        (
            lambda: submission(backend="tridon"),
            kq.BadInput,
            "one of torch, triton, cuda, torch_cuda, multi_kernel, eval_program, got 'tridon'",
        ),
        (lambda: submission(device="tpu"), kq.BadInput, "one of any, cpu, cuda, got 'tpu'"),
        (lambda: submission(backend="cuda"), kq.BadInput, "needs its IOContract"),
        (
            lambda: submission(backend="multi_kernel"),
            kq.BadInput,
            "backend multi_kernel needs a contract whose entry_point",
        ),
        (
            lambda: kq.Submission.of(RELU / "right_fast_cuda.cu", label="x", problem=problem(), backend="triton"),
            kq.BadInput,
            "right_fast_cuda.cu: backend triton takes a .py file; a .cu, .ptx or .cubin file needs backend cuda",
        ),
        (
            lambda: kq.Submission.of(RELU / "double_torch.py", label="x", problem=problem(), backend="cuda"),
            kq.BadInput,
            "double_torch.py: backend cuda takes a .cu, .ptx or .cubin file with its .json beside it; Python",
        ),
        (
            lambda: operations.checked("run", [submission(device="cpu", gpu_model="NVIDIA H200")]),
            kq.BadInput,
            "a CPU and the GPU 'NVIDIA H200' are asked for; only one can be had",
        ),
        (lambda: submission(problem=problem(text="")), kq.BadInput, "problem relu.py: is empty"),
        (lambda: submission(problem=MODEL), kq.BadInput, "Problem.of"),
        (lambda: submission(problem="m" * 5_000), kq.BadInput, "File name too long; a path is needed"),
        (lambda: submission(problem=Path("no/such.py")), kq.BadInput, "is not a file"),
        (
            lambda: kq.Problem.read(SWEEP / "submissions/relu/double_torch.py"),
            kq.BadInput,
            "double_torch.py: a problem defines class Model and get_inputs; missing here: class Model, get_inputs",
        ),
        (
            lambda: submission(gpu="H100"),
            kq.BadInput,
            "there is no field 'gpu'; gpu_model takes the model's whole name as its worker reports it, "
            "such as 'NVIDIA H200'",
        ),
        (
            lambda: submission(prioriti="low"),
            kq.BadInput,
            "there is no field 'prioriti'; known fields are author, tags, device, gpu_model, ",
        ),
        (
            lambda: submission(baseline="compile"),
            kq.BadInput,
            r"there is no field 'baseline'; baseline is a field of Trials: trials=kq.Trials\(baseline=...\)",
        ),
        (lambda: kq.Problem.of(MODEL, "relu", precision="fp8"), kq.BadInput, "as_given, fp32, fp16, bf16"),
    ],
)
def test_mistakes_are_refused_immediately(make: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as raised:
        make()  # type: ignore[operator]
    assert (type(raised.value) is kq.BadSource) == (error is kq.BadSource)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"tags": {"turn": 3}}, "x: tags.turn must be a text, got int"),
        ({"tags": {3: "turn"}}, "x: a name of tags must be a text, got int"),
        ({"tags": [("a", "b")]}, "x: tags must be a dict, got list"),
        ({"author": None}, "x: author must be a text, got NoneType"),
        ({"labels": "a100"}, "x: labels must be a list, got str"),
        ({"labels": [5]}, r"x: labels\[0\] must be a text, got int"),
        ({"trials": {"timed": 3}}, "x: trials must be a Trials, got dict"),
        ({"trials": kq.Trials(correctness="5")}, "x: trials.correctness must be a whole number, got str"),
        ({"trials": kq.Trials(correctness=True)}, "x: trials.correctness must be a whole number, got bool"),
        ({"time_limit_ms": 1.5}, "x: time_limit_ms must be a whole number, got float"),
        ({"problem": kq.Problem.of(MODEL, "relu", rtol="small")}, "x: problem.rtol must be a number, got str"),
        ({"label": 5}, "label must be a text, got int"),
    ],
)
def test_fields_of_a_wrong_type_are_refused_before_anything_is_sent(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(kq.BadInput, match=sentence):
        operations.checked("run", [submission(**{"label": "x"} | fields)])
    if "label" not in fields:  # evaluate() makes a label from the content's hash
        with pytest.raises(kq.BadInput, match=sentence.replace("x: ", "submission: ")):
            order_of([MODEL], **{"problem": problem()} | fields)


@pytest.mark.parametrize("labels", [["lab", "a100", "lab"], ("lab", "a100"), {"lab", "a100"}])
def test_labels_of_a_worker_may_have_any_order(labels: Any) -> None:
    (one,) = operations.checked("run", [submission(labels=labels)])
    assert one.labels == ["a100", "lab"]


def test_numbers_of_other_types_are_accepted() -> None:
    operations.checked("run", [submission(problem=kq.Problem.of(MODEL, "relu", rtol=1, atol=Fraction(1, 2)))])


@pytest.mark.parametrize(
    ("contract", "sentence"),
    [
        (5, "contract must be a dict or the text of one, got int"),
        ("x", "contract is not JSON: Expecting value"),
        ("[]", r"contract must be a JSON object, got '\[\]'"),
        ({"args": object()}, "contract is not JSON: Object of type object is not"),
        ({"value": float("nan")}, "contract is not JSON: Out of range float"),
    ],
)
def test_a_contract_that_is_not_a_json_object_is_refused(contract: Any, sentence: str) -> None:
    with pytest.raises(kq.BadInput, match=sentence):
        submission(backend="cuda", contract=contract)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("relu/größer", None),
        ("", "is empty"),
        ("x" * 201, "is 201 bytes long, the limit is 200"),
        ("ü" * 101, "is 202 bytes long, the limit is 200"),
        ("a\tb", "holds a control character at byte 1"),
        ("ü\x85", "holds a control character at byte 2"),
        ("ü\u202eb", "holds an invisible character at byte 2"),
        ("a\u200b", "holds an invisible character at byte 1"),
        ("a\ud800", "is not UTF-8 at byte 1"),
    ],
)
def test_names_follow_the_one_rule(name: str, complaint: str | None) -> None:
    assert name_error(name) == complaint


def test_batches_hold_as_many_jobs_as_allowed() -> None:
    jobs = [submission(f"relu/{i}") for i in range(SUBMIT_JOBS_MAX + 1)]
    made = list(batches("run", jobs))
    assert [len(batch.jobs) for batch in made] == [SUBMIT_JOBS_MAX, 1]
    assert [job for batch in made for job in batch.jobs] == jobs
    assert all(len(batch.blobs) == 2 for batch in made)  # equal files are sent once


def test_batches_hold_as_many_bytes_as_allowed() -> None:
    jobs = [submission(f"relu/{i}", text=f"#{i:03}" + "x" * (FILE_BYTES_MAX - 4)) for i in range(20)]
    made = list(batches("run", jobs))
    assert [len(batch.jobs) for batch in made] == [15, 5]
    for batch in made:
        assert sum(len(blob.bytes) for blob in batch.blobs) <= SUBMIT_BYTES_MAX
        named = {blob.hash for blob in batch.blobs}
        assert all(file.hash in named and job.problem.hash in named for job in batch.jobs for file in job.files)


def test_files_are_compressed_if_that_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = Hash.of(b"x"), Hash.of(b"x" * 1000)
    assert packed(small, b"x") == Blob(small, b"x", Packing.RAW)
    blob = packed(large, b"x" * 1000)
    assert (blob.packing, unpacked(blob.bytes)) == (Packing.ZSTD, b"x" * 1000) and len(blob.bytes) < 50
    assert zstandard.frame_content_size(blob.bytes) == 1000  # the broker requires the size in the frame
    monkeypatch.setattr(packing, "zstandard", None)
    assert packed(large, b"x" * 1000) == Blob(large, b"x" * 1000, Packing.RAW)


def test_a_job_that_is_too_large_for_a_batch_is_refused() -> None:
    files = [kq.SourceFile.of(f"{i}.py", f"#{i:03}" + "x" * (FILE_BYTES_MAX - 4)) for i in range(16)]
    big = kq.Submission(label="big", files=files, problem=problem())
    with pytest.raises(kq.BadInput, match="big: its files have .* bytes, at most 16777216 are allowed"):
        operations.checked("run", [big])


def test_a_problem_without_a_text_is_refused() -> None:
    with pytest.raises(kq.BadInput, match=r"Problem\('relu', ...\) has no text: Problem.of\(text, name\)"):
        kq.Problem("relu", "def f(): pass")


def test_a_field_of_the_problem_is_named_as_such() -> None:
    with pytest.raises(kq.BadInput, match=r"rtol is a field of the problem: Problem.read\(path, rtol=...\)"):
        kq.Submission.of("x", label="a", problem=kq.Problem.of("x", "x"), rtol=1e-3)  # type: ignore[call-arg]


def test_typed_arguments_are_the_fields_of_the_records() -> None:
    assert list(SubmissionFields.__annotations__) == list(OTHER_FIELDS)
    named = {one.name for one in fields(kq.Problem)} - {"name", "file", "hash", "content"}
    assert set(ProblemFields.__annotations__) == named
