"""Tests that Python repeats limits, names and defaults of the C++ code correctly, and that the documents do too."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

from conftest import program
from examples import ROOT

import kq
from kq.connection import link
from kq.records import limits
from kq.records.submission import Trials
from kq.records.text_enum import TextEnum
from kq.records.verdict import VerdictName
from kq.wire import messages

VERDICT_ROW = re.compile(
    r"\{VerdictName::(\w+), Fault::(\w+), (true|false), (true|false), (true|false),((?:\s*\"[^\"]*\")+)\}"
)
DOCUMENT_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (\w+) \|")


def header(path: str) -> str:
    return (ROOT / path).read_text()


def value_of(text: str, constant: str) -> int:
    (expression,) = re.findall(rf"\b{constant} =\s*([^;]+);", text)
    return int(eval(" ".join(re.sub(r"(?<=\d)u(ll)?|'", "", expression).split()), {}))


def test_limits_are_those_of_the_broker() -> None:
    text = header("core/limits.h")
    for name, value in vars(limits).items():
        if name.isupper():
            constant = "k" + name.title().replace("_", "")
            assert value_of(text, constant) == value, constant


def test_protocol_and_addresses_are_those_of_the_broker() -> None:
    assert value_of(header("core/messages.h"), "kProtocolVersion") == messages.PROTOCOL_VERSION
    assert f'kDefaultBrokerUrl = "{link.DEFAULT_BROKER_URL}"' in header("net/endpoint.h")
    assert value_of(header("net/endpoint.h"), "kIpcPathBytesMax") == link.IPC_PATH_BYTES_MAX
    assert f'kVersion = "{kq.__version__}"' in header("core/base/version.h")


def test_default_trials_are_those_of_the_core() -> None:
    text = header("core/submission.h")
    for name, value in vars(Trials()).items():
        kind = type(value).__name__
        if isinstance(value, TextEnum):
            declared = f"{kind} {name} = {kind}::{value.value}"
        elif isinstance(value, bool):
            declared = f"bool {name} = {str(value).lower()}"
        else:
            declared = f"std::uint32_t {name} = {value}"
        assert f"{declared};" in text


def test_verdicts_are_those_of_the_core() -> None:
    rows = VERDICT_ROW.findall(header("core/verdict.h"))
    assert [(name, fault) for name, fault, *_ in rows] == [(one.value, one.fault.value) for one in VerdictName]


def test_verdicts_document_lists_the_table_of_the_core() -> None:
    wanted = {name: (fault, ranks) for name, fault, _, ranks, _, _ in VERDICT_ROW.findall(header("core/verdict.h"))}
    written = [
        match.groups() for line in header("docs/user/verdicts.md").splitlines() if (match := DOCUMENT_ROW.match(line))
    ]
    assert {name: (fault, {"yes": "true", "no": "false"}[ranks]) for name, fault, ranks in written} == wanted
    assert len(written) == len(wanted)


def test_exit_codes_document_lists_those_of_the_core() -> None:
    (body,) = re.findall(r"enum class ExitCode : int \{(.*?)\};", header("core/base/error.h"), re.S)
    wanted = {number: name for name, number in re.findall(r"(\w+) = (\d+)", body)}
    assert dict(re.findall(r"^\| (\d+) \| `(\w+)` \|", header("docs/user/verdicts.md"), re.M)) == wanted


def test_wire_document_shows_the_golden_bytes() -> None:
    shown = re.findall(r"`(tests/golden/bytes/\S+)`.*?```\n(.*?)```", header("docs/design/wire.md"), re.S)
    assert len(shown) == 2
    for name, dump in shown:
        digits = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} +)+)", dump, re.M)
        assert bytes.fromhex("".join(digits)) == (ROOT / name).read_bytes()


def test_wire_document_names_every_message() -> None:
    text = header("docs/design/wire.md")
    for name in re.findall(
        r"AlternativeName<\w+> \{[^}]*= \"(\w+)\"", header("core/messages.h") + header("core/operations.h")
    ):
        assert f"`{name}`" in text, name


def rows_of(document: str) -> dict[str, str]:
    """Returns the first two columns of all tables of a document."""
    return dict(re.findall(r"^\| ([^|]*) \| ([^|]*) \|", header(document), re.M))


def assert_shows(cell: str, *numbers: int) -> None:
    digits = [int(number.replace(" ", "")) for number in re.findall(r"\d+(?: \d{3})*", cell)]
    assert all(number in digits for number in numbers), cell


def test_limits_of_the_documents_are_those_of_the_code() -> None:
    formats, wire = rows_of("docs/user/formats.md"), rows_of("docs/design/wire.md")
    assert_shows(formats["a file"], limits.FILE_BYTES_MAX)
    assert_shows(formats["files of a submission"], limits.FILES_PER_SUBMISSION_MAX)
    assert_shows(formats["a name: run, label, author, tag, salt, GPU model, file"], limits.NAME_BYTES_MAX)
    assert_shows(formats["tags"], limits.TAGS_MAX)
    assert_shows(formats["trials of each kind"], limits.TRIALS_MAX)
    core = header("core/limits.h")
    totals = [value_of(core, name) for name in ("kMessageItemsMax", "kMessageItemsTotalMax", "kMessageDepthMax")]
    assert_shows(wire["a message"], limits.MESSAGE_BYTES_MAX >> 20, *totals)
    assert_shows(wire["a `submit_batch`"], limits.SUBMIT_JOBS_MAX, limits.SUBMIT_BYTES_MAX >> 20)
    assert_shows(wire["a blob"], limits.FILE_BYTES_MAX >> 20)
    assert_shows(wire["a `status_query`"], limits.QUERY_SEQS_MAX)
    assert_shows(wire["rows in a `run_reply` or `board_reply`"], limits.QUERY_ROWS_MAX)
    plan = header("core/plan.h")
    assert_shows(formats["loading: import and constructor"], value_of(plan, "load_limit_ms") // 1000)
    assert_shows(formats["one call"], value_of(plan, "call_limit_ms") // 1000, value_of(plan, "call_limit_factor"))
    assert_shows(formats["inputs, outputs and parameters of a problem"], value_of(plan, "window_bytes_max") >> 30)
    assert_shows(formats["host memory of a kernel beyond that"], value_of(plan, "host_bytes_max") >> 30)


def blocks(document: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", header(document), re.M | re.S)


def test_contract_in_the_document_is_the_one_of_the_example() -> None:
    (contract,) = blocks("docs/user/formats.md", "json")
    example = header("examples/sweep/submissions/softmax/right_shared_cuda.json")
    assert json.loads(contract) == json.loads(example)


def test_examples_in_the_document_are_accepted_by_kq_submit(tmp_path: Path) -> None:
    submit = program("kq-submit")
    commands = [shlex.split(line) for block in blocks("docs/user/formats.md", "sh") for line in block.splitlines()]
    (lines,) = blocks("docs/user/formats.md", "jsonl")
    (tmp_path / "document.jsonl").write_text(lines)
    for folder in ("problems", "submissions"):
        (tmp_path / folder).symlink_to(ROOT / "examples/sweep" / folder)
    for command in [*commands, ["kq-submit", str(tmp_path / "document.jsonl")]]:
        done = subprocess.run([submit, *command[1:], "--dry-run"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert len(commands) == 4


TEXTS = {
    "plain": "import torch\n",
    "both": "import triton\n@triton.jit\ndef k(): ...\n",
    "inside": "  from triton import jit\n\t@jit\n  def k(): ...\n",
    "uncompiled": "import triton\n",
    "unimported": "@triton.jit\n",
    "others": "import tritonclient\n@triton.jitter\n",
    "spoken_of": "# import triton\nx = '@triton.jit'\n",
    "inline": "from torch.utils.cpp_extension import load_inline\nm = load_inline(name='m', cuda_sources='')\n",
}


def test_a_source_has_the_same_backend_here_and_in_kq_submit(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "raw.cu").write_text("__global__ void k() {}")
    (tmp_path / "raw.json").write_text(json.dumps(json.loads(blocks("docs/user/formats.md", "json")[0])))
    sources = sorted(tmp_path.glob("*.[pc][yu]"))
    problem = ROOT / "examples/sweep/problems/relu.py"
    command = [program("kq-submit"), *sources, "--problem", problem, "--dry-run", "--json", "--run", "r"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["jobs"]
    here = {path.stem: kq.Submission.of(path, label=path.stem, problem=problem).backend.value for path in sources}
    assert here == {job["label"]: job["backend"] for job in told}
