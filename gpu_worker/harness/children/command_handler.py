"""The commands of the judge, answered one by one: what reference, submission and calibrator children have in common.

A command handler holds the channel, the window of shared memory in which inputs and outputs lie, and on a GPU an arena
behind the window from which torch allocates during calls. An output that lies in the arena need not be copied; the
judge reads it there.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from harness.children.channel import Channel
from harness.children.failures import Failed, classify, describe
from harness.children.job import Job
from harness.children.page import Command, Failure, Place, TensorDesc
from harness.children.runtime import ChildRuntime
from harness.children.tensors import (
    DTYPES,
    TensorSpec,
    Window,
    as_output,
    fill_tensor,
    held_elsewhere,
    outputs_of,
    seed_everything,
    value_of,
)
from harness.values.value_tree import Arguments, Result
from harness.zygote.malloc_thresholds import BLOCK_BYTES_MAX

AUDITED_CALLS = 2  # calls of which CUPTI reports launches: the warm-up calls


class CommandHandler:
    """Answers the commands of a channel. An exception becomes a failure that the judge is told of, and never an ok."""

    def __init__(self, job: Job, channel: Channel, runtime: ChildRuntime, gpu_byte: torch.Tensor | None = None) -> None:
        self.job = job
        self.channel = channel
        self.page = channel.page
        self._runtime = runtime
        self._window: Window | None = None
        self._gpu_byte = gpu_byte  # a byte of GPU memory, for null calls without a window
        self._null_call_memory: torch.Tensor | None = None  # the tensor that null calls write
        self._arena: tuple[int, int] | None = None  # address and bytes of the arena
        self._pool: torch.cuda.MemPool | None = None
        # set while torch allocates from the arena
        self._pool_use: contextlib.AbstractContextManager[None] | None = None
        # The outputs of the last call stay alive, because the judge may read them in the arena.
        self._last_outputs: list[torch.Tensor] = []
        self._staged: dict[str, list[Any]] = {}
        self._output_row = 0  # the first row of this call's outputs in the output table
        self._copies_outputs = False  # copies outputs into the window even if they lie in the arena
        self._audit_polls = 0  # how often the audit was polled
        # How rows make up the arguments and the result of a call; None where every row is an argument or an output.
        self.arguments: Arguments | None = None
        self.result: Result | None = None
        self.output_dtypes: list[Any] = []
        self._note = ""  # what the answer to the command says besides ok
        self._views: dict[tuple[bytes, int], list[Any]] = {}
        self._slots: list[dict[str, list[Any]]] = []  # what stage_burst() prepared, by slot
        self._commands: dict[int, Callable[[], None]] = {
            Command.ATTACH: self.attach,
            Command.NULL_CALL: self.null_call,
            Command.LOAD: self.load,
            Command.PUT_STATE: self.put_state,
            Command.MAKE_INPUTS: self.make_inputs,
            Command.CALL: self.call,
            Command.STAGE: self.stage,
            Command.STAGE_BURST: self.stage_burst,
            Command.BURST: self.burst,
            Command.COMPILE: self.compile,
            Command.CALL_COMPILED: self.call_compiled,
            Command.ANSWER: self.answer,
            Command.TRUTH: self.truth,
            Command.CHECK: self.check,
            Command.INSPECT: self.inspect,
        }

    @staticmethod
    def prepare(job: Job) -> None:
        """Prepares for a job before the judge sends commands. Only code of the harness runs here."""

    def serve(self) -> None:
        self.channel.serve(seed_everything, self.handle, self.explain)

    def fail(self, error: Exception) -> None:
        """Makes the handler answer every command with this error."""
        self._commands = dict.fromkeys(self._commands, _raiser(error))

    def handle(self, command: int) -> bool:
        try:
            work = self._commands.get(command)
            if work is None:
                raise Failed(Failure.RUNTIME_ERROR, f"this child knows no command {command}")
            self._note = ""
            work()
            if command in (Command.CALL, Command.CALL_COMPILED, Command.ANSWER):
                self._staged.clear()
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: a model may raise them
            failure = self.failure_of(error, command)
            self.channel.answer_failed(failure, describe(error, str(self.job.source), failure))
            return False
        self.channel.answer_ok(self._note)
        return True

    def explain(self, command: int) -> None:
        """Answers with torch's words for a CUDA failure that happened after the command."""
        try:
            torch.cuda.synchronize()
            raise Failed(Failure.GPU_FAULT, "CUDA could not finish what was launched")
        except Exception as error:
            self.channel.answer_failed(self.failure_of(error, command), describe(error, str(self.job.source)))

    def failure_of(self, error: BaseException, command: int) -> Failure:
        otherwise = Failure.LOAD_FAILED if command in (Command.ATTACH, Command.LOAD) else Failure.RUNTIME_ERROR
        return classify(error, otherwise, self.job.on_gpu, str(self.job.source))

    def attach(self) -> None:
        fd = self.channel.receive_fd(b"W")
        try:
            self._views.clear()
            self._null_call_memory = None
            if self._window is not None:
                self._window.close()
            self._window = self._map(fd, self.page.window_bytes)
        finally:
            os.close(fd)

    def use_arena(self, pointer: int, size: int) -> None:
        """Lets torch allocate from the arena during calls. Models are constructed outside of the arena."""
        self._arena = (pointer, size)
        self._runtime.arena_use(pointer, size)
        allocator = torch.cuda.memory.CUDAPluggableAllocator(self._runtime.path, "kq_arena_malloc", "kq_arena_free")
        self._pool = torch.cuda.MemPool(allocator.allocator())

    def _map(self, fd: int, size: int) -> Window:
        if not self.job.on_gpu:
            return Window.of_host(self._runtime.map_shared(fd, max(size, 1)))
        pointer = self._runtime.map_cuda_window(fd, size)
        if self.page.arena_bytes and self._arena is None:
            self.use_arena(pointer + size - self.page.arena_bytes, self.page.arena_bytes)
            return Window.of_cuda(pointer, size, lambda: None)
        return Window.of_cuda(pointer, size, lambda: self._runtime.unmap_cuda_window(pointer, size))

    def synchronize(self) -> None:
        if self.job.on_gpu:
            torch.cuda.synchronize()

    def null_call(self) -> None:
        """A call that calls nothing: the judge subtracts its time. On a GPU the process must launch some work, so that
        the GPU switches to it.

        The work writes to the window where there is one. Memory of the process's own would have to come from the
        driver, which may be busy freeing the last child's.
        """
        if self._gpu_byte is None:
            return
        touched = max(self.page.touch_bytes, 1)
        if self._null_call_memory is None or self._null_call_memory.numel() < touched:
            self._null_call_memory = self.null_call_tensor(touched)
        self._null_call_memory[:touched].zero_()

    def null_call_tensor(self, touched: int) -> torch.Tensor:
        if self._gpu_byte is not None and touched <= self._gpu_byte.numel():
            return self._gpu_byte
        if self._window is not None and touched <= self.page.window_bytes:
            return self._window.bytes(touched)
        return torch.empty(touched, dtype=torch.uint8, device=self.job.device)

    def stage(self) -> None:
        """Prepares what a call needs besides the model's own work, so that the preparation is not measured."""
        self.prepare_call()
        self._staged = {"inputs": self.staged_inputs(), "outputs": self.views("outputs")}

    def stage_burst(self) -> None:
        """Prepares calls whose inputs and outputs lie in any of several slots."""
        self.prepare_call()
        width = self.page.output_count // max(self.page.calls, 1)
        self._slots = [
            {"inputs": self.staged_inputs(slot), "outputs": self.views("outputs", slot)[:width]}
            for slot in range(self.page.slots)
        ]

    def prepare_call(self) -> None:
        if self.job.audit:
            self.poll_audit()
        self.enter_pool()

    def poll_audit(self) -> None:
        """Checks that CUPTI still reports what the submission does. Launches are reported while the submission loads
        and in its first calls only.
        """
        self._runtime.audit_poll()
        if self._audit_polls == AUDITED_CALLS:
            self._runtime.audit_stop_launch_reports()
        self._audit_polls += 1

    def kept_during_calls(self, values: list[Any]) -> list[torch.Tensor]:
        """Returns those of the values that stay alive during the next call, so that it does not get their memory: none
        on a GPU, small tensors elsewhere. Otherwise the blocks that a process happens to have free decide whether a
        call writes to memory that is still in the cache.
        """
        tensors = [] if self.job.on_gpu else [x for x in values if isinstance(x, torch.Tensor)]
        return [x for x in tensors if x.nbytes <= BLOCK_BYTES_MAX]

    def drop_last_outputs(self) -> None:
        """Frees the outputs of the last call before the next one, but for those that stay alive during that call."""
        self._last_outputs = self.kept_during_calls(self._last_outputs)

    def enter_pool(self) -> None:
        self.drop_last_outputs()
        if self._pool is not None and self._pool_use is None:
            self._pool_use = torch.cuda.use_mem_pool(self._pool)
            self._pool_use.__enter__()  # kept until the pool is left: the pool is left when the object is dropped

    def leave_pool(self) -> None:
        self._last_outputs = []
        if self._pool_use is not None:
            self._pool_use.__exit__(None, None, None)
            self._pool_use = None

    @contextlib.contextmanager
    def outside_of_pool(self) -> Iterator[None]:
        """Lets torch allocate from the device's own memory meanwhile, and gives that memory back. The outputs of the
        last call stay in the arena.
        """
        is_in_pool = self._pool_use is not None
        if self._pool_use is not None:
            self._pool_use.__exit__(None, None, None)
            self._pool_use = None
        try:
            yield
        finally:
            if self.job.on_gpu:
                torch.cuda.empty_cache()
            if is_in_pool:
                self._pool_use = torch.cuda.use_mem_pool(self._pool)
                self._pool_use.__enter__()

    def input_views(self) -> list[Any]:
        """Returns the arguments of a call. Each tensor is a fresh object, because a model may change the object."""
        found = self._staged.pop("inputs", None)
        found = self.staged_inputs() if found is None else found
        return self.arguments.build(found) if self.arguments is not None and self.builds_late() else found

    def builds_late(self) -> bool:
        """Returns whether arguments can be built only when the inputs are in the window: arrays of numpy are copies of
        GPU memory.
        """
        return self.arguments is not None and self.arguments.has_arrays and self.job.on_gpu

    def staged_inputs(self, slot: int = 0) -> list[Any]:
        rows = self.views("inputs", slot)
        return rows if self.arguments is None or self.builds_late() else self.arguments.build(rows)

    def read_trees(self) -> None:
        """Reads how rows make up the arguments and the result of a call, once for all calls."""
        page = self.page
        inputs, outputs = page.input_tree[: page.input_tree_bytes], page.output_tree[: page.output_tree_bytes]
        self.arguments = Arguments(inputs) if inputs else None
        self.result = Result(outputs) if outputs else None
        self.output_dtypes = [DTYPES[entry.dtype] for entry in self.entries("outputs")]

    def tensors_of(self, result: Any) -> list[torch.Tensor]:
        """Returns the tensors that a call has returned, in the order of the table's rows."""
        if self.result is None:
            return outputs_of(result)
        return [as_output(value, i) for i, value in enumerate(self.result.take(result, self.output_dtypes))]

    def load(self) -> None:
        raise Failed(Failure.LOAD_FAILED, f"a {self.job.role} child loads nothing")

    def put_state(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child puts no state")

    def make_inputs(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child makes no inputs")

    def call(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child calls nothing")

    def compile(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child compiles nothing")

    def call_compiled(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child has nothing compiled")

    def answer(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child has no answers")

    def check(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child checks no outputs")

    def inspect(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child forbids nothing")

    def truth(self) -> None:
        raise Failed(Failure.RUNTIME_ERROR, f"a {self.job.role} child computes no truth")

    def burst(self) -> None:
        """Makes calls one after another without waiting for the GPU between them. The child runtime tells where the
        next call's inputs lie when the last call has returned.
        """
        rows = self.page.output_count
        width = rows // max(self.page.calls, 1)
        kept: list[torch.Tensor] = []
        returned = 0
        try:
            while (slot := self.channel.next_slot(returned)) >= 0:
                self._staged, self._output_row = self._slots[slot], returned * width
                self.call()
                if self.page.output_count != rows:
                    raise Failed(Failure.RUNTIME_ERROR, "returned another number of outputs than before")
                kept += self._last_outputs
                returned += 1
        finally:
            self._staged, self._output_row = {}, 0
        self._last_outputs = kept

    def entries(self, table: str) -> list[TensorDesc]:
        entries: list[TensorDesc] = getattr(self.page, table)[: getattr(self.page, f"{table[:-1]}_count")]
        return entries

    def views(self, table: str, slot: int = 0) -> list[Any]:
        """Returns the entries of a table as values: tensors in the window, numbers, or None.

        Values are cached by the bytes of the table, so that a repeated call costs no construction of tensors. Each
        tensor is handed out as a fresh alias, so that a change of the object by a model has no effect on later calls.
        """
        raw = self.channel.raw(table, getattr(self.page, f"{table[:-1]}_count"))
        found = self._views.get((raw, slot))
        if found is None:
            shift = slot * self.page.slot_bytes
            found = self._views[raw, slot] = [self.view(entry, shift) for entry in self.entries(table)]
        return [value.detach() if isinstance(value, torch.Tensor) else value for value in found]

    def view(self, entry: TensorDesc, shift: int = 0) -> Any:
        if entry.dtype == 0:
            return value_of(entry)
        if self._window is None:
            raise Failed(Failure.RUNTIME_ERROR, "no window is attached yet")
        return self._window.tensor(entry, self.job.device, shift)

    def output_views(self) -> list[Any]:
        """Returns the places of the outputs in the window, the same ones for the whole call."""
        if "outputs" not in self._staged:
            self._staged["outputs"] = self.views("outputs")
        return self._staged["outputs"]

    def _lies_in_arena(self, output: torch.Tensor, entry: TensorDesc) -> bool:
        """Returns whether the output lies in the arena, and if so writes its place into the entry."""
        if self._arena is None or output.device.type != self.job.device.type or not output.is_contiguous():
            return False
        offset = output.data_ptr() - self._arena[0]
        if not 0 <= offset <= self._arena[1] - entry.bytes:
            return False
        entry.place, entry.offset = Place.ARENA, offset
        return True

    def _keeps_outputs(self) -> bool:
        """Returns whether the judge reads this command's outputs in the memory of this process."""
        return bool(self.page.keeps_outputs) and self.page.command in (Command.CALL, Command.CALL_COMPILED)

    def _stays(self, output: torch.Tensor, entry: TensorDesc) -> bool:
        """Returns whether the judge can read the output where it lies, and if so writes its place into the entry."""
        if not self._keeps_outputs():
            return self._lies_in_arena(output, entry)
        storage = output.untyped_storage()
        end = output.storage_offset() * output.element_size() + entry.bytes
        if output.device.type != "cpu" or not output.is_contiguous() or storage.nbytes() < end:
            return False
        entry.place, entry.offset = Place.PROCESS, output.data_ptr()
        return True

    def _may_stay(self, outputs: list[torch.Tensor]) -> list[bool]:
        """Returns for each output whether the judge may read it in the arena or in this process's own memory, without
        a copy into the window.

        An output whose memory the model holds as well must be copied, because the model could count on its contents or
        write them again. The memory of the other outputs is free once the next call is staged, and the judge
        overwrites it before that call.
        """
        if self._copies_outputs:
            return [False] * len(outputs)
        if self._arena is None and not self._keeps_outputs():
            return [True] * len(outputs)
        # The aliases replace the objects that the model returned, so that those are freed unless the model holds them.
        outputs[:] = [output.detach() for output in outputs]
        return [not is_held for is_held in held_elsewhere(outputs)]

    def put_outputs(self, outputs: list[torch.Tensor]) -> str:
        """Copies outputs into the window where they have the expected type and shape. Returns a text about an output
        that has not, or an empty text.
        """
        views = self.output_views()
        if len(outputs) != len(views):
            self.page.output_count = min(len(outputs), len(self.page.outputs))
            return f"returned {len(outputs)} outputs"
        self._last_outputs = outputs
        mismatch = ""
        may_stay = self._may_stay(outputs)
        for i, (output, view) in enumerate(zip(outputs, views)):
            entry = self.page.outputs[self._output_row + i]
            if output.dtype == view.dtype and output.shape == view.shape:
                if not (may_stay[i] and self._stays(output, entry)) and not _is_in_place(output, view):
                    view.copy_(output)
            else:
                expected = TensorSpec.of(entry)
                fill_tensor(entry, f"out{i}", output.dtype, output.shape)
                mismatch = f"output {i} is {TensorSpec(output.dtype, output.shape)}, expected {expected}"
        return mismatch


def _is_in_place(output: torch.Tensor, view: torch.Tensor) -> bool:
    """Returns whether the output is the window's own tensor, so that no copy is needed."""
    return output.data_ptr() == view.data_ptr() and output.is_contiguous() and output.device == view.device


def _raiser(error: Exception) -> Callable[[], None]:
    def answer() -> None:
        raise error

    return answer
