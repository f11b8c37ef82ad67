"""The reference child: makes the inputs and the expected outputs of one problem from the judge's seeds.

For the machine a reference is as untrusted as a submission. For correctness it is trusted: whatever fails here is the
problem's fault.
"""

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_leaves

from harness.children.command_handler import CommandHandler
from harness.children.failures import Failed, classify, describe
from harness.children.model_file import Problem, parameter_names
from harness.children.page import (
    ANSWERS_MAX,
    INPUTS_MAX,
    OUTPUTS_MAX,
    STATES_MAX,
    TEXT_MAX,
    Failure,
    Place,
    TensorDesc,
)
from harness.children.tensors import (
    TensorSpec,
    Window,
    cast_model,
    copy_of,
    fill_tensor,
    fill_value,
    matches,
    moved,
    problem_error,
    seed_everything,
    spanned,
    value_of,
    words_of_layout,
)
from harness.problem.construction import construct
from harness.problem.input_generation import InputGenerator
from harness.problem.tolerance import OutputTolerance, tolerances_of
from harness.problem.unwritten_memory import filled_memory, makes_unwritten_memory, unwritten_words
from harness.problem.workloads import fill_table as fill_workloads
from harness.truth import exact_outputs
from harness.values.scalar_dtypes import dtypes_of_floats
from harness.values.value_tree import ResultForm, describe_arguments, describe_result, read_tree

BACKEND = "inductor"
COMPLEX = {torch.float16: torch.complex32, torch.float32: torch.complex64}
MEMORY = (Failure.OUT_OF_HOST_MEMORY, Failure.OUT_OF_GPU_MEMORY, Failure.UNSUPPORTED_HERE)


@dataclass(frozen=True)
class DescribedResult:
    """What the model of one workload returned in its first call. A later load of the same workload needs no such call
    where arguments and state have the same form again.
    """

    call_form: list[Any]
    outputs: list[tuple[str, torch.dtype, tuple[int, ...]]]  # name, dtype and shape of each row
    tree: str
    form: ResultForm


class Reference(CommandHandler):
    problem: Problem
    generator: InputGenerator
    model: torch.nn.Module
    argument_names: list[str]
    argument_text: str  # containers and constants of the inputs, the same for every draw (value_tree.py)
    result_form: ResultForm  # of what the model returns
    argument_forms: list[Any]  # of the rows of the inputs
    scalars: list[Any]  # values of the last inputs; None for a tensor
    # The copy of a model that torch.compile was given. It outlives that model and takes the state of later ones.
    compiled_copy: torch.nn.Module | None = None
    compiled: Any = None
    loaded_workload = 0
    changes_inputs = False  # set once the model has changed its inputs while it computed expected outputs

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.described_results: dict[int, DescribedResult] = {}  # by workload
        self._last_drawn: list[torch.Tensor] = []  # those of the last inputs that stay alive during the next call

    def failure_of(self, error: BaseException, command: int) -> Failure:
        """Classifies an error: a problem that fails is invalid, except where another machine could run it."""
        failure = classify(error, Failure.PROBLEM_INVALID, self.job.on_gpu, str(self.job.source))
        return failure if failure in MEMORY else Failure.PROBLEM_INVALID

    def load(self) -> None:
        seed = self.page.seed
        self.problem = Problem(self.job.source / self.job.problem, self.page.workload)
        fill_workloads(self.page.workloads, self.problem.workloads)
        self.page.workload_count = len(self.problem.workloads)
        if self.page.workload != self.loaded_workload:
            self.compiled_copy = self.compiled = None  # another workload may construct another model
            self.loaded_workload = self.page.workload
        # The old model is dropped first: memory may not suffice for two, and a model must not lie in the arena.
        vars(self).pop("model", None)
        self.leave_pool()
        seed_everything(seed)
        args, kwargs = self.problem.init_arguments()
        model = construct(
            self.problem.model_class, args, kwargs, torch.device(self.job.device), lambda: seed_everything(seed)
        )
        self.model = cast_model(model.to(self.job.device), self.job.precision)
        self.generator = InputGenerator(self.problem.get_inputs, torch.device(self.job.device))
        inputs = self.fill_inputs(self.generator.first_inputs(lambda: seed_everything(seed)))
        call_form = self.call_form()
        described = self.described_results.get(self.page.workload)
        if described is None or described.call_form != call_form:
            seed_everything(seed)
            with torch.no_grad():
                described = self.described_result(self.model(*inputs), call_form, seed)
            if self.call_form() == call_form:
                self.described_results[self.page.workload] = described
        self.fill_outputs(described)
        self.fill_states()
        self.page.has_check = int(self.problem.check is not None)
        self.page.has_forbidden = int(self.problem.forbidden is not None)
        self.page.wants_own_kernels = int(self.problem.wants_own_kernels)
        if self.problem.check is not None and 2 * self.page.output_count > OUTPUTS_MAX:
            raise problem_error(f"a problem with check() returns at most {OUTPUTS_MAX // 2} outputs")
        self.synchronize()

    def check_that_outputs_are_written(self, result: Any, seed: int) -> None:
        """Calls the model once more, with new memory filled, and compares what it returned."""
        usual, _ = describe_result(result)
        seed_everything(seed)
        inputs = self.fill_inputs(self.generator.next_inputs())
        seed_everything(seed)
        with filled_memory():
            filled, _ = describe_result(self.model(*inputs))
        for (name, value), (_, other) in zip(usual, filled):
            if words := unwritten_words(name, value, other):
                raise problem_error(
                    f"the reference never writes {words}: what torch.empty() and its like return holds what was in "
                    "memory before"
                )

    def draw_inputs(self) -> list[Any]:
        """Returns the values of the rows of new inputs, on the device."""
        drawn = self.generator.next_inputs()
        check_is_list(drawn)
        if len(drawn) != len(self.argument_names):
            raise problem_error(f"get_inputs() returned {len(self.argument_names)} arguments, then {len(drawn)}")
        rows, text = describe_arguments(self.argument_names, drawn)
        if text != self.argument_text:
            raise problem_error(
                f"get_inputs() gave {changed_argument(self.argument_text, text)} in another structure, or with other "
                "constants in it, than at first; only tensors may change from call to call"
            )
        return self.on_device(rows)

    def on_device(self, rows: list[tuple[str, Any]]) -> list[Any]:
        device = torch.device(self.job.device)
        return [
            moved(value, device, self.job.precision) if isinstance(value, torch.Tensor) else value for _, value in rows
        ]

    def fill_inputs(self, drawn: Any) -> list[Any]:
        """Describes the inputs in the page. Returns them as arguments of a call."""
        check_is_list(drawn)
        self.argument_names = parameter_names(self.model.forward, len(drawn))
        rows, self.argument_text = describe_arguments(self.argument_names, drawn)
        if len(rows) > INPUTS_MAX:
            raise problem_error(
                f"get_inputs() returned {len(rows)} tensors and other arguments; at most {INPUTS_MAX} are possible"
            )
        values = self.on_device(rows)
        for entry, (name, _), value in zip(self.page.inputs, rows, values):
            fill_value(entry, name, value)
        self.page.input_count = len(values)
        self.scalars = [None if isinstance(x, torch.Tensor) else x for x in values]
        self.argument_forms = [form_of(x) for x in values]
        self.page.input_tree, self.page.input_tree_bytes = self.argument_text.encode(), len(self.argument_text)
        self.page.output_count = self.page.output_tree_bytes = 0
        self.read_trees()
        return values if self.arguments is None else self.arguments.build(values)

    def call_form(self) -> list[Any]:
        """Returns what the form of a result may depend on: the forms of the arguments and of the state."""
        return [self.argument_text, self.argument_forms, [(name, form_of(x)) for name, x in self.state().items()]]

    def described_result(self, result: Any, call_form: list[Any], seed: int) -> DescribedResult:
        """Describes the result of the first call."""
        if makes_unwritten_memory(self.problem.module):
            self.check_that_outputs_are_written(result, seed)
        rows, tree = describe_result(result)
        if not 0 < len(rows) <= OUTPUTS_MAX:
            raise problem_error(f"the reference returned {len(rows)} outputs; 1 to {OUTPUTS_MAX} are possible")
        dtypes = self.number_dtypes([value for _, value in rows], seed)
        shapes = [tuple(value.shape) if isinstance(value, torch.Tensor) else () for _, value in rows]
        outputs = [(name, dtype, shape) for (name, _), dtype, shape in zip(rows, dtypes, shapes)]
        described = DescribedResult(call_form, outputs, tree, ResultForm(result))
        self.fill_outputs(described)
        self.tensors_of(result)
        return described

    def fill_outputs(self, described: DescribedResult) -> None:
        """Describes the outputs in the page."""
        for entry, (name, dtype, shape) in zip(self.page.outputs, described.outputs):
            fill_tensor(entry, name, dtype, shape)
        self.page.output_count = len(described.outputs)
        self.fill_tolerances([(name, dtype) for name, dtype, _ in described.outputs])
        self.page.output_tree, self.page.output_tree_bytes = described.tree.encode(), len(described.tree)
        self.read_trees()
        self.result_form = described.form

    def fill_tolerances(self, outputs: list[tuple[str, torch.dtype]]) -> None:
        workload = self.problem.workload
        found = tolerances_of(self.problem.module, self.job.problem, outputs, workload.tolerance, workload.name)
        for entry, tolerance in zip(self.page.tolerances, found):
            given = tolerance or OutputTolerance(matched=0)
            entry.rtol = -1 if given.rtol is None else given.rtol
            entry.atol = -1 if given.atol is None else given.atol
            entry.matched = given.matched

    def number_dtypes(self, outputs: list[Any], seed: int) -> list[torch.dtype]:
        """Returns the dtype in which each output is compared. A Python float is held to the dtype that made it, which
        takes one more call of the model.
        """
        floats = [value for value in outputs if type(value) in (float, complex)]
        made: list[torch.dtype] = []
        if floats:
            seed_everything(seed)
            inputs = self.fill_inputs(self.generator.next_inputs())
            seed_everything(seed)
            leaves = tree_leaves((inputs, self.state()))
            tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
            made = dtypes_of_floats(floats, lambda: self.model(*inputs), tensors)
        return [dtype_of(value, made) for value in outputs]

    def fill_states(self) -> None:
        states = self.state()
        if len(states) > STATES_MAX:
            raise problem_error(
                f"the reference has {len(states)} parameters and buffers; at most {STATES_MAX} are possible"
            )
        for entry, (name, tensor) in zip(self.page.states, states.items()):
            fill_tensor(entry, name, tensor.dtype, tensor.shape)
        self.page.state_count = len(states)

    def state(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in self.model.state_dict().items() if isinstance(value, torch.Tensor)}

    def put_state(self) -> None:
        for view, tensor in zip(self.views("states"), self.state().values(), strict=True):
            view.copy_(tensor)
        self.synchronize()

    def make_inputs(self) -> None:
        self.drop_last_outputs()
        drawn = self.draw_inputs()
        self.copy_inputs(drawn)
        self._last_drawn = self.kept_during_calls(drawn)
        self.synchronize()

    def copy_inputs(self, inputs: list[Any], slot: int = 0, may_leave: bool = False) -> None:
        """Copies inputs into the window. An input that the judge asks for in the arena is left there if it was drawn
        there.
        """
        entries = self.entries("inputs")
        for entry, view, value, scalar in zip(entries, self.views("inputs", slot), inputs, self.scalars):
            name = entry.name.decode(errors="replace")
            if not isinstance(view, torch.Tensor):
                if isinstance(value, torch.Tensor) or not _equal(value, scalar):
                    raise problem_error(
                        f"get_inputs() gave {name} = {scalar!r}, then {value!r}; "
                        "numbers must not change from call to call"
                    )
            elif not isinstance(value, torch.Tensor) or not matches(value, entry):
                raise problem_error(
                    f"get_inputs() gave {name} as {TensorSpec.of(entry)}, then as {_words(value)}; "
                    "shapes and strides must not change"
                )
            else:
                is_asked, entry.place = entry.place == Place.ARENA, Place.WINDOW
                if entry.is_strided:
                    spanned(view).copy_(spanned(value))
                elif not (is_asked and may_leave and self._lies_in_arena(value, entry)):
                    view.copy_(value)

    def compile(self) -> None:
        """Compiles the model with torch.compile in its default mode, as KernelBench does. The code stays the same for
        another seed; only the state of the model is loaded again.
        """
        import torch._inductor.config

        torch._inductor.config.compile_threads = 1  # no compiler process may outlive this one
        try:
            if self.compiled_copy is None:
                self.compiled_copy = copy.deepcopy(self.model)
                self.compiled = torch.compile(self.compiled_copy, backend=BACKEND)
            self.compiled_copy.load_state_dict(self.model.state_dict())
            self.make_inputs()
            with torch.no_grad():
                self.compiled(*self.input_views())
            self.synchronize()
        except Exception as error:
            source = str(self.job.source)
            if classify(error, Failure.NONE, self.job.on_gpu, source) in MEMORY:
                raise
            if self.job.on_gpu:
                raise problem_error(f"torch.compile cannot take it: {describe(error, source)}") from error
            text = f"torch.compile cannot take it here, a worker with a GPU may: {describe(error, source)}"
            raise Failed(Failure.UNSUPPORTED_HERE, text) from error

    def call(self) -> None:
        self.call_model(self.model, self.input_views())

    def call_compiled(self) -> None:
        self.call_model(self.compiled, self.input_views())

    def answer(self) -> None:
        self.enter_pool()
        slots = range(min(self.page.answer_count, ANSWERS_MAX))
        width = self.page.output_count // max(len(slots), 1)
        outputs = [self.views("outputs", slot)[:width] for slot in slots]
        # With several slots the outputs are copied into the window: outputs that stay and find no room in the arena
        # would take memory from calls that are timed.
        self._copies_outputs = len(slots) > 1
        try:
            for slot in slots:
                self._staged, self._output_row = {"outputs": outputs[slot]}, slot * width
                while not self.answer_slot(slot):
                    self.changes_inputs = True
        finally:
            self._staged, self._output_row, self._copies_outputs = {}, 0, False

    def answer_slot(self, slot: int) -> bool:
        """Computes the expected outputs of one slot. Returns False if the model changed inputs that were left in the
        arena for the judge; the caller then repeats the slot with copies.
        """
        seeds, entries = self.page.answers[slot], self.entries("inputs")
        asked = [(entry, entry.place, entry.offset) for entry in (*entries, *self.entries("outputs"))]
        seed_everything(seeds.inputs)
        drawn = self.draw_inputs()
        is_for_model = self.can_pass_directly(drawn)
        self.copy_inputs(drawn, slot, may_leave=is_for_model)
        inputs = (
            [_alias(value) for value in drawn]
            if is_for_model
            else [_clone(view) for view in self.views("inputs", slot)]
        )
        seed_everything(seeds.calls)
        versions = _versions(inputs)
        self.call_model(self.model, inputs if self.arguments is None else self.arguments.build(inputs))
        is_left, is_changed = any(entry.place == Place.ARENA for entry in entries), versions != _versions(inputs)
        if is_left and is_changed:
            for entry, place, offset in asked:
                entry.place, entry.offset = place, offset
            self._last_outputs = []
            return False
        if is_left:
            self._last_outputs = [*self._last_outputs, *drawn]
        self.changes_inputs = self.changes_inputs or is_changed
        return True

    def can_pass_directly(self, drawn: list[Any]) -> bool:
        """Returns whether the model may be called with the drawn tensors themselves: they are plain tensors as a
        submission gets them, and no two share memory. An array of numpy has no count of its changes.

        A problem may return the same tensors each time, so a model that changes its inputs gets copies of the window's.
        """
        tensors = [value for value in drawn if isinstance(value, torch.Tensor)]
        are_plain = all(
            type(value) is torch.Tensor and not value.is_inference() and not value.is_conj() and not value.is_neg()
            for value in tensors
        )
        return (
            are_plain
            and (self.arguments is None or not self.arguments.has_arrays)
            and not self.changes_inputs
            and len({value.untyped_storage().data_ptr() for value in tensors}) == len(tensors)
        )

    def receive_host_memory(self) -> Window:
        fd = self.channel.receive_fd(b"W")
        try:
            return Window.of_host(self._runtime.map_shared(fd, max(self.page.window_bytes, 1)))
        finally:
            os.close(fd)

    @contextmanager
    def truth_memory(self) -> Iterator[tuple[Window, torch.device]]:
        """Provides the memory of a truth and the device on which it lies. Device memory is unmapped at the end."""
        if not self.page.truth.is_device_memory:
            yield self.receive_host_memory(), torch.device("cpu")
            return
        size = self.page.window_bytes
        fd = self.channel.receive_fd(b"W")
        try:
            pointer = self._runtime.map_cuda_window(fd, size)
        finally:
            os.close(fd)
        try:
            yield Window.of_cuda(pointer, size, lambda: None), torch.device(self.job.device)
        finally:
            self.synchronize()
            self._runtime.unmap_cuda_window(pointer, size)

    def check(self) -> None:
        """Asks check() of the problem about the outputs of one call, and answers with its sentence. Arguments and
        outputs have the form that the model takes and returns.
        """
        memory = self.receive_host_memory()
        host, device = torch.device("cpu"), torch.device(self.job.device)

        def value(entry: TensorDesc) -> Any:
            return memory.tensor(entry, host).to(device, copy=True) if entry.dtype else value_of(entry)

        def outputs_in(entries: list[TensorDesc]) -> Any:
            return self.result_form.build([value(entry) for entry in entries])

        if self.problem.check is None:
            raise problem_error("the problem has no check()")
        with self.outside_of_pool(), torch.no_grad():
            rows = [value(entry) for entry in self.entries("inputs")]
            inputs = self.arguments.build(rows) if self.arguments is not None else rows
            outputs = self.entries("outputs")
            half = len(outputs) // 2
            found = self.problem.check(inputs, outputs_in(outputs[:half]), outputs_in(outputs[half:]))
        if found is not None and not isinstance(found, str):
            raise problem_error(
                f"check() of the problem returned a {type(found).__name__}; it returns None, or a sentence about what "
                "is wrong"
            )
        self._note = (found or "")[:TEXT_MAX]

    def truth(self) -> None:
        """Computes the outputs of one trial exactly, from inputs in the order's memory, and writes them behind the
        inputs.
        """
        with self.truth_memory() as (memory, place):
            inputs = [memory.tensor(x, place) if x.dtype else value_of(x) for x in self.entries("inputs")]
            places = [memory.tensor(output, place) for output in self.entries("outputs")]
            exactness = exact_outputs.Exactness.of(self.page.truth, torch.device(self.job.device))
            with self.outside_of_pool():
                outputs = exact_outputs.compute(
                    self.model,
                    inputs,
                    exactness,
                    self.page.answers[0].calls,
                    self.arguments.build if self.arguments is not None else list,
                    self.tensors_of,
                )
                if [output.shape for output in outputs] != [to.shape for to in places]:
                    raise problem_error("the reference returns outputs of other shapes in another precision")
                for to, output in zip(places, outputs):
                    to.copy_(output)
                del outputs, output

    def call_model(self, model: Any, inputs: list[Any]) -> None:
        with torch.no_grad():
            outputs = self.tensors_of(model(*inputs))
            mismatch = self.put_outputs(outputs)
        if mismatch:
            raise problem_error(f"the reference disagrees with itself: {mismatch}")


def check_is_list(inputs: Any) -> None:
    if not isinstance(inputs, (list, tuple)):
        raise problem_error(
            f"get_inputs() returned a {type(inputs).__name__}; it returns a list of forward's arguments"
        )


def changed_argument(before: str, after: str) -> str:
    """Returns the name of the first argument that two descriptions have otherwise."""
    if not before or not after:
        return "its arguments"
    old, new = read_tree(before.encode()), read_tree(after.encode())
    return next((name for name, a, b in zip(old["names"], old["values"], new["values"]) if a != b), "its arguments")


def form_of(value: Any) -> Any:
    """Returns the dtype, shape and strides of a tensor that has them, and another value as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    if is_lazy(value):
        return "lazy"
    return words_of_layout(value) or (value.dtype, value.shape, value.stride())


def dtype_of(value: Any, made: list[torch.dtype]) -> torch.dtype:
    """Returns the dtype of one output; of a float, the next of `made`."""
    if isinstance(value, torch.Tensor):
        return value.dtype
    if type(value) is float:
        return made.pop(0)
    if type(value) is complex:
        return COMPLEX.get(made.pop(0), torch.complex128)
    return torch.as_tensor(value).dtype


def _alias(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _clone(value: Any) -> Any:
    return copy_of(value) if isinstance(value, torch.Tensor) else value


def _versions(inputs: list[Any]) -> list[int]:
    """Returns torch's version counters of the tensors, which grow with every change that torch knows of."""
    return [value._version for value in inputs if isinstance(value, torch.Tensor) and not value.is_inference()]


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _words(value: Any) -> str:
    return str(TensorSpec(value.dtype, value.shape)) if isinstance(value, torch.Tensor) else repr(value)
