"""Finds out why a broker refuses a connection, from the handshake events of ZeroMQ's socket monitor.

ZeroMQ tries again and again after a failed handshake and never reports an error on the socket itself. A monitor socket
receives one event for each success or failure; HandshakeMonitor turns these events into an error sentence.
"""

from __future__ import annotations

from typing import Any

import zmq
from zmq.utils.monitor import parse_monitor_message

MONITOR_ADDRESS = "inproc://kq.monitor"
# After so many broken handshakes in a row the broker counts as refusing. A single one may be a broker that is stopping.
DISCONNECTS_MAX = 3

# The value is from zmq.h of ZeroMQ 4.3; not every version of pyzmq has a name for it.
MECHANISM_MISMATCH = 0x11000002


class HandshakeMonitor:
    """Monitors the handshakes of one DEALER socket. It is used by the thread that uses the socket."""

    def __init__(self, socket: Any, url: str, has_key: bool) -> None:
        """Starts monitoring. Call it before the socket connects; a context may have one such monitor.

        The socket may be blocking or asyncio; no method of this class blocks.
        """
        self._socket, self._url, self._has_key = socket, url, has_key
        self._reason: str | None = None
        self._disconnects = 0
        self._connections = 0
        self._must_connect_again = False  # ZeroMQ does not reconnect by itself after a refusal
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
        """Returns a sentence if the broker refuses this connection, else None."""
        while self._monitor.poll(0):
            event = parse_monitor_message(self._monitor.recv_multipart())
            self._on_event(event["event"], event["value"])
        return self._reason

    def connection_count(self) -> int:
        """Returns how many connections were made. Requests that were sent over an earlier one may be lost."""
        self.refusal_reason()
        return self._connections

    def reconnect_if_refused(self) -> None:
        """Connects again if the broker refused before, because the broker's keys may have changed meanwhile."""
        if self.refusal_reason() is None:
            return
        self._reason, self._disconnects = None, 0
        if self._must_connect_again:
            self._must_connect_again = False
            for broker in self._url.split(","):
                try:
                    self._socket.disconnect(broker)
                except zmq.ZMQError:
                    pass  # ZeroMQ has already dropped the connection
                self._socket.connect(broker)

    def close(self) -> None:
        """Stops monitoring. Call it before the socket is closed."""
        self._socket.disable_monitor()
        self._monitor.close(0)

    def _on_event(self, event: int, value: int) -> None:
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._reason, self._disconnects = None, 0
            self._connections += 1
        elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            self._refuse("it does not accept this key")
        elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value != MECHANISM_MISMATCH:
            self._refuse("the peer is not a broker, or has other keys than the broker that this key was made for")
        elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            self._refuse(
                "it runs without keys; leave out key and KQ_KEY"
                if self._has_key
                else "it needs a key; give the path of your key as key or KQ_KEY"
            )
        else:
            self._disconnects += 1
            if self._disconnects >= DISCONNECTS_MAX:
                self._reason = "it disconnects before the handshake is over; " + (
                    "either it runs without keys, or this key was made for another broker"
                    if self._has_key
                    else "if it needs a key, give the path of your key as key or KQ_KEY"
                )

    def _refuse(self, reason: str) -> None:
        self._reason, self._must_connect_again = reason, True
