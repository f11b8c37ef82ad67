# A class whose objects are numbers.
# expect: load_failed | runtime_error
# guard: clean
# run: load_failed | runtime_error
import torch
import torch.nn as nn


class Meta(type):
    def __call__(cls, *args):
        return 42


class ModelNew(metaclass=Meta):
    pass
