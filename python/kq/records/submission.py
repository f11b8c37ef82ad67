"""A Submission, which is a kernel to evaluate against a Problem, and how it is built from texts and files.

The records are the Python twins of core/submission.h and core/problem.h. The functions below them follow
producer/formats/recognise.h, so that a source gets the same backend here and from kq-submit.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kq.errors import BadInput, BadSource
from kq.records.arguments import ProblemFields, SubmissionFields
from kq.records.hash import NO_HASH, Hash
from kq.records.limits import FILE_BYTES_MAX
from kq.records.text_enum import TextEnum

if TYPE_CHECKING:
    from typing_extensions import Unpack

LOCAL: Mapping[str, bool] = {"local": True}  # metadata of a field that is kept in this process and is never sent


IMPORTS_TRITON = re.compile(rb"^[ \t]*(import|from) triton(?![0-9A-Za-z_])", re.M)
COMPILES = re.compile(
    rb"^[ \t]*(from torch\.utils\.cpp_extension import|import torch\.utils\.cpp_extension|"
    rb"from torch\.utils import cpp_extension)(?![0-9A-Za-z_])",
    re.M,
)
HAS_JIT = re.compile(rb"^[ \t]*@jit(?![0-9A-Za-z_])", re.M)
TRITON_JIT = re.compile(rb"^[ \t]*@triton\.jit(?![0-9A-Za-z_])", re.M)
TORCH_MODULE = re.compile(rb"^[ \t]*PYBIND11_MODULE(?![0-9A-Za-z_])", re.M)
# The entry of a submission whose source is an extension of torch. producer/formats/single_file.cc has the same.
EXTENSION_ENTRY = r"""import inspect
import os
import re

from torch.utils.cpp_extension import load

extension = load(name="extension", sources=[os.path.splitext(__file__)[0] + ".cu"])

from kq_problem import Model  # of the problem's file

# A model of robust-kbench calls `fn` with the inputs and whatever else its kernel takes.
fn = inspect.signature(Model.forward).parameters.get("fn")
# The docstring that pybind makes begins with "forward(x: torch.Tensor, eps: float = 1e-05) -> ".
signature = (extension.forward.__doc__ or "").partition("\n")[0].partition(") -> ")[0]
arguments = re.split(r"[(,] ?\w+: ", signature)[1:]
least = sum(" = " not in argument for argument in arguments)


class ModelNew(Model):
    def forward(self, *inputs):
        if fn is not None and callable(fn.default):
            return super().forward(*inputs, fn=extension.forward)
        if not hasattr(self, "kq_weights"):
            weights = list(self.parameters())
            is_taken = least <= len(inputs) + len(weights) <= len(arguments)
            self.kq_weights = weights if is_taken else []
        return extension.forward(*inputs, *self.kq_weights)
"""
DEVICE_CODE = (".cu", ".ptx", ".cubin")
PATH_TEXT = re.compile(r"[^\s()=;]+\.(py|cu|ptx|cubin)")  # a single word with such an end is no kernel
# The keys of an IOContract (docs/user/formats.md), which says how a bare kernel is called or which function is the
# entry.
CONTRACT_KEYS = frozenset({"args", "io", "metadata", "kernel_name", "function_name", "class_name", "entry_point"})


class Backend(TextEnum):
    """How the files of a submission are built and called."""

    TORCH = "torch"
    TRITON = "triton"
    CUDA = "cuda"
    TORCH_CUDA = "torch_cuda"
    MULTI_KERNEL = "multi_kernel"
    EVAL_PROGRAM = "eval_program"  # the problem's own program checks and times; its result is self-reported


class DeviceWish(TextEnum):
    """The kind of device that a job asks for. ANY means a GPU if the worker has one, else the CPU."""

    ANY = "any"
    CPU = "cpu"
    CUDA = "cuda"


class Priority(TextEnum):
    """The priority of a job. Jobs of higher priority run first, but a job's priority also rises while it waits."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Precision(TextEnum):
    """The type to which floating-point inputs, parameters and buffers are cast before anything runs."""

    AS_GIVEN = "as_given"
    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"


class Baseline(TextEnum):
    """What the time is compared with: the reference in eager mode, or under torch.compile."""

    EAGER = "eager"
    COMPILE = "compile"


class Streams(TextEnum):
    """What becomes of a submission that makes CUDA streams of its own."""

    REJECT = "reject"
    JOINED = "joined"  # it may use streams that it joins before a call returns


class Graphs(TextEnum):
    """What becomes of a submission that captures or replays CUDA graphs."""

    REJECT = "reject"
    ALLOW = "allow"


class AllowedPrecision(TextEnum):
    """A precision to which a submission may round its inputs and parameters."""

    NONE = "none"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"


class Profiler(TextEnum):
    """The profiler that runs in a separate pass after a submission has passed."""

    NONE = "none"
    NCU = "ncu"


@dataclass(frozen=True)
class SourceFile:
    """A file of a submission. In a record from the broker the content is None and only the hash identifies it."""

    name: str = ""  # a plain file name without a directory
    hash: Hash = NO_HASH
    content: bytes | None = field(default=None, repr=False, compare=False, metadata=LOCAL)

    @classmethod
    def of(cls, name: str, text: str | bytes) -> SourceFile:
        """Makes a file from its text; raises BadSource if the text cannot be a source."""
        content = content_of(text, name)
        return cls(name, Hash.of(content), content)

    @classmethod
    def read(cls, path: str | Path) -> SourceFile:
        """Reads a file; raises BadInput if it cannot be read, BadSource if its text cannot be a source."""
        path = path_of(path)
        return cls.of(path.name, read_bytes(path))


@dataclass(frozen=True)
class Workload:
    """A selection among the workloads of a problem: a name, or a pattern with * and ?. "default" selects all."""

    name: str = "default"


@dataclass(frozen=True)
class Problem:
    """What a kernel must compute: a reference (Model, get_inputs) and the tolerances."""

    name: str = ""  # a name for people, such as "relu" or "level1/19_ReLU"
    file: str = ""
    hash: Hash = NO_HASH
    precision: Precision = Precision.AS_GIVEN
    rtol: float | None = None  # None: the default of the output's dtype
    atol: float | None = None  # None: the default of the output's dtype
    # The workloads that a job runs: those that any of these selects. Only a job that runs all is on a board.
    workloads: list[Workload] = field(default_factory=lambda: [Workload()])
    device_count: int = 1  # GPUs that a problem's own program needs at once
    content: bytes | None = field(default=None, repr=False, compare=False, metadata=LOCAL)

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", parsed(Precision, self.precision, "precision"))
        if self.content is None and self.hash == NO_HASH and (self.name or self.file):
            raise BadInput(
                f"Problem({self.name!r}, ...) has no text: Problem.of(text, name) makes a problem from a text, "
                "Problem.read(path) from a file"
            )

    @classmethod
    def of(cls, text: str | bytes, name: str, file: str = "", **fields: Unpack[ProblemFields]) -> Problem:
        """Makes a problem from its text. `fields` are those of ProblemFields, such as rtol."""
        file = file or name.rpartition("/")[2] + ".py"
        try:
            content = content_of(text, file)
        except BadSource as error:
            raise BadInput(f"problem {error}") from None  # not BadSource, which would mean that a kernel is at fault
        return cls(name=name, file=file, hash=Hash.of(content), content=content, **cast(dict[str, Any], fields))

    @classmethod
    def read(cls, path: str | Path, name: str = "", **fields: Unpack[ProblemFields]) -> Problem:
        """Reads a problem from its file. `fields` are those of ProblemFields, such as rtol."""
        path = path_of(path)
        content = read_bytes(path)
        problem = cls.of(content, name or path.stem, path.name, **fields)
        if missing := missing_from_problem(content):
            raise BadInput(f"{path}: a problem defines class Model and get_inputs; missing here: {', '.join(missing)}")
        return problem

    @classmethod
    def given(cls, problem: Problem | str | Path) -> Problem:
        """Returns the problem itself, or reads it if a path is given; raises BadInput for anything else."""
        if isinstance(problem, str) and "\n" in problem:
            raise BadInput(
                "the problem is a text, but the path of its file is needed; Problem.of(text, name) takes a text"
            )
        if not isinstance(problem, Problem | str | Path):
            raise BadInput(f"a problem is a Problem or the path of its file, got {type(problem).__name__}")
        return problem if isinstance(problem, Problem) else cls.read(problem)


@dataclass(frozen=True)
class Trials:
    """The numbers of trials of one job. Each correctness or timed trial draws new inputs; every output is checked."""

    correctness: int = 5
    warmup: int = 2
    timed: int = 20
    baseline: Baseline = Baseline.EAGER
    profile: Profiler = Profiler.NONE
    need_extensions: bool = False  # an extension that does not compile ends the job even if the submission catches that
    streams: Streams = Streams.REJECT
    graphs: Graphs = Graphs.REJECT

    def __post_init__(self) -> None:
        object.__setattr__(self, "baseline", parsed(Baseline, self.baseline, "baseline"))
        object.__setattr__(self, "profile", parsed(Profiler, self.profile, "profile"))
        object.__setattr__(self, "streams", parsed(Streams, self.streams, "streams"))
        object.__setattr__(self, "graphs", parsed(Graphs, self.graphs, "graphs"))


@dataclass(frozen=True)
class TruthRule:
    """How outputs are measured that are not within the tolerance of the reference's: they are right if their errors
    against the truth, the reference in float64, are at most so many times those of the reference.
    """

    used: bool = True
    rms: float = 2  # times the reference's RMS error
    max: float = 4  # times the reference's largest error
    allow_precision: AllowedPrecision = AllowedPrecision.NONE

    def __post_init__(self) -> None:
        value = parsed(AllowedPrecision, self.allow_precision, "allow_precision")
        object.__setattr__(self, "allow_precision", value)


@dataclass(frozen=True)
class Submission:
    """One kernel to evaluate. The broker identifies its job by a key, a hash of what would run.

    Submitting a submission with the key of an existing job creates no new job, whatever its label is.
    """

    # Names for people; not part of the key.
    label: str = ""  # unique inside a run
    author: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    # What is computed and how; part of the key.
    backend: Backend = Backend.TORCH
    files: list[SourceFile] = field(default_factory=list)  # the first file is the entry
    problem: Problem = field(default_factory=Problem)
    device: DeviceWish = DeviceWish.ANY
    gpu_model: str = ""  # the model as the worker reports it, such as "NVIDIA H200"; empty: any model
    trials: Trials = field(default_factory=Trials)
    salt: str = ""  # only changes the key: with a new text the same submission becomes a new job
    # When and where the job may run; not part of the key.
    priority: Priority = Priority.NORMAL
    not_before_ms: int = 0  # Unix time; 0: immediately
    deadline_ms: int = 0  # Unix time; a job that has not started by then ends as expired; 0: no deadline
    labels: list[str] = field(default_factory=list)  # labels that a worker must have, all of them; sorted
    # The limit for the build and the limit for the run; it can only lower the worker's limits. 0: the worker's limits.
    # Part of the key unless it is 0.
    time_limit_ms: int = 0
    truth: TruthRule = field(default_factory=TruthRule)  # part of the key unless it is the default

    def __post_init__(self) -> None:
        object.__setattr__(self, "backend", parsed(Backend, self.backend, "backend"))
        object.__setattr__(self, "device", parsed(DeviceWish, self.device, "device"))
        object.__setattr__(self, "priority", parsed(Priority, self.priority, "priority"))

    @classmethod
    def of(
        cls,
        source: str | Path | Sequence[SourceFile],
        *,
        problem: Problem | str | Path,
        label: str | None = None,
        backend: Backend | str | None = None,
        contract: Mapping[str, Any] | str | None = None,
        **fields: Unpack[SubmissionFields],
    ) -> Submission:
        """Makes a submission of a source: its text, the Path of its file, or its files with the entry first.

        A CUDA source needs an IOContract, given as `contract` or as the file X.json beside X.cu. A Python source may
        have one, which names the function to call. `problem` is a Problem or the path of its file. Without a `label`
        that of a Path is the name of its file without the ending. Without a `backend` the backend is recognised from
        the source, as kq-submit does.
        """
        for name in fields.keys() - OTHER_FIELDS.keys():
            raise BadInput(unknown_field(name, OTHER_FIELDS))
        known = parsed(Backend, backend, "backend") if backend is not None else None
        given = Problem.given(problem)
        files, known = files_of(source, known, contract)
        if label is None:
            if not isinstance(source, Path):
                raise BadInput("label is missing: the name of the row in its run; only a Path has one of its own")
            label = source.stem
        others = cast(dict[str, Any], fields)
        labels = others.get("labels")
        # The labels may be given in any order, as in kq-submit; other types are left to validation.
        if isinstance(labels, list | tuple | set) and all(isinstance(one, str) for one in labels):
            others["labels"] = sorted(set(labels), key=lambda label: label.encode(errors="surrogatepass"))
        return cls(label=label, backend=known, files=files, problem=given, **others)


def unknown_field(name: str, known: Iterable[str]) -> str:
    """Returns the sentence about a name that is not in `known`, with the place of a field of another record."""
    if name == "gpu":
        said = "gpu_model takes the model's whole name as its worker reports it, such as 'NVIDIA H200'"
    elif name in ("rtol", "atol", "precision", "workloads", "device_count"):
        said = f"{name} is a field of the problem: Problem.read(path, {name}=...)"
    elif name in {one.name for one in dataclasses.fields(Trials)}:
        said = f"{name} is a field of Trials: trials=kq.Trials({name}=...)"
    else:
        said = f"known fields are {', '.join(known)}"
    return f"there is no field {name!r}; {said}"


# The fields that Submission.of() takes as `fields`, in the order of their declaration.
OTHER_FIELDS = {
    one.name: one for one in dataclasses.fields(Submission) if one.name not in ("label", "backend", "files", "problem")
}


def files_of(
    source: str | Path | Sequence[SourceFile], backend: Backend | None, contract: Mapping[str, Any] | str | None
) -> tuple[list[SourceFile], Backend]:
    """Returns the files and the backend of a source; raises BadInput if they do not fit together."""
    if wrong := source_error(source):
        raise BadInput(wrong)
    if isinstance(source, str):
        # A text with a contract and without marks of a Python backend is taken as CUDA.
        files = [SourceFile.of("submission.py", source)]
        if backend is Backend.CUDA or (
            backend is None and contract is not None and recognised_backend(files[0]) is Backend.TORCH
        ):
            files = [SourceFile.of("submission.cu", source)]
        if backend is None and contract is None and is_torch_extension(files[0]):
            files = extension_files(SourceFile.of("submission.cu", source))
    elif isinstance(source, Path):
        files = [SourceFile.read(source)]
        beside = source.with_suffix(".json")
        if contract is None and source.suffix == ".cu" and not beside.is_file() and is_torch_extension(files[0]):
            files = extension_files(files[0])
        elif contract is None and (source.suffix in DEVICE_CODE or (source.suffix == ".py" and is_contract(beside))):
            files.append(SourceFile.read(beside))
    else:
        files = list(source)
    if backend is None:
        backend = recognised_backend(files[0]) if files else Backend.TORCH
    if contract is not None and files:
        files.append(SourceFile.of(Path(files[0].name).stem + ".json", contract_text(contract)))
    if files and (wrong := backend_error(files[0].name, backend)):
        raise BadInput(f"{files[0].name}: {wrong}")
    if backend is Backend.MULTI_KERNEL and len(files) == 1:
        raise BadInput(
            f"{files[0].name}: backend multi_kernel needs a contract whose entry_point names the function to call; "
            "give the contract as contract, or as X.json beside X.py"
        )
    if backend is Backend.CUDA and len(files) == 1:
        raise BadInput(
            f"{files[0].name}: a cuda source needs its IOContract; "
            "give the contract as contract, or as X.json beside X.cu"
        )
    return files, backend


def backend_error(name: str, backend: Backend) -> str | None:
    """Returns why a file of this name cannot be the entry of the backend, or None."""
    is_device_code = name.endswith(DEVICE_CODE)
    if is_device_code == (backend is Backend.CUDA):
        return None
    if is_device_code:
        return f"backend {backend.value} takes a .py file; a .cu, .ptx or .cubin file needs backend cuda"
    return (
        "backend cuda takes a .cu, .ptx or .cubin file with its .json beside it; "
        "Python that compiles CUDA itself needs backend torch_cuda"
    )


def contract_text(contract: Mapping[str, Any] | str) -> str:
    """Returns the contract as JSON text; raises BadInput unless it is a JSON object. The worker checks its contents."""
    if not isinstance(contract, Mapping | str):
        raise BadInput(f"contract must be a dict or the text of one, got {type(contract).__name__}")
    try:
        text = contract if isinstance(contract, str) else json.dumps(contract, allow_nan=False)
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"contract is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadInput(f"contract must be a JSON object, got {text[:64]!r}")
    return text


def source_error(source: Any) -> str | None:
    """Returns an error text if a source has a wrong type or is a path as text, else None. Callers may ignore the type
    annotations.
    """
    if isinstance(source, str) and PATH_TEXT.fullmatch(source):
        return f"{source!r} is the name of a file, not the text of a kernel: pass Path({source!r})"
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
    """Returns which names of a problem do not occur in its text; get_input_groups stands for get_inputs."""

    def is_missing(*names: str) -> bool:
        pattern = rf"(?<![0-9A-Za-z_])({'|'.join(names)})(?![0-9A-Za-z_])"
        return not re.search(pattern.encode(), content)

    lacks_inputs = is_missing("get_inputs", "get_input_groups")
    return ["class Model"] * is_missing("class Model") + ["get_inputs"] * lacks_inputs


def is_torch_extension(source: SourceFile) -> bool:
    """Returns whether the text of a .cu has its own module for Python, as torch.utils.cpp_extension.load builds it."""
    as_python = SourceFile("", source.hash, source.content)
    return TORCH_MODULE.search(source.content or b"") is not None and recognised_backend(as_python) is Backend.TORCH


def extension_files(source: SourceFile) -> list[SourceFile]:
    """Returns the files of a submission whose source X.cu is an extension of torch: X.py, which builds the extension
    and calls its function forward, and the source.
    """
    return [SourceFile.of(Path(source.name).stem + ".py", EXTENSION_ENTRY), source]


def recognised_backend(entry: SourceFile) -> Backend:
    """Returns the backend of an entry file.

    Device code is cuda. Python with @triton.jit is triton, Python that imports from torch.utils.cpp_extension is
    torch_cuda, and other Python is torch.
    """
    if entry.name.endswith(DEVICE_CODE):
        return Backend.CUDA
    text = entry.content or b""
    if TRITON_JIT.search(text) or (IMPORTS_TRITON.search(text) and HAS_JIT.search(text)):
        return Backend.TRITON
    return Backend.TORCH_CUDA if COMPILES.search(text) else Backend.TORCH


def is_contract(path: Path) -> bool:
    """Returns whether the file X.json beside X.py is an IOContract; other programs write .json files too."""
    try:
        found = json.loads(read_bytes(path))
    except (BadInput, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and any(found.get(key) is not None for key in CONTRACT_KEYS)


def content_of(text: str | bytes, name: str) -> bytes:
    """Returns the bytes of a source or problem; raises BadSource if they are empty, too many, or no text."""
    try:
        content = text.encode() if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError:
        raise BadSource(f"{name}: holds characters that are not valid Unicode; UTF-8 is needed") from None
    if not content.strip():
        raise BadSource(f"{name}: is empty")
    if len(content) > FILE_BYTES_MAX:
        raise BadSource(f"{name}: has more than the {FILE_BYTES_MAX} bytes that a file may have")
    if b"\0" in content and not name.endswith(".cubin"):
        raise BadSource(f"{name}: holds a NUL byte; a text is needed")
    return content


def path_of(path: str | Path) -> Path:
    """Returns the argument as a Path; raises BadInput if it is no path."""
    if not isinstance(path, str | os.PathLike):
        raise BadInput(f"the path of a file is needed, got {type(path).__name__}")
    return Path(path)


def read_bytes(path: Path) -> bytes:
    """Returns the file's bytes, but at most one more than a file may have."""
    try:
        if not path.is_file():
            raise BadInput(f"{str(path)[:200]!r} is not a file; a path is needed")
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"{str(path)[:200]!r}: {error.strerror}; a path is needed") from None


E = TypeVar("E", bound=TextEnum)


def parsed(kind: type[E], value: E | str, what: str) -> E:
    """Returns the member of `kind` with this text; raises BadInput, which lists the members, if there is none."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(one.value) for one in kind)
        raise BadInput(f"{what} must be one of {known}, got {value!r}") from None
