"""Tests what the live page of kq-gateway asks, with a real broker. Every answer is checked against the OpenAPI file."""

import http.client
import json
import unittest

import kq
from gateway_test import GatewayTest
from http_client import Client, line, token_line


class Overview(GatewayTest):
    def test_runs_jobs_and_workers_are_shown(self) -> None:
        with self.gateway() as client, self.light_worker():
            client.submit([line("relu/2"), line("relu/19", kq.WRONG)], run="a run/1")
            kq.wait_until(lambda: self.run_of(client)["finished"] == 2, "both jobs are finished")
            run = self.run_of(client)
            self.assertEqual((run["jobs"], run["passed"], run["failed"]), (2, 1, 1))
            overview = client.get("/api/v1/overview").json
            self.assertEqual(overview["viewer"], {"submitter": "", "is_operator": False})
            (failure,) = overview["failures"]
            self.assertEqual((failure["label"], failure["verdict"]), ("relu/19", "wrong_answer"))
            self.assertEqual(client.get("/api/v1/workers?q=light").json["workers"][0]["worker"], "light")
            self.assertEqual(client.get("/api/v1/runs/a%20run%2F1/jobs?outcome=failed").json["count"], 1)
            self.assertEqual(client.get("/api/v1/runs/none/jobs").status, 404)
            self.assertEqual(client.get("/api/v1/search?q=LU/2").json["jobs"][0]["label"], "relu/2")
            self.assertEqual(client.get(f"/api/v1/search?q={failure['job']}").json["jobs"][0]["id"], failure["id"])
            details = client.get(f"/api/v1/jobs/{failure['id']}/details").json
            self.assertEqual(set(details["files"].values()), {kq.WRONG, kq.RELU})
            self.assertEqual(client.get("/docs").status, 200)
            self.assertIn("connect-src 'self'", client.get("/").text)
            self.assertEqual(self.first_event(client)["version"], overview["version"])

    def run_of(self, client: Client) -> dict:
        return client.get("/api/v1/overview").json["runs"][0]

    def first_event(self, client: Client) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        connection.request("GET", "/api/v1/overview/events")
        answer = connection.getresponse()
        self.assertEqual(answer.headers.get_content_type(), "text/event-stream")
        self.assertEqual(answer.readline(), b"event: overview\n")
        event = json.loads(answer.readline().removeprefix(b"data: "))
        connection.close()
        return event

    def test_only_operators_operate(self) -> None:
        (ada, ada_line), (root, root_line) = token_line("ada"), token_line("root")
        (self.folder / "tokens").write_text(ada_line)
        (self.folder / "operators").write_text(root_line)
        words = ("--tokens", str(self.folder / "tokens"), "--operators", str(self.folder / "operators"))
        pause, drain = json.dumps({"paused": True}), json.dumps({"draining": True})
        with self.gateway(*words) as anonymous, self.light_worker():
            submitter, operator = Client(anonymous.port, ada), Client(anonymous.port, root)
            kq.wait_until(lambda: operator.get("/api/v1/workers").json["workers"], "the worker is connected")
            self.assertEqual(anonymous.get("/api/v1/overview").status, 401)
            for client, status in ((anonymous, 401), (submitter, 403), (operator, 200)):
                self.assertEqual(client.call("POST", "/api/v1/pause", pause).status, status)
                self.assertEqual(client.call("POST", "/api/v1/workers/light/drain", drain).status, status)
            self.assertEqual(self.ctl_json("workers")["workers"][0]["state"], "draining")
            job = submitter.submit([line("a")], run="r").json["jobs"][0]
            self.assertEqual(submitter.get("/api/v1/overview").json["queue"]["lanes"][0]["state"], "paused")
            self.assertEqual([run["run"] for run in operator.get("/api/v1/overview").json["runs"]], ["ada/r"])
            self.assertEqual(submitter.call("DELETE", f"/api/v1/jobs/{job['id']}").status, 200)
            cancelled = operator.get("/api/v1/search?q=a").json["jobs"][0]
            self.assertEqual(operator.call("POST", f"/api/v1/jobs/{cancelled['id']}/retry").json["state"], "queued")
            self.assertEqual(submitter.call("POST", f"/api/v1/jobs/{job['id']}/retry").status, 403)
            self.assertEqual(submitter.call("POST", "/api/v1/runs/r/cancel").json["cancelled"], 1)
            self.assertEqual(submitter.call("POST", "/api/v1/runs/none/cancel").status, 404)
            self.assertEqual(operator.call("POST", "/api/v1/workers/none/drain", drain).status, 404)


if __name__ == "__main__":
    unittest.main()
