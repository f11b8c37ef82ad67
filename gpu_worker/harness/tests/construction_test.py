"""Tests on which device models are constructed. The meta device stands for a GPU."""

import unittest
from typing import Any
from unittest import mock

import torch
from harness.problem import construction


class MetaAsGpu:
    """The meta device by the name of a GPU."""

    type = "cuda"

    def __init__(self) -> None:
        self.meta = torch.device("meta")

    def __enter__(self) -> None:
        self.meta.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.meta.__exit__(*error)


class Model(torch.nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(n, n)
        self.scale = torch.nn.Parameter(torch.randn(n))


class FailsElsewhere(Model):
    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.linear.weight.detach().numpy()


class Construction(unittest.TestCase):
    def constructed(self, model_class: Any, n: int) -> tuple[Any, int]:
        seeds: list[None] = []
        with mock.patch.object(construction, "HOST_DRAWS_MAX", 1000):
            model = construction.construct(model_class, [n], {}, MetaAsGpu(), lambda: seeds.append(None))
        return model, len(seeds)

    def test_a_small_model_stays_on_the_host(self) -> None:
        model, seeds = self.constructed(Model, 8)
        self.assertEqual((model.linear.weight.device.type, seeds), ("cpu", 1))

    def test_a_model_that_draws_much_is_constructed_on_the_device(self) -> None:
        model, seeds = self.constructed(Model, 64)
        self.assertEqual((model.linear.weight.device.type, model.scale.device.type, seeds), ("meta", "meta", 2))

    def test_code_that_fails_there_runs_on_the_host(self) -> None:
        model, seeds = self.constructed(FailsElsewhere, 64)
        self.assertEqual((model.linear.weight.device.type, seeds), ("cpu", 3))

    def test_a_constructor_that_does_not_take_the_arguments_is_told_them(self) -> None:
        with self.assertRaises(TypeError) as raised:
            construction.construct(torch.nn.ReLU, [128, 1, 2], {}, torch.device("cpu"), lambda: None)
        self.assertIn("; get_init_inputs() gave [128, 1, 2]", str(raised.exception))

    def test_a_type_error_inside_of_a_constructor_stays(self) -> None:
        with self.assertRaises(TypeError) as raised:
            construction.construct(Model, ["n"], {}, torch.device("cpu"), lambda: None)
        self.assertNotIn("get_init_inputs", str(raised.exception))

    def test_what_is_drawn_is_counted(self) -> None:
        for draw in (
            lambda: torch.randn(30, 40),
            lambda: torch.rand((30, 40)),
            lambda: torch.empty(1200).normal_(),
            lambda: torch.randn_like(torch.empty(1200)),
        ):
            with mock.patch.object(construction, "HOST_DRAWS_MAX", 1000), self.assertRaises(BaseException) as raised:
                with construction._DrawCounter():
                    draw()
            self.assertEqual(type(raised.exception).__name__, "_TooManyDraws")


if __name__ == "__main__":
    unittest.main()
