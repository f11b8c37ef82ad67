"""A broker on a real socket whose answers are a function, for tests of lost, late and repeated replies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import zmq

from kq.wire.codec import decode_message, encode_message
from kq.wire.messages import REQUESTS

Answer = Callable[[int, Any], "list[bytes]"]


def reply(request_id: int, body: Any) -> list[bytes]:
    return [encode_message(request_id, body)]


class ScriptedBroker:
    """Calls `answer` with (request_id, request) for each request and sends the messages that it returns."""

    def __init__(self, url: str, answer: Answer) -> None:
        self.requests: list[tuple[int, Any]] = []
        self._answer = answer
        self._context = zmq.Context()
        self._stop = self._context.socket(zmq.PAIR)
        self._stop.bind("inproc://stop")
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.bind(url)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._stop.send(b"")
        self._thread.join()
        self._stop.close()
        self._context.term()

    def _serve(self) -> None:
        stopped = self._context.socket(zmq.PAIR)
        stopped.connect("inproc://stop")
        poller = zmq.Poller()
        poller.register(stopped, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        while stopped not in dict(poller.poll()):
            peer, data = self._socket.recv_multipart()
            request = decode_message(data, REQUESTS)
            self.requests.append(request)
            for message in self._answer(*request):
                self._socket.send_multipart([peer, message])
        stopped.close()
        self._socket.close(linger=0)
