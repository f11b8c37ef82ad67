"""Runs schemathesis over share/kq.openapi.json against a real gateway, broker and worker.

KQ_EXAMPLES is the number of requests that schemathesis invents per route and phase; KQ_SEED is its seed.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import kq
from gateway_test import GatewayTest
from http_client import Client, line

EXAMPLES = os.environ.get("KQ_EXAMPLES", "10")
SEED = os.environ.get("KQ_SEED", "32")
LIMIT_S = 3_600
SCHEMATHESIS = kq.ROOT / ".venv-e2e/bin/schemathesis"
HOOKS = Path(__file__).with_name("openapi_hooks.py")

# A kernel that no device can run is answered 500, as the evaluation server does. The operations at the end refuse
# data that their schemas allow, because JSON Schema cannot express their rules: a problem must be Python with a class
# Model, a column must exist, a name has at most 200 bytes, no leaderboard is closed and takes a code. DELETE cancels
# a job and keeps its record, so what was deleted may be read.
SETTINGS = """
suppress-health-check = ["all"]
hooks = {hooks}

[generation]
database = "none"
allow-extra-parameters = false

[checks]
use_after_free.enabled = false
negative_data_rejection.expected-statuses = [400, 404, 405, 409, 413, 414, 422, 431]
positive_data_acceptance.expected-statuses = ["2xx", 404, 409]

[phases.stateful]
max-steps = 6

[dictionaries.jobs]
values = {jobs}
[dictionaries.runs]
values = {runs}
[dictionaries.problems]
values = {problems}
[dictionaries.kernels]
values = {kernels}

[parameters]
"path.id" = {{ dictionary = "jobs", probability = 0.7 }}
"path.run" = {{ dictionary = "runs", probability = 0.7 }}
"path.problem" = {{ dictionary = "problems", probability = 0.5 }}
"body.problem_source" = {{ dictionary = "problems", probability = 0.5 }}
"body.[*].problem_source" = {{ dictionary = "problems", probability = 0.5 }}
"body.source" = {{ dictionary = "kernels", probability = 0.5 }}
"body.[*].source" = {{ dictionary = "kernels", probability = 0.5 }}
"body.kernel.source_code" = {{ dictionary = "problems", probability = 0.5 }}
"body.ref_kernel.source_code" = {{ dictionary = "problems", probability = 0.5 }}
"body.custom_kernel.source_code" = {{ dictionary = "kernels", probability = 0.5 }}
"body.ref_code" = {{ dictionary = "problems", probability = 0.5 }}
"body.custom_code" = {{ dictionary = "kernels", probability = 0.5 }}

[[operations]]
include-tag = "evaluation"
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 500]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 500]

[[operations]]
include-operation-id = ["submitJobs", "listRuns", "getRun", "getResults", "watchRun", "joinLeaderboard"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 422]
"""


def toml(values: list[str] | str) -> str:
    """Returns text or texts in TOML, whose basic strings are those of JSON."""
    return json.dumps(values)


@unittest.skipUnless(SCHEMATHESIS.exists(), ".venv-e2e is not made; tests/e2e/requirements.txt lists what it holds")
class OpenApi(GatewayTest):
    def test_every_answer_is_described(self) -> None:
        with self.gateway() as client, self.worker():
            jobs = self.some_jobs(client)
            done = self.schemathesis(client, jobs)
            self.assertEqual(client.get("/health").status, 200)
        summary = done.stdout[done.stdout.rfind(" SUMMARY ") :]
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(summary, file=sys.stderr)

    def some_jobs(self, client: Client) -> list[str]:
        """Submits two jobs, waits for their results, and returns their ids."""
        finished = client.submit([line("a"), line("b", kq.WRONG)], run="r").json["jobs"]
        for job in finished:
            client.get(f"/api/v1/jobs/{job['id']}/result?wait=60")
        return [job["id"] for job in finished]

    def schemathesis(self, client: Client, jobs: list[str]) -> subprocess.CompletedProcess[str]:
        settings = SETTINGS.format(
            hooks=toml(str(HOOKS)),
            jobs=toml(jobs),
            runs=toml(["r", "a run/1"]),
            problems=toml(["relu", kq.RELU]),
            kernels=toml([kq.RIGHT, kq.WRONG]),
        )
        (self.folder / "schemathesis.toml").write_text(settings)
        words = ["--config-file", str(self.folder / "schemathesis.toml"), "run", str(kq.ROOT / "share/kq.openapi.json")]
        words += ["--url", f"http://127.0.0.1:{client.port}", "--seed", SEED, "--max-examples", EXAMPLES, "--no-color"]
        # A stream of events has no end, and a paused queue would hold up other requests; overview_test.py asks them.
        for operation in ("watchOverview", "pauseQueue", "drainWorker", "retryJob"):
            words += ["--exclude-operation-id", operation]
        words += ["--request-timeout", "60", "--continue-on-failure", "--no-shrink"]
        env = kq.environment(KQ_LINES="".join(json.dumps(line(label)) + "\n" for label in ("a", "b")))
        command = [str(SCHEMATHESIS), *words]
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )


if __name__ == "__main__":
    unittest.main()
