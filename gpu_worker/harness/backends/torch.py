"""The backend torch: a Python file with class ModelNew, or Model, which takes the arguments of the problem's Model for
its constructor and for forward(), or with what the contract beside the file names (children/entry_point.py).
"""

import torch

from harness.backends.context import Call, Context
from harness.children import entry_point
from harness.children.model_file import Problem, import_entry
from harness.children.tensors import cast_model, short_name
from harness.extensions import loader
from harness.problem.construction import construct

UNMATCHED_MAX = 8  # the parameters and buffers of one side that a text names


def load(context: Context) -> Call:
    job = context.job
    loader.install(job)
    context.seed()
    args, kwargs = Problem(job.source / job.problem, context.workload).init_arguments()
    module = import_entry(job)
    spec = entry_point.read_contract(job.given / job.entry)
    wanted, is_class = entry_point.find_target(module, spec, job.entry, job.backend)
    context.seed()
    model = construct(wanted, args, kwargs, job.device, context.seed) if is_class else wanted
    if isinstance(model, torch.nn.Module):
        model = cast_model(model.to(job.device), job.precision)
        if unmatched := take_state(model, context.states):
            context.notes.append(unmatched)
    return entry_point.with_arguments(
        entry_point.method_of(model, spec) if is_class else model, spec, context.signature
    )


def take_state(model: torch.nn.Module, states: dict[str, torch.Tensor]) -> str:
    """Copies the reference's parameters and buffers into the model where names and shapes match. Returns a text about
    those on either side that have no partner, or an empty text.
    """
    taken = set()
    alone = []
    with torch.no_grad():
        for name, own in model.state_dict().items():
            short = short_name(name).decode(errors="replace")
            given = states.get(short)
            if given is not None and torch.nn.parameter.is_lazy(own):
                own.materialize(given.shape)
            if given is not None and isinstance(own, torch.Tensor) and own.shape == given.shape:
                own.copy_(given)
                taken.add(short)
            elif isinstance(own, torch.Tensor) and not torch.nn.parameter.is_lazy(own):
                alone.append(_described(short, own))
    left = [_described(name, given) for name, given in states.items() if name not in taken]
    sides = (("the reference", left), ("the submission", alone))
    return "; ".join(f"{side} has {_listed(names)}" for side, names in sides if names)


def _described(name: str, tensor: torch.Tensor) -> str:
    return f"{name} {list(tensor.shape)}"


def _listed(names: list[str]) -> str:
    more = len(names) - UNMATCHED_MAX
    return ", ".join(names[:UNMATCHED_MAX]) + (f" and {more} more" if more > 0 else "")
