"""Tests kq-top with a real broker: as text and JSON, and on a pseudo-terminal, whose screen the test keeps."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import unittest
from collections.abc import Iterator

import kq
from gateway_test import GatewayTest

ENTERS, LEAVES = "\x1b[?1049h", "\x1b[?1049l"  # the other screen of an xterm, which keeps the one before
SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?>]*[ -/]*[@-~]|[()][A-Z0-9]|[=>78])")


class Terminal:
    """kq-top on a pseudo-terminal. `all` is what it has written."""

    def __init__(self, *words: str, width: int = 120, height: int = 40, **changes: str) -> None:
        self.controller, self.terminal = pty.openpty()
        self.resize(width, height, tell=False)
        self.modes = termios.tcgetattr(self.terminal)
        self.text = ""  # since the last key
        self.all = ""
        self.process = subprocess.Popen(
            [kq.BIN / "kq-top", *words],
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            start_new_session=True,
            env=kq.environment(**{"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | changes),
        )

    def resize(self, width: int, height: int, tell: bool = True) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        # The kernel sends SIGWINCH only to the foreground processes of a session, and this terminal has no session.
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys: str) -> None:
        self.read()
        self.text = ""
        os.write(self.controller, keys.encode())

    def read(self) -> None:
        while select.select([self.controller], [], [], 0)[0]:
            part = os.read(self.controller, 1 << 16).decode(errors="replace")
            self.text += part
            self.all += part

    def shows(self, wanted: str) -> bool:
        """Returns whether the text was written since the last key. Asks for the whole screen where it was not, because
        only what has changed is drawn otherwise.
        """
        self.read()
        if wanted in SEQUENCE.sub("", self.text):
            return True
        os.write(self.controller, b"\x0c")
        return False

    def wait_for(self, wanted: str) -> None:
        try:
            kq.wait_until(lambda: self.shows(wanted), f"the screen shows {wanted!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows {self.text!r}") from None

    def wait(self) -> int:
        # The test reads while it waits, because kq-top blocks once the buffer of the terminal is full.
        kq.wait_until(lambda: self.read() or self.process.poll() is not None, "kq-top has ended")
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        os.close(self.controller)
        os.close(self.terminal)


class Top(GatewayTest):
    @contextlib.contextmanager
    def top(self, *words: str, **changes: str) -> Iterator[Terminal]:
        terminal = Terminal("--broker", self.url, *words, **changes)
        try:
            yield terminal
        finally:
            terminal.close()

    def facts(self) -> dict:
        done = kq.kq("top", "--json", KQ_BROKER=self.url)
        self.assert_end(done, 0)
        return json.loads(done.stdout)

    def assert_restored(self, terminal: Terminal) -> None:
        self.assertEqual(termios.tcgetattr(terminal.terminal), terminal.modes)
        terminal.read()
        self.assertEqual((terminal.all.count(ENTERS), terminal.all.count(LEAVES)), (1, 1), terminal.all)

    def test_text_and_json_are_printed_where_there_is_no_terminal(self) -> None:
        with self.light_worker():
            self.submit("monday", {"relu/2": kq.RIGHT, "relu/19": kq.WRONG})
            kq.wait_until(lambda: self.facts()["runs"][0]["finished"] == 2, "both jobs are finished")
        done = kq.kq("top", KQ_BROKER=self.url)
        self.assert_end(done, 0)
        self.assertIn("Jobs      0 queued, 0 building, 0 running, - done/s\n", done.stdout)
        self.assertIn("1 passed, 1 wrong_answer since the broker started\n", done.stdout)
        self.assertRegex(done.stdout, r"\nmonday +\S+ +##########  +2/2 +1 +1 +0 +0 +- +done\n")
        self.assertRegex(done.stdout, r" ago +monday +relu/19 +wrong_answer")
        self.assertNotIn("\x1b", done.stdout)
        done = kq.kq("top", "--json", "--count", "2", "--interval", "1.2", KQ_BROKER=self.url)
        self.assert_end(done, 0)
        first, second = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual(first["queue"]["finished"], {"passed": 1, "wrong_answer": 1})
        self.assertEqual((first["queue"]["finished_per_s"], second["queue"]["finished_per_s"]), (None, 0))
        self.assertEqual((first["runs"][0]["passed"], first["runs"][0]["failed"]), (1, 1))
        self.assertEqual(first["failures"][0]["label"], "relu/19")

    def test_bad_input_is_one_sentence(self) -> None:
        for words, sentence in (
            (("--interval", "0.1"), "kq-top: --interval must be from 0.5 to 3600 seconds, got 0.1\n"),
            (("--broker", "nowhere"), "nowhere"),
        ):
            done = kq.kq("top", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(sentence, done.stderr)

    def test_a_dumb_terminal_gets_text(self) -> None:
        with self.top(TERM="dumb") as terminal:
            self.assertEqual(terminal.wait(), 0)
            terminal.wait_for("Workers   0")
            self.assertNotIn("\x1b", terminal.text)
        with self.top(TERM="no-such-terminal") as terminal:
            self.assertEqual(terminal.wait(), 2)
            terminal.wait_for("there is no description of the terminal 'no-such-terminal' here")

    def test_the_screen_follows_keys_and_sizes_and_q_restores_the_terminal(self) -> None:
        self.submit("monday", {"relu/2": kq.RIGHT, "relu/19": kq.WRONG})
        with self.light_worker(), self.top("--interval", "0.5") as terminal:
            terminal.wait_for("monday")
            terminal.wait_for("light")
            terminal.wait_for("wrong_answer")
            self.assertNotEqual(termios.tcgetattr(terminal.terminal), terminal.modes)
            terminal.press("s")
            terminal.wait_for("name")
            terminal.press("/nosuch\r")
            terminal.wait_for("nothing has 'nosuch' in its name")
            terminal.press("\x1b")
            terminal.press("?")
            terminal.wait_for("pauses, and goes on")
            terminal.press("?p")
            terminal.wait_for("paused")
            terminal.press("p")
            # A smaller screen has room for fewer lines, so the last line says which are shown.
            terminal.resize(90, 10)
            terminal.wait_for("lines 1-")
            terminal.press("\x1bOB")
            terminal.wait_for("lines 2-")
            terminal.press("q")
            self.assertEqual(terminal.wait(), 0)
            self.assert_restored(terminal)

    def test_an_outage_is_shown_and_ends(self) -> None:
        self.submit("monday", {"relu/2": kq.RIGHT})
        with self.top("--interval", "0.5") as terminal:
            terminal.wait_for("monday")
            self.running_broker.kill()
            self.running_broker.wait(30)
            terminal.wait_for("the broker has not answered for")
            terminal.press("s")  # keys are answered meanwhile
            terminal.wait_for("name")
            with self.broker(), self.light_worker():
                terminal.wait_for("light")
            terminal.press("q")
            self.assertEqual(terminal.wait(), 0)

    def test_a_stop_signal_restores_the_terminal(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.top(NO_COLOR="1") as terminal:
                terminal.wait_for("Workers")
                terminal.process.send_signal(number)
                self.assertEqual(terminal.wait(), 128 + number)
                self.assert_restored(terminal)
                self.assertNotRegex(terminal.text, r"\x1b\[3[0-9]m")

    def test_q_is_answered_while_no_broker_was_ever_there(self) -> None:
        self.running_broker.kill()
        with self.top() as terminal:
            terminal.wait_for("the broker has not answered for")
            terminal.press("q")
            self.assertEqual(terminal.wait(), 0)
            self.assert_restored(terminal)


if __name__ == "__main__":
    unittest.main()
