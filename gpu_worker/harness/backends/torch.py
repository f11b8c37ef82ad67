"""torch: a Python file with class ModelNew, which takes the constructor's and forward's arguments of the problem's Model."""

import torch

from harness import extension_serve
from harness.backends.context import Context
from harness.model_file import Problem, attribute, import_file
from harness.tensors import cast_model


def load(context: Context) -> torch.nn.Module:
    job = context.job
    extension_serve.serve(job.source)
    context.seed()
    init_inputs = Problem(job.source / job.problem).init_inputs()
    module = import_file(job.source / job.entry)
    model_class = attribute(module, "ModelNew", job.entry)
    context.seed()
    model = cast_model(model_class(*init_inputs).to(job.device), job.precision)
    take_state(model, context.states)
    return model


def take_state(model: torch.nn.Module, states: dict[str, torch.Tensor]) -> None:
    """Copies the reference's parameters and buffers where names and shapes match."""
    with torch.no_grad():
        for name, own in model.state_dict().items():
            given = states.get(name)
            if given is not None and isinstance(own, torch.Tensor) and own.shape == given.shape:
                own.copy_(given)
