"""Tests workers that only build, together with a worker that runs the artifacts; each worker has its own cache."""

import os
import signal
import stat
import unittest

import kq

# The module of this source takes longer to compile than any wait in this test.
ENDLESS = kq.SMALL_MODULE.replace(
    "#include <Python.h>",
    """#include <Python.h>
template <int n, int at> struct Tree { static const int v = Tree<n - 1, 2 * at>::v + Tree<n - 1, 2 * at + 1>::v; };
template <int at> struct Tree<0, at> { static const int v = at % 3; };
int endless = Tree<30, 1>::v;
""",
)


# These tests run only in CI. The unit tests of broker and builder cover the same cases without compilers.
IN_CI = unittest.skipUnless(
    "KQ_KILLS" in os.environ, "KQ_KILLS is not set; only CI sets it, because the builds take half a minute"
)


class CompileOnly(kq.QueueTest):
    def builder(self, *targets: str, name: str = "b", **changes: str) -> kq.Program:
        words = [word for target in targets for word in ("--compile-for", target)]
        return kq.program(
            "kq-worker", "--connect", self.url, "--state", self.state / name, "--builds", "1", *words, **changes
        )

    def built(self) -> int:
        return sum(worker["built"] for worker in self.ctl_json("workers", code=None)["workers"])

    def figure(self, name: str, **labels: str) -> float:
        return next(
            one["value"] for one in self.ctl_json("stats")["metrics"] if one["name"] == name and one["labels"] == labels
        )

    def rows(self, run: str) -> dict[str, dict[str, str]]:
        return {row["label"]: row for row in kq.dump(run, "--broker", self.url)}

    def submit_extension(self, run: str, mark: str, source: str = kq.SMALL_MODULE, device: str = "cpu") -> str:
        (job,) = self.submit(run, {"a": kq.small_module(mark=mark, source=source)}, "--device", device)
        return job

    def test_an_artifact_of_a_builder_is_cached_by_the_worker_that_runs_it(self) -> None:
        with self.broker(), self.builder("sm_90", "cpu"):
            self.submit_extension("r", "first")
            gpu = self.submit_extension("g", "second", device="cuda")
            kq.wait_until(lambda: self.built() == 2, "both are built")
            self.assertIn("builds for sm_90, cpu", self.ctl("workers"))
            self.assertEqual(self.figure("kq_build_objects"), 2)
            with self.worker():
                self.wait_for("r", {"a": "passed"})
                # The worker got no artifact for this job, so it builds the module itself.
                self.submit("p", {"a": kq.RIGHT}, "--device", "cpu")
                self.wait_for("p", {"a": "passed"})
            row = self.rows("r")["a"]
            self.assertEqual(row["build_cached"], "true", row)
            self.assertTrue(row["build_compiler"].startswith("g++ "), row)
            self.assertIn("-DKQ_TEST", row["build_flags"])
            self.assertEqual(
                self.rows("g")["a"]["state"],
                "queued",
                "without a GPU the job stays queued and its artifact stays stored",
            )
            self.assertEqual(self.figure("kq_build_objects"), 1)
            self.ctl("cancel", gpu)
            self.assertEqual(self.figure("kq_build_objects"), 0)
        self.ctl("verify", "--store", str(self.store))

    @IN_CI
    def test_an_artifact_of_a_compiler_that_changed_is_not_sent(self) -> None:
        # The sandboxes of the worker's children cannot see this file, so they use the real g++.
        other = self.folder / "bin/g++"
        other.parent.mkdir()
        other.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo "g++ (Other) 11.1.1" && exit\nexec /usr/bin/g++ "$@"\n'
        )
        other.chmod(other.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        self.folder.chmod(0o755)
        with self.broker():
            with self.builder("cpu", PATH=f"{other.parent}:{os.environ['PATH']}"):
                self.submit_extension("r", "third")
                kq.wait_until(
                    lambda: self.figure("kq_builds_total", ending="declined") == 1, "the builder has built it"
                )
            with self.worker():
                self.wait_for("r", {"a": "passed"})
            row = self.rows("r")["a"]
            self.assertEqual(row["build_cached"], "false", row)
            self.assertNotIn("11.1.1", row["build_compiler"])

    @IN_CI
    def test_no_job_waits_for_a_builder_that_is_killed_or_slow_or_fails(self) -> None:
        with self.broker():
            with self.builder("cpu") as builder:
                self.submit_extension("slow", "fourth", ENDLESS)
                kq.wait_until(
                    lambda: any(w["running"] for w in self.ctl_json("workers")["workers"]), "the builder has a build"
                )
                builder.send_signal(signal.SIGKILL)
                builder.wait(30)
            with self.builder("cpu", name="b2"):
                self.submit_extension("r", "fifth")
                self.submit_extension("bad", "sixth", kq.SMALL_MODULE.replace("return PyLong", "return Nonsense"))
                kq.wait_until(
                    lambda: self.figure("kq_builds_total", ending="declined") == 1,
                    "the builder has tried the source that does not compile",
                )
                kq.wait_until(lambda: self.built() == 1, "the second builder has built the next job")
                with self.worker("--builds", "2"):
                    self.wait_for("r", {"a": "passed"})
                    self.assertEqual(self.rows("r")["a"]["build_cached"], "true")
                    self.wait_for("bad", {"a": "build_failed"})
                    self.assertEqual(
                        self.rows("bad")["a"]["build_cached"],
                        "false",
                        "the worker that runs the job reports the compiler error",
                    )
                    self.ctl("cancel", "--run", "slow")
                    self.wait_for("slow", {"a": "cancelled"})
        self.ctl("verify", "--store", str(self.store))

    def test_invalid_targets_are_refused(self) -> None:
        for words in (["--compile-for", "H200"], ["--compile-for", "sm_90", "--devices", "cpu"]):
            command = [str(kq.BIN / "kq-worker"), "--connect", self.url, "--state", str(self.state / "w"), *words]
            self.assertEqual(kq.subprocess.run(command, capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
