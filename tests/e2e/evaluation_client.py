"""A client of the evaluation server's REST routes, as its users have one: it builds IOContracts, sends /evaluate and
/compare, waits exactly as long as the job may take, and reads the answers. It needs only the standard library.
"""

import base64
import http.client
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: Json


@dataclass
class Contract:
    """An IOContract that is built argument by argument."""

    args: list[Json] = field(default_factory=list)
    launch: Json = field(default_factory=dict)

    def tensor(
        self, name: str, shape: Sequence[int], dtype: str = "float32", role: str = "input", **init: Any
    ) -> "Contract":
        spec: Json = {"shape": list(shape), "dtype": dtype}
        if init:
            spec["init"] = init
        self.args.append({"name": name, "type": "tensor", "role": role, "tensor_spec": spec})
        return self

    def data(self, name: str, values: Sequence[float], compress: str = "none") -> "Contract":
        """Adds float32 values that travel in the request."""
        raw = struct.pack(f"<{len(values)}f", *values)
        packed = zlib.compress(raw) if compress == "zlib" else raw
        data = {
            "data_b64": base64.b64encode(packed).decode(),
            "dtype": "float32",
            "shape": [len(values)],
            "compress": compress,
        }
        spec = {"shape": [len(values)], "dtype": "float32", "data": data}
        self.args.append({"name": name, "type": "tensor", "role": "input", "tensor_spec": spec})
        return self

    def scalar(self, name: str, kind: str, value: Any, is_meta: bool = False) -> "Contract":
        self.args.append({"name": name, "type": kind, "value": value, "role": "input", "is_meta": is_meta})
        return self

    def grid(self, x: int, y: int = 1, z: int = 1, **more: Any) -> "Contract":
        self.launch |= {"grid": {"x": x, "y": y, "z": z}} | more
        return self

    def json(self) -> Json:
        return {"args": self.args} | ({"launch": self.launch} if self.launch else {})


def kernel(source: str, kind: str, io: Contract | None = None, **metadata: Any) -> Json:
    made: Json = {"source_code": source, "kernel_type": kind}
    if io is not None:
        made["io"] = io.json()
    if metadata:
        made["metadata"] = metadata
    return made


class EvaluationClient:
    def __init__(self, host: str, port: int, timeout: int = 120) -> None:
        self.host, self.port, self.timeout = host, port, timeout

    def ask(self, method: str, path: str, body: Any = None, timeout: float | None = None) -> Answer:
        """Sends one request; a text is sent as it is, anything else as JSON."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout or self.timeout)
        try:
            text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
            headers = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body=text, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), json.loads(response.read()))
        finally:
            connection.close()

    def evaluate(self, one: Json, **more: Any) -> Answer:
        return self.ask("POST", "/evaluate", {"kernel": one, "num_trials": 10, "timeout": self.timeout} | more)

    def compare(self, reference: Json, custom: Json, path: str = "/compare", **more: Any) -> Answer:
        body = {"ref_kernel": reference, "custom_kernel": custom, "num_trials": 10, "timeout": self.timeout}
        return self.ask("POST", path, body | more)

    def batch(self, requests: list[Json]) -> Iterator[Json]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        try:
            connection.request("POST", "/batch", body=json.dumps({"requests": requests}))
            response = connection.getresponse()
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def job(self, job_id: str, wait: int = 0) -> Answer:
        return self.ask("GET", f"/job/{job_id}" + (f"?wait={wait}" if wait else ""))
