"""Tests with a real broker and a real worker on the CPU that quick jobs do not wait behind slow builds, and that
kq-ctl says which jobs are being built and for how long.
"""

import time
import unittest

import kq

SLOW_JOBS = 20
QUICK_JOBS = 5

# A module whose compiler evaluates so many constant expressions that a build takes seconds.
SLOW_MODULE = kq.SMALL_MODULE.replace(
    "#include <Python.h>\n",
    """#include <Python.h>
constexpr long slow() {
  long sum = 0;
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 20'000; ++j) sum ^= i * j;
  return sum;
}
static_assert(slow() >= 0);
""",
)


def slow_modules(count: int) -> dict[str, str]:
    """Returns submissions with different slow modules, which each have to be built."""
    return {f"slow{number:02}": kq.small_module(mark=str(number), source=SLOW_MODULE) for number in range(count)}


class FirstResults(kq.QueueTest):
    def finished(self, run: str) -> list[str]:
        return [label for label, verdict in self.verdicts(run).items() if verdict not in ("queued", "leased")]

    def test_torch_jobs_pass_builds_that_were_submitted_before(self) -> None:
        quick = {f"torch{number}": f"# {number}\n{kq.RIGHT}" for number in range(QUICK_JOBS)}
        slow_counts = []  # how many slow jobs had finished when a torch job was seen to have finished

        def torch_jobs_are_finished() -> bool:
            labels = self.finished("r")
            slow_count = sum(label not in quick for label in labels)
            new_count = len(labels) - slow_count - len(slow_counts)
            if new_count > 0:
                print(
                    f"{len(slow_counts) + new_count} torch and {slow_count} slow jobs after "
                    f"{time.monotonic() - start_s:.1f} s"
                )
            slow_counts.extend([slow_count] * new_count)
            return len(slow_counts) == QUICK_JOBS

        with self.broker(), self.worker("--builds", "1"):
            self.wait_for_worker()
            start_s = time.monotonic()
            jobs = kq.write_sweep(self.folder / "jobs", slow_modules(SLOW_JOBS) | quick, backend=None)
            self.assert_end(kq.kq("submit", jobs, "--run", "r", KQ_BROKER=self.url), 0)
            kq.wait_until(torch_jobs_are_finished, "all torch jobs are finished", kq.LIMIT_S)
            verdicts = self.verdicts("r")
        self.assertEqual({verdicts[label] for label in quick}, {"passed"})
        self.assertLess(slow_counts[0], SLOW_JOBS // 2, "the first torch job waited for builds of extensions")
        # A build that fails would be quick.
        self.assertLessEqual(set(verdicts.values()), {"passed", "queued", "leased"}, verdicts)

    def test_why_says_what_is_being_built_and_for_how_long(self) -> None:
        seen = {}

        def builds_are_told() -> bool:
            jobs = self.ctl_json("why", "--run", "r")["jobs"]
            seen["built"] = next((job for job in jobs if job["build_started_ms"] is not None), None)
            seen["behind"] = next((job for job in jobs if job["why"] == "behind" and job["other_builds"] > 0), None)
            return None not in seen.values()

        # With this lease a heartbeat is due every five seconds, which is longer than a build takes.
        with self.broker(lease="30s"), self.worker("--builds", "1"):
            self.wait_for_worker()
            self.submit("r", slow_modules(SLOW_JOBS))
            kq.wait_until(builds_are_told, "a job is told to be built, and another to wait behind it")
            (worker,) = self.ctl_json("workers")["workers"]
        name = worker["worker"]
        self.assertEqual(seen["built"]["worker"], name)
        self.assertTrue(seen["built"]["builds_extensions"])
        self.assertRegex(
            seen["built"]["sentence"],
            rf"^job \d+ is being built, attempt 1: the worker {name} has been building the extensions of this job for "
            r"\d+ (s|min)$",
        )
        self.assertEqual(seen["behind"]["building_workers"], [name])
        self.assertRegex(
            seen["behind"]["sentence"],
            rf"^job \d+ waits for its turn: .*; the worker {name} is building 1 other job, for \d+ (s|min)$",
        )


if __name__ == "__main__":
    unittest.main()
