"""A client of kq-gateway for tests. It checks that every answer is one that share/kq.openapi.json describes."""

import http.client
import json
import re
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import kq

OPENAPI = json.loads((kq.ROOT / "share/kq.openapi.json").read_text())


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """Returns the description of an operation, or nothing where the description has none."""
    for template, item in OPENAPI["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path) and method.lower() in item:
            found: dict[str, Any] = item[method.lower()]
            return found
    return None


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.type = response.headers.get_content_type()
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


def check(method: str, path: str, answer: Answer) -> None:
    """Raises an AssertionError for an answer that is not described."""
    operation = operation_of(method, path.split("?")[0])
    if operation is None:
        if answer.status not in (400, 403, 404, 405):
            raise AssertionError(f"{method} {path} is not described, and was answered {answer.status}")
        return
    responses = operation["responses"]
    if str(answer.status) not in responses:
        raise AssertionError(f"{method} {path} was answered {answer.status}, described are {', '.join(responses)}")
    response = responses[str(answer.status)]
    if "$ref" in response:
        response = OPENAPI["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    if "content" not in response:
        if answer.body:
            raise AssertionError(f"{method} {path} was answered {answer.status} with a body: {answer.text}")
        return
    if answer.type not in response["content"]:
        raise AssertionError(f"{method} {path} was answered with the type {answer.type}")
    if answer.type in ("application/json", "application/problem+json"):
        schema = response["content"][answer.type]["schema"]
        if "$ref" in schema:
            schema = OPENAPI["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        missing = set(schema.get("required", [])) - set(answer.json)
        if missing:
            raise AssertionError(f"{method} {path} was answered without {missing}: {answer.text}")


class Client:
    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.token = token

    def call(
        self, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = body.encode() if isinstance(body, str) else body
        connection.request(method, path, data, own | dict(headers or {}))
        answer = Answer(connection.getresponse())
        connection.close()
        check(method, path, answer)
        return answer

    def get(self, path: str) -> Answer:
        return self.call("GET", path)

    def submit(self, lines: list[dict[str, Any]], run: str = "", key: str = "") -> Answer:
        body = "".join(json.dumps(line) + "\n" for line in lines)
        headers = {"Content-Type": "application/jsonl"} | ({"Idempotency-Key": key} if key else {})
        return self.call("POST", "/api/v1/jobs" + (f"?run={quote(run, safe='')}" if run else ""), body, headers)

    def raw(self, data: bytes, ends: bool = False) -> bytes:
        """Sends bytes and returns everything until the gateway closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as peer:
            try:
                peer.sendall(data)
                if ends:
                    peer.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the gateway has answered and closed
            received = b""
            while True:
                try:
                    part = peer.recv(65536)
                except OSError:
                    break
                if not part:
                    break
                received += part
            return received


def line(label: str, source: str = kq.RIGHT) -> dict[str, Any]:
    params = {"correctness": 1, "warmup": 0, "timed": 1}
    return {"id": label, "problem": "relu", "problem_source": kq.RELU, "source": source, "params": params}


def token_line(name: str, quota: int = 0) -> tuple[str, str]:
    """Returns a new token and its line for the file."""
    command = [str(kq.BIN / "kq-gateway"), "token", name, "--quota", str(quota)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stderr.split()[-1], done.stdout


def files_form(kernel: Path, problem: Path) -> tuple[bytes, str]:
    """Returns a form with two files, and its type."""
    parts = b""
    for name, path in (("kernel", kernel), ("problem", problem)):
        head = f'--kq\r\nContent-Disposition: form-data; name="{name}"; filename="{path.name}"\r\n\r\n'
        parts += head.encode() + path.read_bytes() + b"\r\n"
    return parts + b"--kq--\r\n", "multipart/form-data; boundary=kq"
