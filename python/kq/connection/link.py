"""The socket to a broker: checking the URL, connecting, encoding requests and decoding replies.

The Python twin of net/endpoint.cc and net/zmq/link.cc.
"""

from __future__ import annotations

import os
import re
import weakref
from dataclasses import replace
from typing import Any

import zmq

from kq.connection.handshake import HandshakeMonitor
from kq.connection.key import Key
from kq.connection.running import running_broker
from kq.errors import BadInput, BrokerUnreachable, Error
from kq.records.limits import MESSAGE_BYTES_MAX
from kq.wire.codec import Malformed, decode_message, encode_message
from kq.wire.messages import REPLIES, Refused, Request, StatusQuery

DEFAULT_BROKER_URL = "tcp://127.0.0.1:5570"
IPC_PATH_BYTES_MAX = 99
BROKERS_MAX = 4
# A request whose answer may wait is looked at this often, and sent again over a new connection.
RECONNECT_CHECK_S = 0.25
# A request without a reply is sent again after RESEND_S, plus RESEND_S for each RESEND_BYTES of its size. A request
# that is sent again too early only adds to the broker's work.
RESEND_S = 1.0
RESEND_BYTES = 4 << 20
RETRY_S = 0.02  # the pause after a send that ZeroMQ did not take, because the connection is still being made


def broker_url(url: str | None) -> str:
    """Returns the given URL, else KQ_BROKER, else that of a running `kq up`, else the default; raises BadInput if the
    URL is malformed.

    Several URLs with commas between them name a broker and those that take over for it.
    """
    url = url or os.environ.get("KQ_BROKER")
    if not url:
        running = running_broker()
        url = running.url if running else DEFAULT_BROKER_URL
    if not isinstance(url, str):
        raise BadInput(f"url must be a text such as {DEFAULT_BROKER_URL}, got {type(url).__name__}")
    brokers = url.split(",")
    if len(brokers) > BROKERS_MAX:
        raise BadInput(f"broker '{url}': at most {BROKERS_MAX} URLs may be given")
    for broker in brokers:
        _check_url(broker)
    return url


def _check_url(url: str) -> None:
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
                f"broker '{url}': the path is longer than the {IPC_PATH_BYTES_MAX} bytes that a socket path may have"
            )
    else:
        raise BadInput(f"broker '{url}': a URL such as tcp://127.0.0.1:5570 or ipc:///tmp/kq.sock is needed")


class Connection:
    """A DEALER socket, blocking or asyncio, that connects to a broker. Creating it does not wait for the broker.

    close() closes the socket. A connection that is not closed is closed when its `owner` is collected or Python exits,
    because a ZeroMQ context that is merely collected would wait for its monitor socket for ever.
    """

    def __init__(self, owner: object, context: Any, url: str, key: Key | None) -> None:
        self.socket = context.socket(zmq.DEALER)
        try:
            self.handshake = connect(self.socket, url, key)
        except BaseException:
            self.socket.close(0)
            context.term()
            raise
        self._process = os.getpid()
        # A finalizer instead of __del__, whose order is undefined for objects that refer to each other.
        self.close = weakref.finalize(owner, _close, context, self.socket, self.handshake, self._process)

    def check(self) -> None:
        """Raises Error if the connection is closed or was made in another process."""
        if not self.close.alive:
            raise Error("the client was closed")
        if os.getpid() != self._process:
            raise Error("this client was made before a fork and cannot be used after it; make one in each process")


def _close(context: Any, socket: Any, handshake: HandshakeMonitor, process: int) -> None:
    if os.getpid() != process:  # the sockets belong to the parent of this forked process
        return
    handshake.close()
    socket.close(0)
    context.term()


def connect(socket: Any, url: str, key: Key | None) -> HandshakeMonitor:
    """Sets the socket's options, starts to connect, and returns the monitor of its handshakes.

    With several brokers, a message goes to one that is connected; those that do not serve do not listen.
    """
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES_MAX)
    socket.setsockopt(zmq.RCVHWM, 0)  # no limit: the broker sends replies only; net/limits/inbound_queue.h says more
    socket.setsockopt(zmq.HEARTBEAT_IVL, 2_000)  # detects a dead machine even without requests
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 10_000)
    socket.setsockopt(zmq.RECONNECT_IVL, 50)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1_000)
    # Messages are queued only for a live connection. Requests queued for an absent broker would reach it late and
    # often.
    socket.setsockopt(zmq.IMMEDIATE, 1)
    socket.setsockopt(zmq.IPV6, int("tcp://[" in url))
    if key is not None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, key.broker.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, key.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, key.secret.encode())
    handshake = HandshakeMonitor(socket, url, key is not None)
    try:
        for broker in url.split(","):
            socket.connect(broker)
    except zmq.ZMQError as error:
        handshake.close()
        raise BadInput(
            f"broker '{url}': {error.strerror}; tcp://HOST:PORT or ipc://PATH of a broker is needed"
        ) from None
    return handshake


def encoded(request_id: int, request: Request) -> bytes:
    """Returns the bytes of a request; raises BadInput if it cannot be encoded or is too large."""
    try:
        data = encode_message(request_id, request)
    except Malformed as malformed:
        raise BadInput(f"this request cannot be encoded: {malformed.what}") from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise BadInput(f"the request has {len(data)} bytes, a message may have {MESSAGE_BYTES_MAX}")
    return data


def decoded(url: str, frames: list[bytes]) -> tuple[int, Any] | None:
    """Returns (request_id, reply), or None for a message with more than one frame.

    Raises BrokerUnreachable if the bytes are not a reply of this protocol version.
    """
    if len(frames) != 1:
        return None
    try:
        return decode_message(frames[0], REPLIES)
    except Malformed as malformed:
        raise BrokerUnreachable(
            f"broker {url} sent a reply that this program does not understand ({malformed}); "
            "do both have the same version?"
        ) from None


def is_refusal_of_unreadable(request_id: int, reply: Any) -> bool:
    """Whether the reply refuses a request that the broker could not read.

    The broker cannot repeat the number of such a request, so its refusal has the number 0.
    """
    return request_id == 0 and isinstance(reply, Refused)


def resend_s(data: bytes, request: Request) -> float:
    """Returns after how many seconds without a reply the request is sent again."""
    return broker_wait_s(request) + RESEND_S * (1 + len(data) // RESEND_BYTES)


def broker_wait_s(request: Request) -> float:
    """Returns how many seconds the broker may hold back its answer."""
    return request.wait_ms / 1_000 if isinstance(request, StatusQuery) else 0.0


def without_wait(request: Request) -> Request:
    """Returns the same request, to be answered immediately."""
    return replace(request, wait_ms=0) if isinstance(request, StatusQuery) else request


def unanswered(url: str, timeout_s: float) -> BrokerUnreachable:
    """Returns the error for a request without a reply."""
    running = running_broker()
    if running and running.url == url:
        folder = running.state_folder
        return BrokerUnreachable(
            f"broker {url}, which kq up or kq sweep runs in {folder}, did not answer within {timeout_s:.3g} s; see "
            f"{folder}/broker.log"
        )
    return BrokerUnreachable(
        f"broker {url} did not answer within {timeout_s:.3g} s; is it running? start one with: kq up"
    )


def refused(url: str, reason: str) -> BadInput:
    """Returns the error for a broker that refuses the connection."""
    return BadInput(f"broker {url} refuses the connection: {reason}")
