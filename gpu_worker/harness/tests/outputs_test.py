"""Which outputs stay where a call has made them, and which are brought to their places: what calls allocate in is anywhere here."""

import unittest

from harness.children.page import Command, Place
from world import ARENA_IS_EVERYWHERE, RELU, WorldTest

NEW = {
    "at once": "return torch.relu(x)",
    "by several steps": "y = torch.empty_like(x)\n        torch.clamp(x, min=0, out=y)\n        return y",
    "in a list": "return [torch.relu(x)]",
    "with a gradient": "with torch.enable_grad():\n            return torch.relu(x.requires_grad_())",
    "without even versions": "with torch.inference_mode():\n            return torch.relu(x)",
    "by a module": "return torch.nn.Sequential(torch.nn.ReLU())(x)",
    "by a script": "return torch.jit.script(torch.nn.ReLU())(x)",
    "by a function of its own": "return Own.apply(x)",
    "by a closure": "y = torch.empty_like(x)\n        def work(): y.copy_(x.clamp(min=0))\n        work()\n        return y",
    "after an exception": "y = torch.relu(x)\n        try: raise ValueError(y)\n        except ValueError: pass\n        return y",
    "over the whole of its memory": "return torch.relu(x.flatten()).view(x.shape)",
    "in a part of it": "return torch.relu(torch.stack((x, x)))[1]",
    "once more with a name": "self.last = None\n        return torch.relu(x)",
}
KEPT = {
    "itself": "self.y = torch.relu(x)\n        return self.y",
    "filled again": "self.y = self.y if hasattr(self, 'y') else torch.empty_like(x)\n        return torch.clamp(x, min=0, out=self.y)",
    "a part of it": "self.y = torch.relu(torch.stack((x, x)))\n        return self.y[1]",
    "by another name": "y = torch.relu(x)\n        self.z = y.view(-1)\n        return y",
    "by an array": "y = torch.relu(x)\n        self.z = y.numpy()\n        return y",
    "in a global": "KEEP.append(torch.relu(x))\n        return KEEP[-1]",
    "in the list": "self.ys = [torch.relu(x)]\n        return self.ys",
    "a parameter": "self.w = self.w if hasattr(self, 'w') else torch.nn.Parameter(torch.empty_like(x))\n        self.w.data.copy_(x.clamp(min=0))\n        return self.w",
    "what it was given": "return x.clamp_(min=0)",
    "a part of what it was given": "return x.clamp_(min=0).view(x.shape)",
}
OWN = """
KEEP = []
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.relu(x)
        ctx.save_for_backward(y)
        ctx.y = y
        return y
"""


def written(body: str) -> str:
    return (
        RELU.replace("class Model", f"{OWN}\nclass ModelNew").replace("return torch.relu(x)", body)
        + ARENA_IS_EVERYWHERE
    )


class Outputs(WorldTest):
    def placed(self, body: str, problem: str = RELU) -> list[Place]:
        """Of the outputs of a second call; those that were brought are right."""
        reference, submission = self.pair(problem, written(body))
        self.assert_ok(submission.do(Command.LOAD, 7))
        rows = submission.page.outputs[: submission.page.output_count]
        for seed in (1, 2):
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            self.assert_ok(reference.do(Command.CALL, seed))
            submission.copy_tables(reference.page)
            submission.put(reference.page.inputs[0], reference.bytes_of(reference.page.inputs[0]))
            self.assert_ok(submission.do(Command.STAGE))
            self.assert_ok(submission.do(Command.CALL, seed))
        for row, expected in zip(rows, reference.page.outputs):
            if row.place == Place.WINDOW:
                self.assertEqual(submission.bytes_of(row), reference.bytes_of(expected))
        return [Place(row.place) for row in rows]

    def test_one_that_nobody_keeps_stays_where_it_is(self) -> None:
        for words, body in NEW.items():
            with self.subTest(words):
                self.assertEqual(self.placed(body), [Place.ARENA])

    def test_one_that_the_model_keeps_is_brought_and_that_is_part_of_its_call(self) -> None:
        for words, body in KEPT.items():
            with self.subTest(words):
                self.assertEqual(self.placed(body), [Place.WINDOW])

    def test_each_of_several_is_looked_at(self) -> None:
        three = RELU.replace("torch.relu(x)", "x + 1, x - 1, x + 1")
        for body, kept in (
            ("return tuple(torch.stack((x + 1, x - 1, x + 1)).unbind())", ()),
            ("y = x + 1\n        return y, x - 1, y", ()),
            ("self.y = x + 1\n        return self.y, x - 1, self.y", (0, 2)),
            ("self.y = x - 1\n        return x + 1, self.y, x + 1", (1,)),
        ):
            with self.subTest(body):
                places = [Place.WINDOW if i in kept else Place.ARENA for i in range(3)]
                self.assertEqual(self.placed(body, three), places)

    def test_compiled_code_keeps_nothing(self) -> None:
        """Dynamo and the wrappers around what it makes; inductor's own code is a matter of the GPU's test."""
        compiled = "self.f = self.f if hasattr(self, 'f') else torch.compile(torch.relu, backend='aot_eager')\n        return self.f(x)"
        self.assertEqual(self.placed(compiled), [Place.ARENA])


if __name__ == "__main__":
    unittest.main()
