"""What a producer asks kq to evaluate, a Submission against a Problem: core/submission.h and core/problem.h."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kq.errors import BadInput, BadSource
from kq.hash import NO_HASH, Hash
from kq.limits import FILE_BYTES_MAX
from kq.word import Word

LOCAL: Mapping[str, bool] = {"local": True}  # metadata of a field that stays here: it is not part of the record


IMPORTS_TRITON = re.compile(rb"^[ \t]*(import|from) triton(?![0-9A-Za-z_])", re.M)
COMPILES = re.compile(
    rb"^[ \t]*(from torch\.utils\.cpp_extension import|import torch\.utils\.cpp_extension|from torch\.utils import cpp_extension)(?![0-9A-Za-z_])",
    re.M,
)
HAS_JIT = re.compile(rb"^[ \t]*@jit(?![0-9A-Za-z_])", re.M)
TRITON_JIT = re.compile(rb"^[ \t]*@triton\.jit(?![0-9A-Za-z_])", re.M)
DEVICE_CODE = (".cu", ".ptx", ".cubin")
CONTRACT_KEYS = frozenset({"args", "io", "metadata", "kernel_name", "function_name", "class_name", "entry_point"})


class Backend(Word):
    """How the files are built and called."""

    TORCH = "torch"
    TRITON = "triton"
    CUDA = "cuda"
    TORCH_CUDA = "torch_cuda"
    MULTI_KERNEL = "multi_kernel"


class DeviceWish(Word):
    """Where a job wants to run; ANY takes a GPU where there is one, else the CPU."""

    ANY = "any"
    CPU = "cpu"
    CUDA = "cuda"


class Priority(Word):
    """A job of a higher priority goes first, but waiting counts as well."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Precision(Word):
    """What floating-point inputs, parameters and buffers are cast to before anything runs."""

    AS_GIVEN = "as_given"
    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"


class Baseline(Word):
    """What a time is compared with: the reference as it is, or under torch.compile."""

    EAGER = "eager"
    COMPILE = "compile"


class Profiler(Word):
    """What looks at the kernels of a submission once it has passed, in a pass of its own."""

    NONE = "none"
    NCU = "ncu"


@dataclass(frozen=True)
class SourceFile:
    """A file of a submission. What comes from the broker has no content: the hash names it."""

    name: str = ""  # a plain file name, no directory
    hash: Hash = NO_HASH
    content: bytes | None = field(default=None, repr=False, compare=False, metadata=LOCAL)

    @classmethod
    def of(cls, name: str, text: str | bytes) -> SourceFile:
        content = content_of(text, name)
        return cls(name, Hash.of(content), content)

    @classmethod
    def read(cls, path: str | Path) -> SourceFile:
        path = path_of(path)
        return cls.of(path.name, read_bytes(path))


@dataclass(frozen=True)
class Workload:
    """One shape and seed policy of a problem."""

    name: str = "default"


@dataclass(frozen=True)
class Problem:
    """What must be computed: a reference (Model, get_inputs, get_init_inputs) and how closely it must be met."""

    name: str = ""  # for people: "relu", "level1/19_ReLU"
    file: str = ""
    hash: Hash = NO_HASH
    precision: Precision = Precision.AS_GIVEN
    rtol: float | None = None  # otherwise by dtype
    atol: float | None = None
    workloads: list[Workload] = field(default_factory=lambda: [Workload()])
    content: bytes | None = field(default=None, repr=False, compare=False, metadata=LOCAL)

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", parsed(Precision, self.precision, "precision"))

    @classmethod
    def of(cls, text: str | bytes, name: str, file: str = "", **fields: Any) -> Problem:
        """A problem from its text; `fields` are precision, rtol, atol."""
        file = file or name.rpartition("/")[2] + ".py"
        try:
            content = content_of(text, file)
        except BadSource as error:
            raise BadInput(f"problem {error}") from None  # never the fault of a kernel
        return cls(name=name, file=file, hash=Hash.of(content), content=content, **fields)

    @classmethod
    def read(cls, path: str | Path, name: str = "", **fields: Any) -> Problem:
        path = path_of(path)
        content = read_bytes(path)
        problem = cls.of(content, name or path.stem, path.name, **fields)
        if missing := missing_from_problem(content):
            raise BadInput(
                f"{path}: a problem defines class Model, get_inputs and get_init_inputs; missing here: {', '.join(missing)}"
            )
        return problem

    @classmethod
    def given(cls, problem: Problem | str | Path) -> Problem:
        """Itself, or read from a path."""
        if isinstance(problem, str) and "\n" in problem:
            raise BadInput(
                "the problem is a text, where the path of its file is needed; Problem.of(text, name) takes a text"
            )
        if not isinstance(problem, Problem | str | Path):
            raise BadInput(f"a problem is a Problem or the path of its file, got {type(problem).__name__}")
        return problem if isinstance(problem, Problem) else cls.read(problem)


@dataclass(frozen=True)
class Trials:
    """Trials of one job. Each correctness or timed trial draws fresh inputs; every output is checked."""

    correctness: int = 5
    warmup: int = 2
    timed: int = 20
    baseline: Baseline = Baseline.EAGER
    profile: Profiler = Profiler.NONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "baseline", parsed(Baseline, self.baseline, "baseline"))
        object.__setattr__(self, "profile", parsed(Profiler, self.profile, "profile"))


@dataclass(frozen=True)
class Submission:
    """One job. Submitting an equal one again does nothing: the broker knows it by what would run, not by its label."""

    # Who and what, for people; not part of the key.
    label: str = ""  # unique inside a run
    author: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    # What is computed and how.
    backend: Backend = Backend.TORCH
    files: list[SourceFile] = field(default_factory=list)  # the first one is the entry
    problem: Problem = field(default_factory=Problem)
    device: DeviceWish = DeviceWish.ANY
    gpu_model: str = ""  # empty: any model; otherwise as the worker reports it, "NVIDIA H200"
    trials: Trials = field(default_factory=Trials)
    salt: str = ""  # any text here makes a new job out of finished work
    # When and where it may run; not part of the key.
    priority: Priority = Priority.NORMAL
    not_before_ms: int = 0  # Unix time; 0: at once
    deadline_ms: int = 0  # Unix time; a job that has not begun by then ends as expired; 0: none
    labels: list[str] = field(default_factory=list)  # a worker must have all of them; sorted
    # What is computed, again: part of the key where it is not 0.
    time_limit_ms: int = 0  # of its build and of its run, each; lowers what the worker allows; 0: the worker's limits

    def __post_init__(self) -> None:
        object.__setattr__(self, "backend", parsed(Backend, self.backend, "backend"))
        object.__setattr__(self, "device", parsed(DeviceWish, self.device, "device"))
        object.__setattr__(self, "priority", parsed(Priority, self.priority, "priority"))

    @classmethod
    def of(
        cls,
        source: str | Path | Sequence[SourceFile],
        *,
        label: str,
        problem: Problem | str | Path,
        backend: Backend | str | None = None,
        contract: Mapping[str, Any] | str | None = None,
        **fields: Any,
    ) -> Submission:
        """A submission of a source: its text, the Path of its file, or its files with the entry first.

        A CUDA source also needs its IOContract: as `contract`, or as X.json beside a Path to X.cu. Python may have one, which names
        what of it is called. `problem` is a Problem, or the path of its file. Without a `backend` it is told by the source, as
        kq-submit does.
        """
        for name in fields.keys() - OTHER_FIELDS.keys():
            said = (
                "gpu_model takes the model's whole name as its worker has it, 'NVIDIA H200'"
                if name == "gpu"
                else f"known are {', '.join(OTHER_FIELDS)}"
            )
            raise BadInput(f"there is no field {name!r}; {said}")
        known = parsed(Backend, backend, "backend") if backend is not None else None
        given = Problem.given(problem)
        files, known = files_of(source, known, contract)
        labels = fields.get("labels")
        if isinstance(labels, list | tuple | set) and all(
            isinstance(one, str) for one in labels
        ):  # in any order, as kq-submit takes them
            fields["labels"] = sorted(set(labels), key=lambda label: label.encode(errors="surrogatepass"))
        return cls(label=label, backend=known, files=files, problem=given, **fields)


# Those that Submission.of() takes as `fields`, in their order.
OTHER_FIELDS = {
    one.name: one for one in dataclasses.fields(Submission) if one.name not in ("label", "backend", "files", "problem")
}


def files_of(
    source: str | Path | Sequence[SourceFile], backend: Backend | None, contract: Mapping[str, Any] | str | None
) -> tuple[list[SourceFile], Backend]:
    if complaint := source_complaint(source):
        raise BadInput(complaint)
    if isinstance(source, str):
        # What comes with a contract and is no Python that one can tell is CUDA.
        files = [SourceFile.of("submission.py", source)]
        if backend is Backend.CUDA or (
            backend is None and contract is not None and recognised_backend(files[0]) is Backend.TORCH
        ):
            files = [SourceFile.of("submission.cu", source)]
    elif isinstance(source, Path):
        files = [SourceFile.read(source)]
        beside = source.with_suffix(".json")
        if contract is None and (source.suffix in DEVICE_CODE or (source.suffix == ".py" and is_contract(beside))):
            files.append(SourceFile.read(beside))
    else:
        files = list(source)
    if backend is None:
        backend = recognised_backend(files[0]) if files else Backend.TORCH
    if contract is not None and files:
        files.append(SourceFile.of(Path(files[0].name).stem + ".json", contract_text(contract)))
    if files and (complaint := backend_complaint(files[0].name, backend)):
        raise BadInput(f"{files[0].name}: {complaint}")
    if backend is Backend.MULTI_KERNEL and len(files) == 1:
        raise BadInput(
            f"{files[0].name}: backend multi_kernel needs a contract with entry_point, the function that is called; "
            "give it as contract, or as X.json beside X.py"
        )
    if backend is Backend.CUDA and len(files) == 1:
        raise BadInput(
            f"{files[0].name}: a cuda source needs its IOContract; give it as contract, or as X.json beside X.cu"
        )
    return files, backend


def backend_complaint(name: str, backend: Backend) -> str | None:
    """producer/submit/recognise.h: why a file cannot be of that backend."""
    is_device_code = name.endswith(DEVICE_CODE)
    if is_device_code == (backend is Backend.CUDA):
        return None
    if is_device_code:
        return f"backend {backend.value} takes a .py file, a .cu, .ptx or .cubin file is of backend cuda"
    return "backend cuda takes a .cu, .ptx or .cubin file with its .json beside it, Python that compiles CUDA itself is of backend torch_cuda"


def contract_text(contract: Mapping[str, Any] | str) -> str:
    """As a file has it. What it says is looked at by the worker; what is no JSON object says nothing."""
    if not isinstance(contract, Mapping | str):
        raise BadInput(f"contract must be a dict or the text of one, got {type(contract).__name__}")
    try:
        text = contract if isinstance(contract, str) else json.dumps(contract, allow_nan=False)
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"contract is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadInput(f"contract must be a JSON object, got {text[:64]!r}")
    return text


def source_complaint(source: Any) -> str | None:
    """What is wrong with its type: None and bytes come from programs that typed nothing."""
    if isinstance(source, str | Path):
        return None
    got = type(source).__name__ + ("; decode it" if isinstance(source, bytes) else "")
    if isinstance(source, Sequence) and not isinstance(source, bytes | bytearray):
        other = next((type(one).__name__ for one in source if not isinstance(one, SourceFile)), None)
        if other is None:
            return None
        got = f"a {type(source).__name__} of {other}"
    return f"a source is a text, a Path or a list of SourceFile, got {got}"


def missing_from_problem(content: bytes) -> list[str]:
    """producer/submit/recognise.h: what of a problem's three names the text nowhere says."""
    names = ("class Model", "get_inputs", "get_init_inputs")
    return [
        name for name in names if not re.search(rb"(?<![0-9A-Za-z_])" + name.encode() + rb"(?![0-9A-Za-z_])", content)
    ]


def recognised_backend(entry: SourceFile) -> Backend:
    """producer/submit/recognise.h: device code is cuda, Python that has a @triton.jit is triton, that imports from
    torch.utils.cpp_extension torch_cuda, the rest torch."""
    if entry.name.endswith(DEVICE_CODE):
        return Backend.CUDA
    text = entry.content or b""
    if TRITON_JIT.search(text) or (IMPORTS_TRITON.search(text) and HAS_JIT.search(text)):
        return Backend.TRITON
    return Backend.TORCH_CUDA if COMPILES.search(text) else Backend.TORCH


def is_contract(path: Path) -> bool:
    """Whether a file beside X.py is meant for it: other programs leave .json files too."""
    try:
        found = json.loads(read_bytes(path))
    except (BadInput, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and any(found.get(key) is not None for key in CONTRACT_KEYS)


def content_of(text: str | bytes, name: str) -> bytes:
    """The bytes of a source or problem, which no worker could do anything with unless they are text."""
    try:
        content = text.encode() if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise BadSource(f"{name}: holds characters that are no Unicode text; UTF-8 is needed") from None
    if not content.strip():
        raise BadSource(f"{name}: is empty")
    if len(content) > FILE_BYTES_MAX:
        raise BadSource(f"{name}: has more than the {FILE_BYTES_MAX} bytes that a file may have")
    if b"\0" in content and not name.endswith(".cubin"):
        raise BadSource(f"{name}: holds a NUL byte; a text is needed")
    return content


def path_of(path: str | Path) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"the path of a file is needed, got {type(path).__name__}")
    return Path(path)


def read_bytes(path: Path) -> bytes:
    """The file's bytes, and one more than it may have where it has too many."""
    try:
        if not path.is_file():
            raise BadInput(f"{str(path)[:200]!r} is no file; a path is needed")
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"{str(path)[:200]!r}: {error.strerror}; a path is needed") from None


W = TypeVar("W", bound=Word)


def parsed(kind: type[W], value: W | str, what: str) -> W:
    """The enumerator of that name."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(one.value) for one in kind)
        raise BadInput(f"{what} must be one of {known}, got {value!r}") from None
