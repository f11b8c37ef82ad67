"""The tracing child: runs a submission until its calls of load_inline and load are known, and records these calls.

Nothing is compiled: a loader returns a placeholder module, each of whose functions returns its first tensor. The
submission may fail with such a module; the calls that it made before its failure count. The child writes four files,
which gpu_worker/compile reads:

    out/calls      JSON: the calls (loader_call.Call), their keys, and their keys without the names of the extensions
    out/complaint  a sentence about the first call that kq does not build, whether or not the file catches the error
    out/raised     JSON: {"key": a hash, "name": of the extension, "error": a sentence} for each call whose arguments
                   torch does not take
    out/uncaught   the key of a call that does not compile or whose arguments are wrong, if its error leaves the file

The manifest (manifest.py) of an earlier trace of the same file names the calls that are known not to compile. They
raise what torch raises, so that the calls of the file's fallback are recorded.

The child imports the submission's entry file and so records the calls at import. If a file of the submission has a call
that the import did not reach, the child constructs and calls the entry point (by default the class ModelNew) on tensors
without memory, and so records the calls in __init__() and forward() too. The process has no GPU, but torch.cuda reports
one of the job's architecture, so that a source that depends on the architecture is the same as in the job.

Code of the submission can change everything in this process. The worker therefore reads these files as untrusted bytes.
"""

import ast
import contextlib
import hashlib
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from harness.children import entry_point
from harness.children.argument_binding import ProblemSignature
from harness.children.job import Job
from harness.children.model_file import Problem, import_entry, parameter_names
from harness.children.tensors import TensorSpec
from harness.extensions.loader_call import CALLS_MAX, NAME_BYTES_MAX, BadCall, Call, replace_loaders
from harness.extensions.manifest import Manifest
from harness.sandbox import job_files
from harness.values.value_tree import describe_result

LOADERS = ("load_inline", "load")
MEMORY_BYTES = 140 << 30  # the memory that torch.cuda reports; about that of an H200
CAUSES_MAX = 16  # the maximum length of a chain of exceptions that is followed
# By method of a tensor that returns a number: what it returns where the tensor has no memory.
NUMBERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "item": lambda tensor: 1.0 if tensor.is_floating_point() else tensor.dtype == torch.bool or 1,
    "__bool__": lambda _: True,
    "__float__": lambda _: 1.0,
    "__int__": lambda _: 1,
    "__index__": lambda _: 1,
}
ERROR_CHARS_MAX = 1000  # of the sentence about a call whose arguments torch does not take


def prepare() -> None:
    """Imports in the zygote, before its first tracing child, the 800 modules that the first FakeTensorMode imports."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    FakeTensorMode()


class CallRecorder:
    """Records the loader calls of a file, and raises for those that are known not to compile."""

    def __init__(self, job: Job, known: Manifest | None = None) -> None:
        self.job = job
        self.known = known or Manifest()
        self.calls: list[Call] = []
        self.error_text = ""
        self.raised: list[tuple[BaseException, str]] = []  # errors of calls that fail, and their keys
        self.argument_errors: dict[str, dict[str, str]] = {}  # by key
        self.raised_places: set[str] = set()  # of calls whose arguments torch does not take
        self.uncaught_key = ""
        own = [path for path in sorted(job.given.rglob("*.py")) if path.name != job.problem]
        self.places = [places for path in own for places in call_places(path)]

    def record(self, call: Call) -> Any:
        if all(call.key() != known.key() for known in self.calls):
            if len(self.calls) < CALLS_MAX:
                self.calls.append(call)
            elif all(call.similar_key() != known.similar_key() for known in self.calls):
                raise self.refused(f"{call.place}: load_inline and load are called more than {CALLS_MAX} times")
        key = self.known.key_of(call)
        error = self.known.error_of(call, key) if key is not None else None
        if error is not None and key is not None:
            self.raised.append((error, key))
            raise error
        if not call.is_python_module:
            return "/kq/src/extension.so"  # torch returns the path of the library, which it has loaded
        return PlaceholderModule(call.name)

    def refused(self, text: str) -> BadCall:
        self.error_text = self.error_text or text
        return BadCall(text)

    def note_raised(self, name: str, place: str, text: str, error: BaseException) -> None:
        """Notes a call whose arguments torch does not take. A call that is made again counts once."""
        noted = {"name": utf_8(name[:NAME_BYTES_MAX]), "error": utf_8(f"{place}: {text}"[:ERROR_CHARS_MAX])}
        key = hashlib.sha256(json.dumps(noted).encode()).hexdigest()
        if key not in self.argument_errors and len(self.argument_errors) == CALLS_MAX:
            return
        self.argument_errors[key] = noted
        self.raised_places.add(place)
        self.raised.append((error, key))

    def note_uncaught(self, error: BaseException, is_at_import: bool) -> None:
        """Notes the call whose error left the file, itself or as the reason of another error. Outside of an import that
        other error must come from a `raise` in the submission, because tensors without memory make a fallback fail too.
        """
        seen: BaseException | None = error
        for _ in range(CAUSES_MAX):
            if seen is None or self.uncaught_key:
                return
            self.uncaught_key = next((key for raised, key in self.raised if raised is seen), "")
            is_raised_there = is_at_import or is_of_raise(seen, self.job.source)
            seen = seen.__cause__ or (seen.__context__ if is_raised_there else None)

    def has_unreached_call(self) -> bool:
        """Returns whether a file of the submission has a call of a loader that was not made."""
        seen = {call.place for call in self.calls} | self.raised_places
        return any(not seen & set(places) for places in self.places)

    def save(self) -> None:
        calls = {
            "calls": [json.loads(call.text()) for call in self.calls],
            "keys": [call.key() for call in self.calls],
            "similar_keys": [call.similar_key() for call in self.calls],
        }
        (self.job.out / "calls").write_text(json.dumps(calls))
        raised = [{"key": key, **noted} for key, noted in self.argument_errors.items()]
        (self.job.out / "raised").write_text(json.dumps(raised))
        (self.job.out / "complaint").write_text(self.error_text, errors="replace")
        (self.job.out / "uncaught").write_text(self.uncaught_key)


class PlaceholderModule(types.ModuleType):
    """A module that has a function of every name. Each function returns its first tensor argument, or None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*args: Any, **_: Any) -> Any:
            return next((value for value in args if isinstance(value, torch.Tensor)), None)

        return function


def run(job: Job) -> int:
    recorder = CallRecorder(job, Manifest.read(job.given))
    replace_loaders(recorder.record, job.source, recorder.refused, recorder.note_raised)
    pretend_gpu(job.arch)
    pretend_tensors_on_gpu()
    job_files.prepare(job, job.entry)
    try:
        with TensorsOnHost(), errors_logged(recorder, is_at_import=True):
            module = import_entry(job)
        if recorder.has_unreached_call() and recorder.error_text == "" and recorder.uncaught_key == "":
            with TensorsOnHost(), errors_logged(recorder, is_at_import=False):
                call_model(job, module, recorder)
    finally:
        recorder.save()
    return 0


def utf_8(text: str) -> str:
    return text.encode(errors="replace").decode()


@contextlib.contextmanager
def errors_logged(recorder: CallRecorder, is_at_import: bool) -> Any:
    """Logs whatever is raised, which ends this part of the trace. The submission child reports the same error in the
    job.
    """
    try:
        yield
    except BaseException as error:
        recorder.note_uncaught(error, is_at_import)
        print(f"kq: tracing of extensions ended: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)


def call_model(job: Job, module: types.ModuleType, recorder: CallRecorder) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        workload_count = len(Problem(job.source / job.problem).workloads)
        for workload in range(workload_count):
            if workload == 0 or recorder.has_unreached_call():
                call_workload(job, module, recorder, workload)


def call_workload(job: Job, module: types.ModuleType, recorder: CallRecorder, workload: int) -> None:
    problem = Problem(job.source / job.problem, workload)
    names = entry_point.read_contract(job.given / job.entry)
    wanted, is_class = entry_point.find_target(module, names, job.entry, job.backend)
    args, kwargs = problem.init_arguments()
    call = entry_point.method_of(wanted(*args, **kwargs), names) if is_class else wanted
    if recorder.has_unreached_call():
        inputs = problem.get_inputs()
        entry_point.with_arguments(call, names, signature_of(problem, inputs))(*inputs)


def signature_of(problem: Problem, inputs: list[Any]) -> ProblemSignature:
    """Returns the signature of the problem, found by calling its model."""
    args, kwargs = problem.init_arguments()
    model = problem.model_class(*args, **kwargs)
    names = parameter_names(model.forward, len(inputs))
    given = {name: spec(value) if isinstance(value, torch.Tensor) else value for name, value in zip(names, inputs)}
    states = {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
    outputs = [value for _, value in describe_result(model(*inputs))[0] if isinstance(value, torch.Tensor)]
    return ProblemSignature(given, [spec(output) for output in outputs], states, torch.device("cpu"))


def spec(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(tensor.dtype, tensor.shape)


def pretend_gpu(arch: str) -> None:
    """Replaces the functions of torch.cuda that a file may call before it chooses a source or a flag."""
    number = "".join(c for c in arch.removeprefix("sm_") if c.isdigit()) or "90"
    capability = (int(number[:-1]), int(number[-1]))
    properties = types.SimpleNamespace(
        name="GPU",
        major=capability[0],
        minor=capability[1],
        total_memory=MEMORY_BYTES,
        multi_processor_count=132,
        warp_size=32,
        shared_memory_per_block_optin=227 << 10,
        regs_per_multiprocessor=1 << 16,
        max_threads_per_multi_processor=2048,
    )
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda device=None: capability,
        "get_device_name": lambda device=None: "GPU",
        "get_device_properties": lambda device=None: properties,
        "get_arch_list": lambda: [f"sm_{number}"],
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "set_device": lambda device: None,
        "current_stream": lambda device=None: types.SimpleNamespace(cuda_stream=0),
        "_exchange_device": lambda device: 0,  # for "with torch.cuda.device(0)"
        "_maybe_exchange_device": lambda device: 0,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)


def is_gpu(value: Any) -> bool:
    return isinstance(value, str | torch.device) and str(value).startswith("cuda")


class TensorsOnHost(TorchFunctionMode):
    """Makes on the host what a file makes on a GPU, and takes the numbers in tensors without memory for one. A call
    that follows `torch.empty(1, device="cuda")` or `weight.sum().item()` is then recorded too.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        named = dict(kwargs or {})
        if is_gpu(named.get("device")):
            named["device"] = "cpu"
        try:
            return func(*args, **named)
        except RuntimeError as error:
            number = NUMBERS.get(getattr(func, "__name__", ""))
            if number is None or type(error).__name__ != "DataDependentOutputException":
                raise
            return number(args[0])


def pretend_tensors_on_gpu() -> None:
    """Makes tensors say that they are on a GPU, and makes moving them there return them as they are. A call behind
    `x = x.cuda()` or `assert x.is_cuda` is then recorded too.
    """
    move = torch.Tensor.to

    def to(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        positional = [tensor.device if is_gpu(value) else value for value in args]
        named = {name: tensor.device if is_gpu(value) else value for name, value in kwargs.items()}
        return move(tensor, *positional, **named)

    torch.Tensor.to = to  # type: ignore[method-assign,assignment]
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor  # type: ignore[method-assign,assignment,misc]
    torch.Tensor.is_cuda = property(lambda _: True)  # type: ignore[assignment]


def is_of_raise(error: BaseException, folder: Path) -> bool:
    """Returns whether a statement `raise` in a file below `folder` raised the error."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not last.tb_frame.f_code.co_filename.startswith(f"{folder}/"):
        return False
    try:
        tree = ast.parse(Path(last.tb_frame.f_code.co_filename).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    line = last.tb_lineno
    return any(isinstance(node, ast.Raise) and node.lineno <= line <= (node.end_lineno or 0) for node in ast.walk(tree))


def call_places(path: Path) -> list[list[str]]:
    """Returns the possible places ("add.py:17") of every call of a loader in the file: Python may report a call over
    several lines at any of these lines. A file that does not name torch's module of loaders has no such call.
    """
    try:
        text = path.read_bytes()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    if b"cpp_extension" not in text:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and loader_name(node.func) is not None:
            found.append([f"{path.name}:{line}" for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)])
    return found


def loader_name(function: ast.expr) -> str | None:
    """Returns "load_inline" or "load" if the called expression names a loader, else None. An attribute `load` counts
    only if the name before it contains "ext", as in cpp_extension.load(): torch.load() and json.load() are common.
    """
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    if name == "load" and isinstance(function, ast.Attribute):
        owner = function.value
        owner_name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        return name if "ext" in owner_name else None
    return name if name in LOADERS else None
