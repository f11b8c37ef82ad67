"""Tests kq-gateway with a real broker. Most tests use a worker with invented results, one the real worker."""

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path

import kq
from http_client import Client, files_form, line, token_line
from ports import free_port

GIB = 1 << 30
MUTATIONS = int(os.environ.get("KQ_MUTATIONS", "300"))
# A mutated request may reach any path, or break a rule of HTTP before it has one.
ALL_STATUSES = (200, 201, 202, 400, 403, 404, 405, 408, 413, 414, 415, 422, 429, 431, 501, 503, 505)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Replaces a few bytes in a few places by a few others."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed))
        changed[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
    return bytes(changed)


class GatewayTest(kq.QueueTest):
    """Each test has a broker, and gateways as it needs."""

    def setUp(self) -> None:
        super().setUp()
        self.running = self.broker()
        self.running_broker = self.running.__enter__()

    def tearDown(self) -> None:
        self.running.__exit__(None, None, None)
        super().tearDown()

    @contextlib.contextmanager
    def gateway(self, *words: str, port: int = 0, **changes: str) -> Iterator[Client]:
        port = port or free_port()
        log = (self.folder / "gateway.log").open("ab")
        broker = () if "--broker" in words else ("--broker", self.url)
        process = kq.start("kq-gateway", *broker, "--listen", f"127.0.0.1:{port}", *words, stderr=log, **changes)
        self.process = process
        try:
            yield Client(port)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(30)
            log.close()

    @contextlib.contextmanager
    def light_worker(self) -> Iterator[None]:
        process = subprocess.Popen([kq.BIN / "light_worker", self.url, "light"], stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.kill()
            process.wait(30)


class Rest(GatewayTest):
    def test_a_job_is_submitted_and_read(self) -> None:
        with self.gateway() as client, self.light_worker():
            done = client.submit([line("relu/a"), line("relu/9", kq.WRONG)], run="a run/1")
            self.assertEqual((done.status, done.json["accepted"]), (201, 2), done.text)
            first, second = (job["id"] for job in done.json["jobs"])
            result = client.get(f"/api/v1/jobs/{first}/result?wait=60&samples=true")
            self.assertEqual((result.status, result.json["verdict"]), (200, "passed"), result.text)
            self.assertEqual(result.json["result"]["label"], "relu/a")
            self.assertIn("submission_ns", result.json["samples"])
            self.assertEqual(client.get(f"/api/v1/jobs/{second}/result?wait=60").json["verdict"], "wrong_answer")
            self.assertEqual(client.get(f"/api/v1/jobs/{first}").json["state"], "finished")
            self.assertEqual(client.get(f"/api/v1/jobs/{first}/log").type, "text/plain")
            source = result.json["result"]["kernel_hash"]
            self.assertEqual(client.get(f"/api/v1/jobs/{first}/files/{source}").text, kq.RIGHT)
            self.assertEqual(client.get(f"/api/v1/jobs/{first}/files/{'0' * 64}").status, 404)
            self.assertEqual(client.get("/api/v1/runs").json["runs"][0]["run"], "a run/1")
            counts = client.get("/api/v1/runs/a%20run%2F1").json
            self.assertEqual(counts["verdicts"], {"passed": 1, "wrong_answer": 1})
            rows = client.get("/api/v1/runs/a%20run%2F1/results?format=csv&columns=label,verdict")
            self.assertEqual(rows.text, "label,verdict\nrelu/9,wrong_answer\nrelu/a,passed\n")
            events = client.get("/api/v1/runs/a%20run%2F1/events").text
            self.assertTrue(events.startswith("id: finished\nevent: finished\ndata: "), events)
            known = {"Last-Event-ID": "finished"}
            self.assertEqual(client.call("GET", "/api/v1/runs/a%20run%2F1/events", headers=known).status, 204)
            (board,) = client.get("/api/v1/boards/relu").json["rows"]
            self.assertEqual(
                (board["label"], board["id"], board["run"], board["rank"]), ("relu/a", first, "a run/1", 1)
            )
            self.assertEqual(client.get("/api/v1/boards?limit=1").json, {"boards": [board], "next": None})
            self.assertEqual(client.submit([line("relu/a")], run="a run/1").status, 200)

    def test_rows_are_those_of_a_dump(self) -> None:
        with self.gateway() as client, self.light_worker():
            client.submit([line("a"), line("b")], run="r")
            self.wait_for("r", {"a": "passed", "b": "passed"})
            dumped = kq.kq("dump", "--run", "r", KQ_BROKER=self.url)
            self.assertEqual(client.get("/api/v1/runs/r/results?format=csv").text, dumped.stdout)
            lines = kq.kq("dump", "--run", "r", "--format", "jsonl", KQ_BROKER=self.url)
            self.assertEqual(client.get("/api/v1/runs/r/results?format=jsonl").text, lines.stdout)

    def test_the_real_worker_judges(self) -> None:
        (self.folder / "relu.py").write_text(kq.RELU)
        (self.folder / "right.py").write_text(kq.RIGHT)
        form, kind = files_form(self.folder / "right.py", self.folder / "relu.py")
        with self.gateway() as client, self.worker():
            done = client.call("POST", "/api/v1/jobs", form, {"Content-Type": kind})
            self.assertEqual(done.status, 201, done.text)
            result = client.get(f"/api/v1/jobs/{done.json['jobs'][0]['id']}/result?wait=120")
            self.assertEqual(result.json["verdict"], "passed", result.text)

    def test_a_queued_job_is_explained_and_cancelled(self) -> None:
        with self.gateway() as client:
            job = client.submit([line("a")]).json["jobs"][0]["id"]
            self.assertEqual(client.get(f"/api/v1/jobs/{job}").json["waiting"]["reason"], "no_worker")
            self.assertEqual(client.get(f"/api/v1/jobs/{job}/result?wait=1").status, 202)
            self.assertEqual(client.call("DELETE", f"/api/v1/jobs/{job}").json["verdict"], "cancelled")
            self.assertEqual(client.get(f"/api/v1/jobs/{job}/result").json["verdict"], "cancelled")
            self.assertEqual(client.get("/api/v1/jobs/17.abc").status, 404)

    def test_a_key_makes_a_repeated_request_the_same(self) -> None:
        with self.gateway() as client:
            first = client.submit([line("a")], key="k1")
        with self.gateway() as client:
            second = client.submit([line("a")], key="k1")
            self.assertEqual((first.status, second.status), (201, 200))
            self.assertEqual(second.headers["Idempotency-Replayed"], "true")
            self.assertEqual(first.json["jobs"][0]["id"], second.json["jobs"][0]["id"])
            self.assertEqual(client.submit([line("b")], key="k1").status, 422)

    def test_parameters_that_a_path_does_not_know_are_refused(self) -> None:
        with self.gateway() as client:
            misspelt = client.get("/api/v1/runs/r/results?colums=label")
            self.assertEqual((misspelt.status, misspelt.type), (400, "application/problem+json"))
            self.assertIn("did you mean columns?", misspelt.json["detail"])
            unnamed = client.call("POST", "/api/v1/jobs?run=", json.dumps(line("a")))
            self.assertEqual(unnamed.status, 400, unnamed.text)
            self.assertIn("the parameter run is empty", unnamed.json["detail"])
            self.assertEqual(client.get("/health?verbose=1").status, 200)

    def test_every_path_is_described(self) -> None:
        with self.gateway() as client:
            for path in ("/", "/health", "/metrics", "/openapi.json", "/api/v1/broker", "/nothing"):
                client.get(path)
            self.assertEqual(client.call("PUT", "/api/v1/jobs", "").status, 405)
            self.assertIn("kq_gateway_requests_total", client.get("/metrics").text)


class Restarts(GatewayTest):
    def test_ids_survive_gateway_and_broker(self) -> None:
        with self.light_worker():
            with self.gateway() as client:
                ids = [
                    job["id"]
                    for job in client.submit([line(f"j{i}", f"{kq.RIGHT}# {i}\n") for i in range(50)]).json["jobs"]
                ]
                self.process.kill()
            self.running_broker.kill()
            self.running_broker.wait(30)
            with self.gateway() as client:
                self.assertEqual(client.get("/health").status, 500)
                with self.broker(), self.gateway() as second:
                    for job in ids:
                        answer = second.get(f"/api/v1/jobs/{job}/result?wait=60")
                        self.assertEqual(answer.status, 200, answer.text)
                    self.assertEqual(client.get(f"/api/v1/jobs/{ids[0]}").json["verdict"], "passed")

    def test_a_stopped_gateway_answers_those_who_wait(self) -> None:
        with self.gateway() as client:
            job = client.submit([line("a")]).json["jobs"][0]["id"]
            answers = []
            waiting = threading.Thread(
                target=lambda: answers.append(client.get(f"/api/v1/jobs/{job}/result?wait=60").status)
            )
            waiting.start()
            kq.wait_until(lambda: "kq_gateway_waits 1" in client.get("/metrics").text, "the request waits")
            self.process.terminate()
            self.assertEqual(self.process.wait(30), 0)
            waiting.join(30)
            self.assertEqual(answers, [503])

    def test_kq_up_runs_a_gateway(self) -> None:
        state = self.folder / "up"
        words = ("up", "-d", "--state", state, "--devices", "cpu", "--broker-url", f"ipc://{self.folder}/up.sock")
        done = kq.kq(*words, "--gateway", "127.0.0.1:0")
        self.assert_end(done, 0)
        try:
            port = re.search(r"gateway at http://127\.0\.0\.1:([0-9]+)$", done.stderr, re.MULTILINE)
            assert port is not None, done.stderr
            self.assertEqual(Client(int(port[1])).get("/health").status, 200)
        finally:
            self.assert_end(kq.kq("down", "--state", state), 0)


class Page(kq.EndToEndTest):
    """The commands of docs/operator/gateway.md do what they say."""

    def test_its_commands_work(self) -> None:
        page = (kq.ROOT / "docs/operator/gateway.md").read_text()
        first, token, operators = re.findall(r"```bash\n(.*?)```", page, flags=re.DOTALL)
        done = self.run_script(first.replace("8000", str(free_port())), kq.ROOT / "examples/sweep")
        self.assert_end(done, 0)
        self.assertIn('"healthy"', done.stdout)
        self.assertIn("event: finished\n", done.stdout)
        self.assertTrue(done.stdout.endswith("label,verdict\nright_fast_torch,passed\n"), done.stdout)
        made = self.run_script(token, self.folder)
        self.assertIn("the token of ada", made.stderr)
        self.assertRegex((self.folder / "tokens").read_text(), "^[0-9a-f]{64} ada 500\n$")
        self.assertIn("the token of root", self.run_script(operators, self.folder).stderr)

    def test_two_queues_have_a_gateway_each(self) -> None:
        (script,) = re.findall(r"```bash\n(.*?)```", (kq.ROOT / "docs/operator/scale.md").read_text(), flags=re.DOTALL)
        for port in ("5580", "5590", "8001", "8002"):
            script = script.replace(port, str(free_port()))
        for state in ("h100", "l4"):
            script = script.replace(f"--state {state}", f"--state {self.folder}/{state}")
            script = script.replace(f"--store {state}", f"--store {self.folder}/{state}")
        done = self.run_script(script, kq.ROOT / "examples/sweep")
        self.assert_end(done, 0)
        self.assertEqual(done.stdout.count("event: finished\n"), 2, done.stdout)
        self.assertIn("right_fast_torch", done.stdout.rpartition("event: finished")[2])

    def run_script(self, script: str, where: Path) -> subprocess.CompletedProcess[str]:
        script = script.replace("--state state", f"--state {self.folder}/state")
        env = kq.environment(PATH=f"{kq.BIN}:{os.environ['PATH']}", KQ_BROKER=f"ipc://{self.folder}/b")
        command = ["bash", "-euc", script]
        return subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=300, check=False)


class Tokens(GatewayTest):
    def test_submitters_see_only_their_own(self) -> None:
        (ada, ada_line), (bob, bob_line) = token_line("ada", 2), token_line("bob")
        tokens = self.folder / "tokens"
        tokens.write_text(ada_line + bob_line)
        with self.gateway("--tokens", str(tokens)) as anonymous:
            self.assertEqual(anonymous.get("/api/v1/runs").status, 401)
            self.assertEqual(Client(anonymous.port, "kq_wrong").submit([line("a")]).status, 401)
            self.assertEqual(anonymous.get("/health").status, 200)
            first, second = Client(anonymous.port, ada), Client(anonymous.port, bob)
            done = first.submit([line("a"), line("b", kq.WRONG), line("c", kq.RIGHT + "# c\n")], run="r")
            self.assertEqual((done.json["accepted"], done.json["busy"]), (2, 1), done.text)
            self.assertIn("Retry-After", done.headers)
            self.assertEqual(first.submit([line("d", kq.RIGHT + "# d\n")]).status, 429)
            job = done.json["jobs"][0]["id"]
            self.assertEqual(second.submit([line("own")], run="r").json["reused"], 1)
            for method, path in (("GET", ""), ("GET", "/result"), ("GET", "/log"), ("DELETE", "")):
                self.assertEqual(second.call(method, f"/api/v1/jobs/{job}{path}").status, 404, path)
            self.assertEqual(len(second.get("/api/v1/runs/r/results").json["rows"]), 1)
            self.assertEqual([run["run"] for run in second.get("/api/v1/runs").json["runs"]], ["r"])
            shared = second.get("/api/v1/runs/r/results").json["rows"][0]
            self.assertEqual(shared["label"], "own")
            tokens.write_text(bob_line)
            kq.wait_until(lambda: first.get("/api/v1/runs").status == 401, "the token is revoked")
            self.assertEqual(second.get("/api/v1/runs").status, 200)

    def test_a_broker_with_keys_knows_the_gateway(self) -> None:
        keys, key, store = self.folder / "keys", self.folder / "gateway.key", self.folder / "keyed"
        subprocess.run([kq.BIN / "issue_key", keys, "submit", "gateway", key], check=True)
        bind = f"ipc://{self.folder}/keyed.sock"
        token, listed = token_line("ada")
        (self.folder / "tokens").write_text(listed)
        with kq.program("kq-broker", "--bind", bind, "--store", store, "--keys", keys):
            with self.gateway("--broker", bind, "--tokens", str(self.folder / "tokens")) as client:
                self.assertEqual(Client(client.port, token).submit([line("a")]).status, 503)
            words = ("--broker", bind, "--key", str(key), "--tokens", str(self.folder / "tokens"))
            with self.gateway(*words) as client:
                ada = Client(client.port, token)
                job = ada.submit([line("a")]).json["jobs"][0]["id"]
                self.assertEqual(ada.call("DELETE", f"/api/v1/jobs/{job}").json["verdict"], "cancelled")

    def test_a_key_of_a_gateway_keeps_its_submitters_apart(self) -> None:
        keys, key, tokens = self.folder / "keys", self.folder / "web.key", self.folder / "tokens"
        subprocess.run([kq.BIN / "issue_key", keys, "gateway", "web", key], check=True)
        bind = f"ipc://{self.folder}/keyed.sock"
        (ada, first), (bob, second) = token_line("ada", 1), token_line("bob", 1)
        tokens.write_text(first + second)
        words = ("--broker", bind, "--key", str(key), "--tokens", str(tokens))
        with kq.program("kq-broker", "--bind", bind, "--store", self.folder / "keyed", "--keys", keys):
            with self.gateway(*words) as client:
                one, two = Client(client.port, ada), Client(client.port, bob)
                job = one.submit([line("a", kq.RIGHT + "# a\n")]).json["jobs"][0]["id"]
                self.assertEqual(one.submit([line("b", kq.RIGHT + "# b\n")]).status, 429)
                self.assertEqual(two.submit([line("c", kq.RIGHT + "# c\n")]).status, 201)
                queue = json.loads(kq.kq("ctl", "queue", "--json", KQ_BROKER=bind, KQ_KEY=str(key)).stdout)
                self.assertEqual(sorted(lane["submitter"] for lane in queue["lanes"]), ["web/ada", "web/bob"])
                self.assertEqual(one.call("DELETE", f"/api/v1/jobs/{job}").json["verdict"], "cancelled")
                self.assertEqual(one.submit([line("b", kq.RIGHT + "# b\n")]).status, 201)

    def test_other_hosts_need_tokens(self) -> None:
        command = [kq.BIN / "kq-gateway", "--broker", self.url, "--listen", "0.0.0.0:0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assert_end(done, 2)
        self.assertIn("--tokens FILE is needed, or --insecure", done.stderr)

    def test_a_web_page_cannot_use_a_gateway_of_this_machine(self) -> None:
        with self.gateway() as client:
            self.assertEqual(client.call("GET", "/health", headers={"Origin": "http://evil.example"}).status, 403)
            self.assertEqual(client.call("GET", "/health", headers={"Host": "evil.example"}).status, 403)


class Hostile(GatewayTest):
    HEAD = b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"

    def status(self, answer: bytes) -> int:
        return int(answer.split(b" ")[1]) if answer else 0

    def test_long_slow_and_broken_requests_are_answered(self) -> None:
        with self.gateway() as client:
            long = self.HEAD + f"Content-Length: {GIB}\r\n\r\n".encode()
            self.assertEqual(self.status(client.raw(long + b"x" * (1 << 20))), 413)
            chunked = self.HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
            self.assertEqual(self.status(client.raw(chunked + b"40000000\r\n" + b"x" * 1000)), 413)
            self.assertEqual(self.status(client.raw(chunked + b"not a size")), 400)
            self.assertEqual(self.status(client.raw(b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000)), 431)
            self.assertEqual(self.status(client.raw(b"GET /" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")), 414)
            self.assertEqual(self.status(client.raw(b"\x16\x03\x01 this is TLS\r\n\r\n")), 400)
            self.assertEqual(self.status(client.raw(self.HEAD + b"Content-Length: 9\r\n\r\n{", ends=True)), 0)
            half = client.call("POST", "/api/v1/jobs", '{"id": "a", "problem_so', {"Content-Type": "application/json"})
            self.assertEqual(half.status, 400)
            self.assertIn("the body is not JSON", half.json["detail"])
            self.assertEqual(client.get("/health").status, 200)

    def test_slow_clients_make_room(self) -> None:
        with self.gateway("--connections", "260") as client:
            slow = []
            for _ in range(300):
                peer = socket.create_connection(("127.0.0.1", client.port))
                peer.sendall(b"GET /health HTTP/1.1\r\nHo")
                slow.append(peer)
            for _ in range(20):
                self.assertEqual(client.get("/health").status, 200)
            for peer in slow:
                peer.close()

    def test_a_client_that_leaves_loses_nothing(self) -> None:
        with self.gateway() as client:
            job = client.submit([line("a")]).json["jobs"][0]["id"]
            with socket.create_connection(("127.0.0.1", client.port)) as peer:
                peer.sendall(f"GET /api/v1/jobs/{job}/result?wait=300 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                kq.wait_until(lambda: "kq_gateway_waits 1" in client.get("/metrics").text, "the request waits")
            kq.wait_until(lambda: "kq_gateway_waits 0" in client.get("/metrics").text, "the wait has ended", 60)
            with self.light_worker():
                self.assertEqual(client.get(f"/api/v1/jobs/{job}/result?wait=60").json["verdict"], "passed")

    def test_no_line_reads_a_file_of_the_gateway(self) -> None:
        with self.gateway() as client:
            for wrong in ({"path": "/etc/passwd"}, {"problem_source": None, "problem": "/etc/passwd"}):
                self.assertEqual(client.submit([line("a") | wrong]).status, 400)

    def test_mutated_bodies_get_described_answers(self) -> None:
        rng = random.Random(32)
        with self.gateway() as client:
            for _ in range(MUTATIONS):
                body = mutated(rng, json.dumps(line("a")).encode())
                kind = rng.choice(("application/json", "application/jsonl", "multipart/form-data; boundary=k", "x/y"))
                client.call("POST", "/api/v1/jobs?run=r", body, {"Content-Type": kind})
            self.assertEqual(client.get("/health").status, 200)

    def test_mutated_requests_get_described_answers(self) -> None:
        rng = random.Random(33)
        body = json.dumps(line("a")).encode()
        whole = self.HEAD + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
        with self.gateway() as client:
            job = client.submit([line("a")]).json["jobs"][0]["id"]
            read = f"GET /api/v1/jobs/{job}/result?wait=0&samples=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            for _ in range(MUTATIONS):
                answer = client.raw(mutated(rng, rng.choice((whole, read))), ends=True)
                self.assertIn(self.status(answer), {0, *ALL_STATUSES}, answer)
            self.assertEqual(client.get("/health").status, 200)


if __name__ == "__main__":
    unittest.main()
