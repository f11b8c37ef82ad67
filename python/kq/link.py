"""Where the broker is and how its socket is set: net/endpoint.cc and net/zmq/link.cc in Python."""

from __future__ import annotations

import os
import re
import weakref
from dataclasses import replace
from typing import Any

import zmq

from kq.codec import Malformed, decode_message, encode_message
from kq.errors import BadInput, BrokerUnreachable, Error
from kq.key import Key
from kq.limits import MESSAGE_BYTES_MAX
from kq.messages import REPLIES, Refused, Request, StatusQuery
from kq.refusal import Refusal

DEFAULT_BROKER_URL = "tcp://127.0.0.1:5570"
IPC_PATH_BYTES_MAX = 99
RESEND_S = 1.0  # plus one more for each RESEND_BYTES of the message: sent too early it only adds to the broker's work
RESEND_BYTES = 4 << 20
RETRY_S = 0.02  # after a send that was not accepted: the connection is still being made


def broker_url(url: str | None) -> str:
    """The URL given, else KQ_BROKER, else the default; BadInput if no broker can be there."""
    url = url or os.environ.get("KQ_BROKER") or DEFAULT_BROKER_URL
    if not isinstance(url, str):
        raise BadInput(f"url must be a text such as {DEFAULT_BROKER_URL}, got {type(url).__name__}")
    if url.startswith("tcp://"):
        host, colon, port = url[6:].rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not colon or not host or re.search(r"[/; ]", host) or (":" in host and not bracketed):
            raise BadInput(f"broker '{url}': tcp://HOST:PORT is needed, an IPv6 address in brackets")
        if not (port.isascii() and port.isdigit() and 1 <= int(port[:9]) <= 65534):
            raise BadInput(f"broker '{url}': the port must be a number from 1 to 65534, got '{port}'")
    elif url.startswith("ipc://"):
        if url[6:] in ("", "*"):
            raise BadInput(f"broker '{url}': no path; ipc://PATH is needed, such as ipc:///tmp/kq.sock")
        if len(os.fsencode(url[6:])) > IPC_PATH_BYTES_MAX:
            raise BadInput(
                f"broker '{url}': the path is longer than the {IPC_PATH_BYTES_MAX} bytes that a socket's may have"
            )
    else:
        raise BadInput(f"broker '{url}': a URL such as tcp://127.0.0.1:5570 or ipc:///tmp/kq.sock is needed")
    return url


class Connection:
    """A DEALER of either kind of context, on its way to a broker. Whether one is there shows with its first answer.

    It ends with close(), and else with its `owner`, or Python: a context that is only collected waits for its monitor for ever.
    """

    def __init__(self, owner: object, context: Any, url: str, key: Key | None) -> None:
        self.socket = context.socket(zmq.DEALER)
        try:
            self.refusal = connect(self.socket, url, key)
        except BaseException:
            self.socket.close(0)
            context.term()
            raise
        self._process = os.getpid()
        # Not __del__, whose order is anybody's guess where objects hold one another.
        self.close = weakref.finalize(owner, _close, context, self.socket, self.refusal, self._process)

    def check(self) -> None:
        """Error where nothing can be asked any more."""
        if not self.close.alive:
            raise Error("the client was closed")
        if os.getpid() != self._process:
            raise Error("this client was made before a fork, which it does not outlive; make one in each process")


def _close(context: Any, socket: Any, refusal: Refusal, process: int) -> None:
    if os.getpid() != process:  # a fork has the names of these things only
        return
    refusal.close()
    socket.close(0)
    context.term()


def connect(socket: Any, url: str, key: Key | None) -> Refusal:
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES_MAX)
    socket.setsockopt(zmq.RCVHWM, 0)  # only what was asked for comes; why no limit: net/limits/inbound_queue.h
    socket.setsockopt(zmq.HEARTBEAT_IVL, 2_000)  # a machine that vanished is noticed without traffic of ours
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 10_000)
    socket.setsockopt(zmq.RECONNECT_IVL, 50)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1_000)
    # Queue for a live connection only: what waits for an absent broker would reach it stale and many times over.
    socket.setsockopt(zmq.IMMEDIATE, 1)
    socket.setsockopt(zmq.IPV6, int(url.startswith("tcp://[")))
    if key is not None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, key.broker.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, key.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, key.secret.encode())
    refusal = Refusal(socket, url, key is not None)
    try:
        socket.connect(url)
    except zmq.ZMQError as error:
        refusal.close()
        raise BadInput(
            f"broker '{url}': {error.strerror}; tcp://HOST:PORT or ipc://PATH of a broker is needed"
        ) from None
    return refusal


def encoded(request_id: int, request: Request) -> bytes:
    try:
        data = encode_message(request_id, request)
    except Malformed as malformed:
        raise BadInput(f"this request cannot be written down: {malformed.what}") from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise BadInput(f"a request of {len(data)} bytes, a message may have {MESSAGE_BYTES_MAX}")
    return data


def decoded(url: str, frames: list[bytes]) -> tuple[int, Any] | None:
    """(request_id, reply), or nothing for a message of a shape that is not ours."""
    if len(frames) != 1:
        return None
    try:
        return decode_message(frames[0], REPLIES)
    except Malformed as malformed:
        raise BrokerUnreachable(
            f"broker {url} answered what this program does not understand ({malformed}); are both of one version?"
        ) from None


def refuses_unread(request_id: int, reply: Any) -> bool:
    """A broker that cannot read a request cannot repeat its number either, so it refuses with 0."""
    return request_id == 0 and isinstance(reply, Refused)


def resend_s(data: bytes, request: Request) -> float:
    return waits_s(request) + RESEND_S * (1 + len(data) // RESEND_BYTES)


def waits_s(request: Request) -> float:
    """How long the broker may wait before it answers."""
    return request.wait_ms / 1_000 if isinstance(request, StatusQuery) else 0.0


def at_once(request: Request) -> Request:
    """The same question, whose answer is not to wait."""
    return replace(request, wait_ms=0) if isinstance(request, StatusQuery) else request


def unanswered(url: str, timeout_s: float) -> BrokerUnreachable:
    return BrokerUnreachable(
        f"broker {url} did not answer within {timeout_s:.3g} s; is it running? start one with: kq up"
    )


def refused(url: str, reason: str) -> BadInput:
    return BadInput(f"broker {url} refuses the connection: {reason}")
