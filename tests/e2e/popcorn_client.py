"""A client in the place of popcorn-cli, as its users call it: it reads and writes ~/.popcorn.yaml, sends
X-Popcorn-Cli-Id, submits a form with one file, asks until the submission ends, and reads events. It needs only the
standard library.

    popcorn_client.py register discord
    popcorn_client.py submit [--leaderboard NAME] [--gpu NAME] --mode MODE --no-tui FILE
    popcorn_client.py submissions list --leaderboard NAME | show ID | delete ID
"""

import argparse
import http.client
import json
import os
import re
import sys
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 120
PAUSE_S = 0.2


class Refused(Exception):
    """An answer that the client ends with: its status and the text of its detail."""


@dataclass
class PopcornClient:
    url: str
    cli_id: str = ""

    def ask(self, method: str, path: str, body: bytes | None = None, type_: str = "") -> http.client.HTTPResponse:
        address = urllib.parse.urlsplit(self.url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=LIMIT_S)
        headers = {"Connection": "close"} | ({"X-Popcorn-Cli-Id": self.cli_id} if self.cli_id else {})
        connection.request(method, path, body, headers | ({"Content-Type": type_} if type_ else {}))
        response = connection.getresponse()
        if not 200 <= response.status < 300:
            text = response.read().decode()
            raise Refused(f"Server returned status {response.status}: {json.loads(text)['detail']}")
        return response

    def json(self, method: str, path: str) -> Any:
        return json.loads(self.ask(method, path).read())

    def register(self, provider: str = "discord") -> str:
        self.cli_id = self.json("GET", f"/auth/init?provider={provider}")["state"]
        return self.cli_id

    def send(self, path: str, file: Path) -> http.client.HTTPResponse:
        line = uuid.uuid4().hex
        head = f'--{line}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
        body = head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + file.read_bytes()
        return self.ask("POST", path, body + f"\r\n--{line}--\r\n".encode(), f"multipart/form-data; boundary={line}")

    def submit(self, file: Path, board: str, gpu: str, mode: str) -> dict[str, Any]:
        """Submits and waits. Raises Refused where the submission failed, as the client ends with an error."""
        accepted = json.loads(self.send(f"/submission/{board.lower()}/{gpu}/{mode.lower()}", file).read())
        number = accepted["details"]["id"]
        assert isinstance(number, int)
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            details: dict[str, Any] = self.json("GET", f"/user/submissions/{number}")
            status = details["job"]["status"]
            if status in ("failed", "timed_out", "hacked"):
                raise Refused(f"Submission {number} {status}: {details['job']['error']}")
            if details["done"]:
                return details
            time.sleep(PAUSE_S)
        raise TimeoutError(f"submission {number} was not done after {LIMIT_S} s")

    def events(self, file: Path, board: str, gpu: str, mode: str) -> Iterator[tuple[str, Any]]:
        """Submits, and returns the events until the result."""
        response = self.send(f"/{board.lower()}/{gpu}/{mode.lower()}", file)
        assert response.headers.get_content_type() == "text/event-stream"
        frame: dict[str, str] = {}
        for line in response:
            name, _, value = line.decode().rstrip("\n").partition(":")
            if name:
                frame[name] = value.strip()
            elif frame:
                yield frame["event"], json.loads(frame["data"])
                frame = {}


def directive(file: Path, word: str) -> str | None:
    found = re.findall(rf"^(?:#|//)!POPCORN\s+{word}s?\s+(\S+)", file.read_text(), flags=re.MULTILINE)
    return found[-1] if found else None


def result_text(details: dict[str, Any]) -> str:
    lines = [
        f"Geomean score (public) on {run['runner']}: {float(run['score'])} s"
        for run in details["runs"]
        if run["mode"] == "leaderboard" and run["score"] is not None
    ]
    runs = [{k: run[k] for k in ("mode", "secret", "runner", "score", "passed")} for run in details["runs"]]
    body = {"submission_id": details["id"], "leaderboard": details["leaderboard_name"], "runs": runs}
    return "\n".join([*lines, json.dumps(body, indent=2)])


def main() -> None:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("register").add_argument("provider")
    submit = verbs.add_parser("submit")
    for option in ("--leaderboard", "--gpu", "--mode"):
        submit.add_argument(option)
    submit.add_argument("--no-tui", action="store_true")
    submit.add_argument("file", type=Path)
    submissions = verbs.add_parser("submissions")
    submissions.add_argument("what", choices=["list", "show", "delete"])
    submissions.add_argument("number", nargs="?")
    submissions.add_argument("--leaderboard")
    words = parser.parse_args()
    config = Path(os.environ["HOME"]) / ".popcorn.yaml"
    known = re.search(r"cli_id: (\S+)", config.read_text()) if config.exists() else None
    client = PopcornClient(os.environ["POPCORN_API_URL"], known[1] if known else "")
    if words.verb == "register":
        config.write_text(f"cli_id: {client.register(words.provider)}\n")
    elif words.verb == "submit":
        board = words.leaderboard or directive(words.file, "leaderboard")
        gpu = words.gpu or directive(words.file, "gpu")
        print(result_text(client.submit(words.file, board, gpu, words.mode)))
    elif words.what == "list":
        for one in client.json("GET", f"/user/submissions?leaderboard={words.leaderboard}&limit=50"):
            scores = [run["score"] for run in one["runs"] if run["score"] is not None]
            print(one["id"], one["leaderboard_name"], one["file_name"], one["done"], *scores)
    else:
        method = "GET" if words.what == "show" else "DELETE"
        print(json.dumps(client.json(method, f"/user/submissions/{words.number}"), indent=2))


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        sys.exit(f"Application error: {refusal}")
