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

DERIVED_ELEMENTS_MAX = 1 << 22  # of a tensor whose elements are compared in order of size
DERIVED_STEPS = 8  # how far these may be from a multiple of the reference's, in steps of their dtype
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
    """Copies the reference's parameters and buffers into the model where names and shapes match, except for what the
    submission's constructor has made of the same numbers. Returns a text about those on either side that have no
    partner, or an empty text.
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
                if not is_derived(own, given):
                    own.copy_(given)
                taken.add(short)
            elif isinstance(own, torch.Tensor) and not torch.nn.parameter.is_lazy(own):
                alone.append(_described(short, own))
    left = [_described(name, given) for name, given in states.items() if name not in taken]
    sides = (("the reference", left), ("the submission", alone))
    return "; ".join(f"{side} has {_listed(names)}" for side, names in sides if names)


def is_derived(own: torch.Tensor, given: torch.Tensor) -> bool:
    """Returns whether `own` has the numbers of `given` in another order, or multiplied by one factor: the submission
    has drawn the same numbers under the same seed, and has folded something into them.
    """
    has_memory = not any(hasattr(tensor, "fake_mode") for tensor in (own, given))  # unlike those of a tracing child
    is_candidate = own.is_floating_point() and own.dtype == given.dtype and 1 < own.numel() <= DERIVED_ELEMENTS_MAX
    if not has_memory or not is_candidate or torch.equal(own, given):
        return False
    sizes, given_sizes = (tensor.detach().flatten().double().abs().sort().values for tensor in (own, given))
    is_constant = bool(given_sizes[0] == given_sizes[-1])
    factor = sizes[-1] / given_sizes[-1]
    if is_constant or not bool(factor.isfinite()) or not bool(factor > 0):
        return False
    near = DERIVED_STEPS * torch.finfo(own.dtype).eps
    return torch.allclose(sizes, factor * given_sizes, rtol=near, atol=near * float(sizes[-1]))


def _described(name: str, tensor: torch.Tensor) -> str:
    return f"{name} {list(tensor.shape)}"


def _listed(names: list[str]) -> str:
    more = len(names) - UNMATCHED_MAX
    return ", ".join(names[:UNMATCHED_MAX]) + (f" and {more} more" if more > 0 else "")
