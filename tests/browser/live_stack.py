"""A broker and a gateway for tests of the live page, and workers that hold every job they get."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import browser  # the path to tests/e2e comes with it
import kq
from http_client import Client, token_line
from ports import free_port

WORKERS = Path(__file__).with_name("holding_workers.py")


class Stack:
    """The addresses of a running broker and gateway, and the token of an operator."""

    def __init__(self, broker: str, port: int, token: str) -> None:
        self.broker = broker
        self.url = f"http://127.0.0.1:{port}/"
        self.client = Client(port)
        self.operator = Client(port, token)
        self.token = token


@contextlib.contextmanager
def stack(folder: Path, store: Path | None = None, tokens: str = "") -> Iterator[Stack]:
    """Runs a broker on the store, and a gateway with one operator; with `tokens` requests need a token."""
    folder.mkdir(parents=True, exist_ok=True)
    url = f"ipc://{folder}/broker"
    token, line = token_line("root")
    (folder / "operators").write_text(line)
    port = free_port()
    words = ["--broker", url, "--listen", f"127.0.0.1:{port}", "--operators", folder / "operators"]
    if tokens:
        (folder / "tokens").write_text(tokens)
        words += ["--tokens", folder / "tokens"]
    with (
        kq.program("kq-broker", "--bind", url, "--store", store or folder / "store"),
        kq.program("kq-gateway", *words),
    ):
        made = Stack(url, port, token)
        kq.wait_until(lambda: made.client.get("/health").status == 200, "the gateway reaches the broker")
        yield made


@contextlib.contextmanager
def holding_workers(broker: str, count: int, busy: int = 0) -> Iterator[None]:
    """Connects workers; `busy` of them take one job each and never end it."""
    words = [sys.executable, str(WORKERS), broker, str(count), str(busy)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


class LiveTest(browser.BrowserTest):
    """The tests of a class share a broker and a gateway."""

    stack: Stack

    @classmethod
    def start(cls, store: Path | None = None) -> None:
        running = stack(cls.folder / "stack", store)
        cls.stack = running.__enter__()
        cls.addClassCleanup(running.__exit__, None, None, None)
        cls.hosts = (cls.stack.url,)

    def tearDown(self) -> None:
        self.assertIsNone(self.js("return document.documentElement.dataset.broken ?? null"))
        self.js("sessionStorage.clear()")
        super().tearDown()

    def texts(self, selector: str) -> list[str]:
        """Returns the texts at one moment, because events replace elements at any time."""
        script = "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility())"
        found: list[str] = self.js(script + ".map((one) => one.innerText.trim())", selector)
        return found

    def wait_for_text(self, selector: str, text: str) -> None:
        self.until(lambda: any(text in one for one in self.texts(selector)), f"{selector} has {text!r}")

    def press(self, place: str, name: str) -> None:
        """Presses the button with this name at this place."""
        # Events may replace the button at any time, so one script finds and presses it.
        script = """
            const [place, name] = arguments;
            const isMeant = (one) => one.innerText === name && one.checkVisibility();
            const button = [...document.querySelectorAll(place)].find(isMeant);
            button?.click();
            return button !== undefined;
        """
        self.until(lambda: self.js(script, f"{place} button", name), f"{place} has a button {name}")
        if place == "#ask":
            self.until(lambda: not self.js("return document.getElementById('ask').open"), "the question is closed")

    def sign_in(self, token: str) -> None:
        self.one("#sign").click()
        self.one("#token").send_keys(token)
        self.one("#ask-yes").click()
