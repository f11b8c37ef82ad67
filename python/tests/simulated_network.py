"""A simulated network and clock: a function answers requests; time passes only in pauses and unanswered requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kq.calls.operations import Ask, Sleep
from kq.connection.link import RESEND_S
from kq.errors import BrokerUnreachable


class SimulatedNetwork:
    """Drives operations. If `answer` returns None, the broker does not answer the request."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.now_s = 0.0
        self.asked: list[Any] = []
        self.answer = answer

    def run(self, operation: Any) -> Any:
        steps = self.each(operation)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    def each(self, operation: Any) -> Iterator[Any]:
        reply, error = None, None
        while True:
            try:
                step = operation.throw(error) if error else operation.send(reply)
            except StopIteration as end:
                return end.value
            reply = error = None
            if isinstance(step, Ask):
                self.asked.append(step.request)
                deadline = self.now_s + step.timeout_s
                while (reply := self.answer(step.request)) is None and self.now_s < deadline:
                    self.now_s = min(self.now_s + RESEND_S, deadline)
                if reply is None:
                    error = BrokerUnreachable("silent")
            elif isinstance(step, Sleep):
                self.now_s += step.seconds
            else:
                yield step

    def now(self) -> float:
        return self.now_s
