# The entry of a job: it calls custom_kernel(data) of the submission as the problem calls its reference.
import torch
from kq_problem import converted, filled
from submission import custom_kernel


class ModelNew(torch.nn.Module):
    def forward(self, data, places, dtypes):
        return converted(custom_kernel(filled(data, places) if places else data), dtypes)
