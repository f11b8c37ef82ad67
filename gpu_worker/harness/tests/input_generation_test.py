"""Tests that a problem's inputs differ for each seed of the judge, whatever the problem seeds itself, and on which
device they are drawn.
"""

import random
import unittest

import numpy
import torch
from harness.children.tensors import seed_everything
from harness.problem.input_generation import InputGenerator


def seeded() -> list[torch.Tensor]:
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    random.seed(0)
    numpy.random.seed(0)
    return [torch.randn(3), torch.tensor([random.random()]), torch.from_numpy(numpy.random.rand(2))]


def on_the_host_alone() -> list[torch.Tensor]:
    if torch.get_default_device().type != "cpu":
        raise RuntimeError("as where numpy's arrays meet tensors of another device")
    return [torch.from_numpy(numpy.random.rand(4)) + torch.ones(4)]


class DrawingTest(unittest.TestCase):
    def test_what_a_problem_seeds_is_passed_over(self) -> None:
        drawing = InputGenerator(seeded, torch.device("cpu"))
        first = drawing.first_inputs(lambda: seed_everything(1))
        seed_everything(1)
        again = drawing.next_inputs()
        seed_everything(2)
        other = drawing.next_inputs()
        for one, two, three in zip(first, again, other, strict=True):
            self.assertTrue(torch.equal(one, two))
            self.assertFalse(torch.equal(one, three))

    def test_elsewhere_seeds_are_seeds(self) -> None:
        def fails() -> None:
            raise ValueError("no")

        with self.assertRaises(ValueError):
            InputGenerator(fails, torch.device("cpu")).first_inputs(lambda: None)
        self.assertEqual(torch.manual_seed(5).initial_seed(), 5)
        random.seed(5)
        self.assertEqual(random.random(), random.Random(5).random())

    def test_what_cannot_be_drawn_on_the_device_is_drawn_on_the_host(self) -> None:
        drawing = InputGenerator(on_the_host_alone, torch.device("meta"))
        drawn = drawing.first_inputs(lambda: seed_everything(1))
        self.assertEqual((drawn[0].device.type, drawing.device.type), ("cpu", "cpu"))
        seed_everything(1)
        self.assertTrue(torch.equal(drawing.next_inputs()[0], drawn[0]))
        plain = InputGenerator(torch.get_default_device, torch.device("meta"))
        self.assertEqual(plain.first_inputs(lambda: None).type, "meta")


if __name__ == "__main__":
    unittest.main()
