"""Measures kq-gateway: many clients that wait for results, the time of /health meanwhile, and the time of one job."""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("KQ_BIN") or ROOT / "build/release/bin")
HEALTH_PAUSE_S = 0.005
HEALTH_P99_TARGET_MS = 50.0
OVERHEAD_TARGET_MS = 3.0
LIMIT_S = 120

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(64, 64)]
"""
KERNEL = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


# {mark}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(*words: str | Path, ready: bool = True) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a program, and ends it behind the block."""
    reader, writer = os.pipe()
    more = ["--ready-fd", str(writer)] if ready else []
    process = subprocess.Popen([*map(str, words), *more], pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    with open(reader) as pipe:
        if ready and not pipe.readline():
            raise SystemExit(f"gateway: {words[0]} did not start")
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def submission(label: str) -> bytes:
    line = {"id": label, "problem": "p", "problem_source": PROBLEM, "source": KERNEL.format(mark=label)}
    return json.dumps(line).encode()


def request_bytes(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/jsonl\r\n"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> tuple[int, bytes]:
    """Sends a request and returns status and body of its answer."""
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(one[15:]) for one in head.split(b"\r\n") if one.lower().startswith(b"content-length:"))
    return int(head.split(b" ")[1]), await reader.readexactly(length)


class Health(threading.Thread):
    """Asks for /health again and again over new connections, and keeps the times in ms."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.times: list[float] = []
        self.errors = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(HEALTH_PAUSE_S):
            started = time.perf_counter()
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=10) as peer:
                    peer.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    answer = b""
                    while part := peer.recv(4096):
                        answer += part
                self.errors += not answer.startswith(b"HTTP/1.1 200 ")
            except OSError:
                self.errors += 1
            self.times.append((time.perf_counter() - started) * 1000)

    def figures(self) -> dict[str, float]:
        self.ended.set()
        self.join()
        times = sorted(self.times)
        return {
            "requests": len(times),
            "errors": self.errors,
            "p50_ms": times[len(times) // 2],
            "p99_ms": times[int(len(times) * 0.99)],
            "max_ms": times[-1],
        }


async def client_of_many(port: int, name: str, rounds: int, errors: list[str]) -> list[float]:
    """Submits jobs one after the other over one connection, waits for each, and returns the times in ms."""
    times = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(rounds):
        started = time.perf_counter()
        body = submission(f"{name}-{number}x")
        status, answer = await exchange(reader, writer, request_bytes("POST", f"/api/v1/jobs?run={name}", body))
        if status == 201:
            job = json.loads(answer)["jobs"][0]["id"]
            status, answer = await exchange(reader, writer, request_bytes("GET", f"/api/v1/jobs/{job}/result?wait=60"))
        if status != 200:
            errors.append(f"{status} {answer[:200]!r}")
        times.append((time.perf_counter() - started) * 1000)
    writer.close()
    return times


async def many_clients(port: int, clients: int, rounds: int, errors: list[str]) -> list[float]:
    parts = await asyncio.gather(*(client_of_many(port, f"c{i}", rounds, errors) for i in range(clients)))
    return [time_ms for part in parts for time_ms in part]


async def waiting_clients(port: int, clients: int, seconds: float, worker: list[str]) -> dict[str, float]:
    """Lets clients wait for results while no worker is there, then starts a worker, and counts the answers."""
    errors: list[str] = []
    tasks = [asyncio.create_task(client_of_many(port, f"w{i}", 1, errors)) for i in range(clients)]
    await asyncio.sleep(2)  # until all of them wait
    health = Health(port)
    health.start()
    await asyncio.sleep(seconds)
    figures = health.figures()
    with running(*worker, ready=False):
        started = time.perf_counter()
        await asyncio.wait_for(asyncio.gather(*tasks), LIMIT_S)
        all_ms = (time.perf_counter() - started) * 1000
    return {f"health_{name}": value for name, value in figures.items()} | {
        "clients": clients,
        "errors": len(errors),
        "all_answered_ms": all_ms,
    }


def working_clients(port: int, clients: int, rounds: int) -> dict[str, float]:
    errors: list[str] = []
    health = Health(port)
    health.start()
    started = time.perf_counter()
    times = sorted(asyncio.run(many_clients(port, clients, rounds, errors)))
    elapsed_s = time.perf_counter() - started
    for error in errors[:5]:
        print(f"gateway: {error}", file=sys.stderr)
    return {f"health_{name}": value for name, value in health.figures().items()} | {
        "clients": clients,
        "errors": len(errors),
        "jobs_per_s": len(times) / elapsed_s,
        "job_p50_ms": times[len(times) // 2],
        "job_p99_ms": times[int(len(times) * 0.99)],
    }


def one_job(port: int, url: str, folder: Path, rounds: int) -> dict[str, float]:
    """Compares one job by HTTP with one by kq-submit --wait, the one after the other in turn."""
    errors: list[str] = []
    (folder / "p.py").write_text(PROBLEM)
    http, submit = [], []
    for number in range(rounds):
        http += asyncio.run(client_of_many(port, f"one{number}", 1, errors))
        (folder / "k.py").write_text(KERNEL.format(mark=f"submit {number}"))
        words = [BIN / "kq-submit", folder / "k.py", "--problem", folder / "p.py", "--run", f"s{number}"]
        started = time.perf_counter()
        subprocess.run([*words, "--wait", "--broker", url, "--quiet"], check=True, capture_output=True)
        submit.append((time.perf_counter() - started) * 1000)
    return {
        "rounds": rounds,
        "errors": len(errors),
        "http_p50_ms": statistics.median(http),
        "kq_submit_p50_ms": statistics.median(submit),
        "overhead_p50_ms": statistics.median(http) - statistics.median(submit),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kq-bench.") as name:
        folder = Path(name)
        url, port = f"ipc://{folder}/b", free_port()
        worker = [str(BIN / "light_worker"), url, "light"]
        broker = (BIN / "kq-broker", "--bind", url, "--store", folder / "store")
        gateway = (BIN / "kq-gateway", "--broker", url, "--listen", f"127.0.0.1:{port}", "--log-level", "warning")
        with running(*broker), running(*gateway) as process:
            waiting = asyncio.run(waiting_clients(port, options.clients, options.seconds, worker))
            with running(*worker, ready=False):
                working = working_clients(port, options.clients, options.rounds)
                one = one_job(port, url, folder, options.single)
            status = Path(f"/proc/{process.pid}/status").read_text()
            resident = next(int(one.split()[1]) for one in status.splitlines() if one.startswith("VmHWM"))
    return {"waiting": waiting, "working": working, "one_job": one, "gateway_peak_mb": resident / 1024}


def as_table(result: dict[str, Any]) -> str:
    waiting, working, one = result["waiting"], result["working"], result["one_job"]
    rows = [
        ("clients that wait", f"{waiting['clients']}, {waiting['errors']} errors", ""),
        ("/health p50, p99, max ms", times_of(waiting), f"p99 < {HEALTH_P99_TARGET_MS:.0f}"),
        ("all answered after the worker starts", f"{waiting['all_answered_ms']:.0f} ms", ""),
        ("clients that submit and wait", f"{working['clients']}, {working['errors']} errors", "no error"),
        ("/health p50, p99, max ms", times_of(working), f"p99 < {HEALTH_P99_TARGET_MS:.0f}"),
        ("jobs", f"{working['jobs_per_s']:.0f}/s, p50 {working['job_p50_ms']:.0f} ms", ""),
        ("one job by HTTP, by kq-submit", f"{one['http_p50_ms']:.1f} ms, {one['kq_submit_p50_ms']:.1f} ms", ""),
        ("overhead at the median", f"{one['overhead_p50_ms']:.1f} ms", f"<= {OVERHEAD_TARGET_MS:.0f}"),
        ("peak memory of the gateway", f"{result['gateway_peak_mb']:.0f} MB", ""),
    ]
    lines = ["| what | measured | target |", "|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def times_of(figures: dict[str, float]) -> str:
    return f"{figures['health_p50_ms']:.1f}, {figures['health_p99_ms']:.1f}, {figures['health_max_ms']:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench gateway", description=__doc__)
    parser.add_argument("--clients", type=int, default=500, help="clients at the same time (default: 500)")
    parser.add_argument(
        "--seconds", type=float, default=10, help="how long clients wait without a worker (default: 10)"
    )
    parser.add_argument("--rounds", type=int, default=10, help="jobs of each client that submits (default: 10)")
    parser.add_argument("--single", type=int, default=40, help="jobs that are run alone (default: 40)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * options.clients + 256)), hard))
    result = measure(options)
    print(as_table(result))
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    errors = result["waiting"]["errors"] + result["working"]["errors"] + result["one_job"]["errors"]
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
