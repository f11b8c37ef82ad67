"""Tests that a batch yields one outcome per submission in time, whatever the broker does, on a simulated network."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from examples import passed, problem, submission
from simulated_network import SimulatedNetwork

import kq
from kq.calls import batch, replaced
from kq.calls.batch import Jobs
from kq.calls.operations import FINAL_QUERY_S, SILENCE_S
from kq.calls.progress import StatusLine, Tally
from kq.records.jobs import JobRecord, JobState, RunEntry, RunRow
from kq.records.limits import SUBMIT_JOBS_MAX
from kq.wire.messages import JobAck, JobStatus, RunQuery, RunReply, StatusQuery, StatusReply, SubmitAck, SubmitBatch

NEVER = 1e9


class Broker(SimulatedNetwork):
    """Finishes each job at a given time, and does not answer between `silent_s` and `back_s`."""

    def __init__(self, finish_s: dict[str, float], silent_s: float = NEVER, back_s: float = NEVER) -> None:
        super().__init__(self.reply_to)
        self.finish_s = finish_s
        self.silent_s, self.back_s = silent_s, back_s
        self.jobs: dict[str, int] = {}
        self.refused = "nobody"

    def reply_to(self, request: Any) -> Any:
        if self.silent_s <= self.now_s < self.back_s:
            return None
        if isinstance(request, SubmitBatch):
            return SubmitAck([self.ack(job.label) for job in request.jobs])
        if isinstance(request, StatusQuery):
            labels = {seq: label for label, seq in self.jobs.items()}
            return StatusReply([JobStatus(seq, self.state(labels[seq])) for seq in request.seqs if seq in labels])
        assert isinstance(request, RunQuery)
        after = sorted(label for label in self.jobs if label.encode() > request.after_label)
        return RunReply([self.row(label) for label in after[: request.limit]], more=len(after) > request.limit)

    def ack(self, label: str) -> JobAck:
        if label == self.refused:
            return JobAck(reason="not here")
        return JobAck(kq.Acceptance.ACCEPTED, self.jobs.setdefault(label, len(self.jobs) + 1))

    def state(self, label: str) -> JobState:
        return JobState.FINISHED if self.now_s >= self.finish_s.get(label, NEVER) else JobState.QUEUED

    def row(self, label: str) -> RunRow:
        done = self.state(label) is JobState.FINISHED
        seq = self.jobs[label]
        return RunRow(
            "r", RunEntry(seq, submission(label)), JobRecord(seq), kq.Result(verdict=passed()) if done else None
        )


def submitted(broker: Broker, *labels: str) -> Jobs:
    jobs = Jobs("r")
    broker.run(batch.submit_many(jobs, [submission(label) for label in labels], "ann", None, broker.now))
    return jobs


def outcomes(broker: Broker, jobs: Jobs, **limits: Any) -> list[kq.Evaluation]:
    return list(broker.each(batch.as_completed(jobs, broker.now, **limits)))


class OldRows(Broker):
    """Has rows of other calls in the run, by label, each with the name of its problem."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__({})
        self.problems = problems
        self.jobs = {label: seq for seq, label in enumerate(problems, 1)}

    def row(self, label: str) -> RunRow:
        old = submission(label, problem=problem(self.problems[label]))
        return RunRow("r", RunEntry(self.jobs[label], old), JobRecord(self.jobs[label]))


def test_a_row_of_another_problem_that_is_replaced_is_told() -> None:
    broker = OldRows({"a": "relu", "b": "other", "c": "other"})
    with pytest.warns(
        UserWarning, match="'b' has a kernel for other, which one for relu replaces, and so for 1 more; job 2"
    ):
        assert len(submitted(broker, "a", "b", "c", "d")) == 4
    with pytest.warns(
        UserWarning, match="'b' has a kernel for other, which one for relu replaces; job 2 is the former"
    ):
        broker.run(replaced.submit("r", [submission("b")], "ann", 9.0, broker.now))


def test_a_problem_whose_file_has_changed_is_another_problem() -> None:
    edited = submission("a", problem=kq.Problem.of("edited", "relu"))
    with pytest.warns(UserWarning, match="'a' has a kernel for relu, which one for relu with another file replaces"):
        broker = OldRows({"a": "relu"})
        broker.run(replaced.submit("r", [edited], "ann", 9.0, broker.now))


def test_other_rows_are_replaced_without_a_warning() -> None:
    broker = OldRows({"a": "relu", "z": "other"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(submitted(broker, "a", "b")) == 2
        # Nothing is asked about a label that begins with the name of its problem.
        before = len(broker.asked)
        assert len(submitted(broker, "relu/1")) == 1
        assert [type(one) for one in broker.asked[before:]] == [SubmitBatch]
        silent = Broker({}, silent_s=0, back_s=5)
        assert len(submitted(silent, "a")) == 1


def test_a_caller_that_stops_early_and_continues_misses_no_outcome() -> None:
    def stop(_: Tally) -> None:
        raise KeyboardInterrupt

    broker = Broker({"a": 0, "b": 0, "c": 0, "d": 50})
    jobs = submitted(broker, "a", "b", "c", "d")
    with pytest.raises(KeyboardInterrupt):
        outcomes(broker, jobs, progress=stop)
    told = [next(broker.each(batch.as_completed(jobs, broker.now))).label]
    told += [one.label for one in outcomes(broker, jobs, timeout=5)]
    assert sorted(told) == ["a", "b", "c", "d"]  # d timed out
    assert [one.label for one in outcomes(broker, jobs)] == ["d"]


def test_outcomes_come_as_jobs_finish_and_once_each() -> None:
    broker = Broker({"a": 7, "b": 2, "c": 40})
    jobs = submitted(broker, "a", "b", "c")
    assert [str(job) for job in jobs.pending] == ["a (job 1): queued", "b (job 2): queued", "c (job 3): queued"]
    got = outcomes(broker, jobs)
    assert [(one.label, one.reward, one.infra_error) for one in got] == [(label, 1.5, None) for label in "bac"]
    assert 40 <= broker.now_s < 42
    assert jobs.pending == [] and outcomes(broker, jobs) == []


def test_a_late_job_has_an_infra_error_and_stays_pending_until_the_next_as_completed() -> None:
    broker = Broker({"a": 1, "b": 50})
    jobs = submitted(broker, "a", "b")
    late = outcomes(broker, jobs, timeout=10)[1]
    assert (broker.now_s, late.label, late.reward) == (10, "b", None)
    assert late.infra_error == "b: not finished within 10 s; the job goes on (queued)"
    assert [job.label for job in jobs.pending] == ["b"]
    assert jobs.tally() == Tally(total=2, passed=1, infra=1)
    (one,) = outcomes(broker, jobs, timeout=60)
    assert (one.reward, jobs.pending, jobs.tally()) == (1.5, [], Tally(total=2, passed=2))


def test_each_job_may_have_its_own_time() -> None:
    broker = Broker({"a": 3, "b": NEVER})
    got = outcomes(broker, submitted(broker, "a", "b"), timeout=100, job_timeout=5)
    assert [one.infra_error for one in got] == [None, "b: not finished within 5 s; the job goes on (queued)"]
    assert broker.now_s == 5


@pytest.mark.parametrize("timeout", [0.0, 0.5, 20.0])
def test_a_silent_broker_does_not_delay_the_end_of_the_timeout(timeout: float) -> None:
    broker = Broker({"a": NEVER, "b": NEVER}, silent_s=0.01)
    jobs = submitted(broker, "a", "b")
    broker.now_s = 0.02
    got = outcomes(broker, jobs, timeout=timeout)
    assert [one.reward for one in got] == [None, None] and all(one.infra_error for one in got)
    assert broker.now_s <= 0.02 + timeout + FINAL_QUERY_S
    assert len(jobs.pending) == 2


def test_a_silent_broker_is_tolerated_for_a_limited_time() -> None:
    broker = Broker({"a": 20}, silent_s=5, back_s=5 + SILENCE_S / 2)
    assert [one.reward for one in outcomes(broker, submitted(broker, "a"))] == [1.5]
    broker = Broker({"a": 20}, silent_s=5)
    assert [one.infra_error for one in outcomes(broker, submitted(broker, "a"))] == ["silent"]
    assert broker.now_s < 5 + SILENCE_S + 2 * FINAL_QUERY_S


def test_a_silent_broker_is_tolerated_for_as_long_as_the_caller_waits() -> None:
    broker = Broker({"a": 20}, silent_s=5, back_s=5 + 2 * SILENCE_S)
    jobs = submitted(broker, "a")
    timeout = 4 * SILENCE_S
    assert [one.reward for one in outcomes(broker, jobs, timeout=timeout, silence_s=batch.silence_of(timeout))] == [1.5]


def test_a_job_without_a_row_has_an_outcome_that_says_why() -> None:
    broker = Broker({"a": 1, "b": 1, "c": 1})
    broker.refused = "c"
    jobs = submitted(broker, "a", "b", "c")
    broker.jobs = {"x": 2, "b": 77}  # the label of job 2 is now x, and the label b now names job 77
    broker.finish_s["x"] = 0
    assert {one.label: one.infra_error for one in outcomes(broker, jobs, timeout=9)} == {
        "a": "a: the broker knows no job 1; is this another broker or store?",
        "b": "b: this label of run 'r' now names another job",
        "c": "c: the broker refused it: not here",
    }
    assert jobs.pending == []


def test_a_generator_is_read_while_its_items_are_sent() -> None:
    broker = Broker({})
    read_count = 0

    def endless() -> Iterator[kq.Submission]:
        nonlocal read_count
        while True:
            sent = [one for one in broker.asked if isinstance(one, SubmitBatch)]
            assert read_count <= sum(len(one.jobs) for one in sent) + SUBMIT_JOBS_MAX
            read_count += 1
            yield replace(submission(), label=str(read_count % 1000))

    with pytest.raises(kq.BadInput, match="1: this label is given twice"):
        broker.run(batch.submit_many(Jobs("r"), endless(), "", None, broker.now))
    assert len(broker.jobs) == 3 * SUBMIT_JOBS_MAX


def test_no_item_of_a_list_is_sent_if_one_is_wrong() -> None:
    broker = Broker({})
    with pytest.raises(kq.BadInput, match="label is empty"):
        submitted(broker, *map(str, range(300)), "")
    assert broker.asked == []


def test_progress_on_a_terminal_is_one_line_that_changes() -> None:
    broker = Broker({"a": 2, "b": 4})
    written: list[str] = []
    line = StatusLine(written.append, in_place=True, columns=60)
    outcomes(broker, submitted(broker, "a", "b"), progress=line)
    assert written[0] == "\r[0/2]   0% run 0 q 2 pass 0 fail 0 infra 0"
    assert written[-2].startswith("\r[2/2] 100% run 0 q 0 pass 2 fail 0 infra 0 0.") and written[-1] == "\n"
    assert all(len(text) <= 60 for text in written)


def test_progress_without_a_terminal_is_an_occasional_line() -> None:
    written: list[str] = []
    now = [0.0]
    line = StatusLine(written.append, in_place=False, now=lambda: now[0])
    for done in range(101):
        line(Tally(total=100, passed=done, queued=100 - done))
    assert len(written) == 20
    now[0] = 11
    line(Tally(total=100, passed=100, elapsed_s=50))
    assert written[-1] == "[100/100] 100% run 0 q 0 pass 100 fail 0 infra 0 2.0/s\n"
    assert str(Tally(total=9000, passed=1, elapsed_s=1)).endswith("1.0/s eta 2:29:59")
