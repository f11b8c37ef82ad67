"""Why a broker lets nobody in: what ZeroMQ tells of a connection's handshakes."""

from __future__ import annotations

from typing import Any

import zmq
from zmq.utils.monitor import parse_monitor_message

MONITOR_ADDRESS = "inproc://kq.monitor"
DISCONNECTS_MAX = (
    3  # handshakes broken off in a row, before that is told: once may be a broker that was just being stopped
)

# Not every pyzmq has names for these (zmq.h, ZeroMQ 4.3).
MECHANISM_MISMATCH = 0x11000002


class HandshakeMonitor:
    """Listens beside one DEALER, in the same thread."""

    def __init__(self, socket: Any, url: str, has_key: bool) -> None:
        """Before the socket connects, and as the only one of its context. Any kind of socket; this never waits."""
        self._socket, self._url, self._has_key = socket, url, has_key
        self._reason: str | None = None
        self._disconnects = 0
        self._must_connect_again = False  # refused outright: ZeroMQ does not connect again by itself
        socket.monitor(
            MONITOR_ADDRESS,
            zmq.EVENT_HANDSHAKE_SUCCEEDED
            | zmq.EVENT_HANDSHAKE_FAILED_AUTH
            | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
            | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL,
        )
        self._monitor: Any = zmq.Context.shadow(socket.context.underlying).socket(zmq.PAIR)
        self._monitor.connect(MONITOR_ADDRESS)

    def refusal_reason(self) -> str | None:
        """A sentence, once the broker is known to refuse this connection."""
        while self._monitor.poll(0):
            event = parse_monitor_message(self._monitor.recv_multipart())
            self._on_event(event["event"], event["value"])
        return self._reason

    def reconnect_if_refused(self) -> None:
        """What was refused before may be let in now: keys come and go. Does nothing unless it was refused."""
        if self.refusal_reason() is None:
            return
        self._reason, self._disconnects = None, 0
        if self._must_connect_again:
            self._must_connect_again = False
            try:
                self._socket.disconnect(self._url)
            except zmq.ZMQError:
                pass  # nothing is left of the connection
            self._socket.connect(self._url)

    def close(self) -> None:
        self._socket.disable_monitor()
        self._monitor.close(0)

    def _on_event(self, event: int, value: int) -> None:
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._reason, self._disconnects = None, 0
        elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            self._refuse("it does not let this key in")
        elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value != MECHANISM_MISMATCH:
            self._refuse("what answers there is not a broker, or has other keys than this key was made for")
        elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            self._refuse(
                "it runs without keys; leave out key and KQ_KEY"
                if self._has_key
                else "it wants a key; give the path of yours as key or KQ_KEY"
            )
        else:
            self._disconnects += 1
            if self._disconnects >= DISCONNECTS_MAX:
                self._reason = "it hangs up before the handshake is over; " + (
                    "either it runs without keys, or this key was made for another broker"
                    if self._has_key
                    else "if it wants a key, give the path of yours as key or KQ_KEY"
                )

    def _refuse(self, reason: str) -> None:
        self._reason, self._must_connect_again = reason, True
