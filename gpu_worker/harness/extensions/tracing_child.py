"""The record child: runs a submission as far as its calls of load_inline and load, and writes down what they ask for.

It leaves out/calls: a JSON list of what extension_call.Call holds. Nothing is compiled, and nothing of the job is computed: a loader gives a module
whose functions return their first tensor. What the file does beyond that may fail; whatever it called before that counts.

Calls at import are seen by importing. Where a call stands in the source that importing did not reach, ModelNew is constructed and called on
tensors without memory, so that calls inside __init__ and forward are seen too. There is no GPU here, but the file is told that there is one,
of the architecture the job is built for: a source that depends on it comes out as it will when it runs.

Everything in this process is the submission's to change: what it writes is read as hostile bytes, and harms nobody but itself.
"""

import ast
import contextlib
import json
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from harness.children import entry_point
from harness.children.argument_binding import ProblemSignature
from harness.children.job import Job
from harness.children.model_file import Problem, import_file, parameter_names
from harness.children.tensors import TensorSpec, outputs_of
from harness.extensions.loader_call import CALLS_MAX, BadCall, Call, replace_loaders

LOADERS = ("load_inline", "load")
MEMORY_BYTES = 140 << 30


def prepare() -> None:
    """In the zygote, before its first record child: the first such mode imports 800 modules, for a second."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    FakeTensorMode()


class CallRecorder:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.calls: list[Call] = []
        self.error_text = ""

    def record(self, call: Call) -> Any:
        if len(self.calls) < CALLS_MAX and all(call.key() != known.key() for known in self.calls):
            self.calls.append(call)
        if not call.is_python_module:
            return "/kq/src/extension.so"
        return PlaceholderModule(call.name)

    def has_unreached_call(self) -> bool:
        """Whether a call stands in the source that was not reached."""
        seen = {call.place for call in self.calls}
        return any(not seen & set(places) for places in call_places(self.job.source / self.job.entry))

    def save(self) -> None:
        texts = [json.loads(call.text()) for call in self.calls]
        (self.job.out / "calls").write_text(json.dumps({"calls": texts, "keys": [call.key() for call in self.calls]}))
        (self.job.out / "complaint").write_text(self.error_text, errors="replace")


class PlaceholderModule(types.ModuleType):
    """A module that has every function."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*args: Any, **_: Any) -> Any:
            return next((value for value in args if isinstance(value, torch.Tensor)), None)

        return function


def run(job: Job) -> int:
    recorder = CallRecorder(job)
    replace_loaders(recorder.record, job.source)
    pretend_gpu(job.arch)
    sys.path.insert(0, str(job.source))
    try:
        with errors_logged(recorder):
            module = import_file(job.source / job.entry)
        if recorder.has_unreached_call() and recorder.error_text == "":
            with errors_logged(recorder):
                call_model(job, module, recorder)
    finally:
        recorder.save()
    return 0


@contextlib.contextmanager
def errors_logged(recorder: CallRecorder) -> Any:
    """Whatever is raised ends this part of the run; the run that counts says it in its own words."""
    try:
        yield
    except BadCall as error:
        recorder.error_text = str(error)
    except BaseException as error:
        print(f"kq: while looking for extensions: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)


def call_model(job: Job, module: types.ModuleType, recorder: CallRecorder) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True):
        problem = Problem(job.source / job.problem)
        names = entry_point.read_contract(job.source / job.entry)
        wanted, is_class = entry_point.find_target(module, names, job.entry, job.backend)
        call = entry_point.method_of(wanted(*problem.init_inputs()), names) if is_class else wanted
        if recorder.has_unreached_call():
            inputs = problem.get_inputs()
            entry_point.with_arguments(call, names, signature_of(problem, inputs))(*inputs)


def signature_of(problem: Problem, inputs: list[Any]) -> ProblemSignature:
    """What Model would have, told by calling it."""
    model = problem.model_class(*problem.init_inputs())
    names = parameter_names(model.forward, len(inputs))
    given = {name: spec(value) if isinstance(value, torch.Tensor) else value for name, value in zip(names, inputs)}
    states = {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
    return ProblemSignature(given, [spec(output) for output in outputs_of(model(*inputs))], states, torch.device("cpu"))


def spec(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(tensor.dtype, tensor.shape)


def pretend_gpu(arch: str) -> None:
    """What files ask before they choose a source or a flag."""
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
        "_exchange_device": lambda device: 0,  # of "with torch.cuda.device(0)"
        "_maybe_exchange_device": lambda device: 0,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", f"{capability[0]}.{capability[1]}")


def call_places(path: Path) -> list[list[str]]:
    """For every call of a loader in the file, the places it may be seen at: a call over several lines is told by one of them."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and loader_name(node.func) is not None:
            found.append([f"{path.name}:{line}" for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)])
    return found


def loader_name(function: ast.expr) -> str | None:
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    if name == "load" and isinstance(function, ast.Attribute):
        owner = function.value
        owner_name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        return name if "ext" in owner_name else None
    return name if name in LOADERS else None
