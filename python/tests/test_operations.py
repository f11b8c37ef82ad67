"""Tests the operations on a simulated network, where a function answers and time passes only in pauses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from examples import submission
from simulated_network import SimulatedNetwork

import kq
from kq.calls import operations
from kq.calls.batch import Jobs, submit_many
from kq.records.jobs import JobState, RunEntry, RunRow
from kq.wire.messages import (
    JobAck,
    JobStatus,
    Refused,
    RunQuery,
    RunReply,
    StatusQuery,
    StatusReply,
    SubmitAck,
    SubmitBatch,
)
from kq.wire.queue_messages import Done, FileQuery, FileReply, ShareRun


def acks(batch: SubmitBatch) -> SubmitAck:
    return SubmitAck([JobAck(kq.Acceptance.ACCEPTED, seq + 1) for seq in range(len(batch.jobs))])


def test_sources_are_fetched_file_by_file() -> None:
    job = submission("relu/a")

    def answer(request: Any) -> RunReply | FileReply:
        if isinstance(request, RunQuery):
            return RunReply([RunRow("run", RunEntry(7, job))])
        return FileReply("kernel.py", request.hash, b"source")

    network = SimulatedNetwork(answer)
    got = network.run(operations.sources("run", "relu/a"))
    assert got == {file.name: b"source" for file in job.files}
    assert network.asked[-1] == FileQuery("run", "relu/a", job.files[-1].hash)
    with pytest.raises(kq.BadInput, match="there is no label 'other'"):
        network.run(operations.sources("run", "other"))


def test_a_run_is_shared_with_names() -> None:
    network = SimulatedNetwork(lambda request: Done())
    network.run(operations.share("run", ["bob"], True))
    assert network.asked == [ShareRun("run", ["bob"], True)]
    with pytest.raises(kq.BadInput, match="a list of names is needed"):
        network.run(operations.share("run", "bob", True))


def test_submit_joins_the_acknowledgements_of_all_batches() -> None:
    network = SimulatedNetwork(acks)
    got = network.run(operations.submit("run", [submission(f"relu/{i}") for i in range(300)]))
    assert [len(batch.jobs) for batch in network.asked] == [256, 44]
    assert len(got) == 300


class BusyBroker(SimulatedNetwork):
    """A broker that accepts two jobs, and accepts all jobs from the time `open_s` on."""

    def __init__(self, open_s: float) -> None:
        super().__init__(self.take)
        self.room = 2
        self.open_s = open_s

    def take(self, batch: SubmitBatch) -> SubmitAck:
        assert batch.submitter == "ann"
        assert {blob.hash for blob in batch.blobs} == {
            file.hash for job in batch.jobs for file in (*job.files, job.problem)
        }
        return SubmitAck([self.ack() for _ in batch.jobs])

    def ack(self) -> JobAck:
        if self.now_s >= self.open_s:
            self.room = 100
        if not self.room:
            return JobAck(kq.Acceptance.BUSY, reason="the queue is full", retry_after_ms=1_000)
        self.room -= 1
        return JobAck(kq.Acceptance.ACCEPTED, self.room + 1)


def different(count: int) -> list[kq.Submission]:
    return [submission(f"relu/{i}", f"class ModelNew: x = {i}") for i in range(count)]


def test_jobs_that_a_busy_broker_does_not_accept_are_sent_again_after_growing_pauses() -> None:
    network = BusyBroker(open_s=6.0)
    got = network.run(operations.submit("run", different(4), "ann", None, network.now))
    assert [ack.acceptance for ack in got] == [kq.Acceptance.ACCEPTED] * 4
    assert [len(batch.jobs) for batch in network.asked] == [4, 2, 2, 2]
    assert network.now_s == 7.0


def test_submitting_to_a_busy_broker_ends_with_the_timeout() -> None:
    network = BusyBroker(open_s=100.0)
    with pytest.raises(kq.GaveUp, match="the broker is busy: the queue is full; 2 of 4 jobs were answered before"):
        network.run(operations.submit("run", different(4), "ann", 5.0, network.now))
    assert network.now_s == 5.0


@pytest.mark.parametrize(
    ("run", "jobs", "sentence"),
    [
        ("", [submission()], "run is empty"),
        ("run", [submission(""), submission()], "label is empty"),
        ("run", [submission(), submission()], "relu/a: this label is given twice"),
        ("run", [submission(), submission("b", trials=kq.Trials(correctness=0))], "b: trials must be between 1"),
        (5, [submission()], "run must be a text, got int"),
        ("run", None, "a list of Submission is needed, got NoneType"),
        ("run", submission(), "a list of Submission is needed, got Submission"),
        ("run", [submission(), "k.py"], "submission 1 must be a Submission, got str"),
    ],
)
def test_nothing_is_sent_if_one_submission_is_wrong(run: str, jobs: list[kq.Submission], sentence: str) -> None:
    network = SimulatedNetwork(acks)
    with pytest.raises(kq.BadInput, match=sentence):
        network.run(operations.submit(run, jobs))
    # A generator's items are checked when they are read.
    for given in (jobs, iter(jobs) if isinstance(jobs, list) else jobs):
        with pytest.raises(kq.BadInput, match=sentence):
            network.run(submit_many(Jobs(run), given, "ann", None, lambda: 0.0))
    assert network.asked == []


def finished_at(times: dict[int, float], networks: list[SimulatedNetwork]) -> Callable[[StatusQuery], StatusReply]:
    def answer(query: StatusQuery) -> StatusReply:
        done = {seq: networks[0].now_s >= times[seq] for seq in query.seqs if seq in times}
        return StatusReply(
            [JobStatus(seq, JobState.FINISHED if is_done else JobState.QUEUED) for seq, is_done in done.items()]
        )

    return answer


def network_where(times: dict[int, float]) -> SimulatedNetwork:
    here: list[SimulatedNetwork] = []
    here.append(SimulatedNetwork(finished_at(times, here)))
    return here[0]


def test_wait_asks_only_about_unfinished_jobs_with_growing_pauses() -> None:
    network = network_where({1: 0, 2: 30})
    got = network.run(operations.wait((seq for seq in (2, 1, 2)), None, network.now))
    assert [status.seq for status in got] == [2, 1, 2]
    assert [query.seqs for query in network.asked][:2] == [[2, 1], [2]]
    assert 30 <= network.now_s <= 31 and len(network.asked) < 45


def test_wait_gives_up_in_time_and_says_what_is_pending() -> None:
    network = network_where({1: 0, 2: 100})
    with pytest.raises(
        kq.GaveUp, match=r"1 of 2 jobs are not finished after 5 s; they go on: job 2 \(queued\)"
    ) as raised:
        network.run(operations.wait([1, 2], 5, network.now))
    assert network.now_s == 5
    assert [status.seq for status in raised.value.pending] == [2]


def test_poll_returns_when_one_job_is_finished_or_the_time_is_over() -> None:
    network = network_where({1: 3, 2: 100})
    got = network.run(operations.wait([1, 2], 30, network.now, first=True))
    assert [status.state for status in got] == ["finished", "queued"] and 3 <= network.now_s < 5
    assert [status.state for status in network.run(operations.wait([2], 10, network.now, first=True))] == ["queued"]
    assert network.now_s < 15


def test_wait_with_timeout_0_asks_once() -> None:
    network = network_where({1: 0})
    assert len(network.run(operations.wait([1], 0, network.now))) == 1
    assert network.run(operations.wait([], 0, network.now)) == []


def test_wait_pages_its_queries() -> None:
    network = network_where({seq: 0 for seq in range(1, 5001)})
    assert len(network.run(operations.wait(range(1, 5001), None, network.now))) == 5000
    assert [len(query.seqs) for query in network.asked] == [
        904,
        4096,
    ]  # only the last query may wait for a job to finish


@pytest.mark.parametrize("seq", [9, 0, -1, 1 << 64])
def test_wait_for_an_invalid_job_number_is_refused(seq: int) -> None:
    network = network_where({1: 0})
    with pytest.raises(kq.BadInput, match=str(seq)):
        network.run(operations.wait([1, seq], None, network.now))


@pytest.mark.parametrize(
    ("seqs", "sentence"),
    [
        (7, "a list of job numbers is needed, got int"),
        (None, "a list of job numbers is needed, got NoneType"),
        ("12", "a list of job numbers is needed, got str"),
        (["1"], "'1' is not a job number"),
        ([1.0], "1.0 is not a job number"),
    ],
)
def test_job_numbers_of_a_wrong_type_are_refused(seqs: Any, sentence: str) -> None:
    network = SimulatedNetwork(acks)
    for ask in (lambda: operations.wait(seqs, 1.0, network.now), lambda: operations.cancel(seqs)):
        with pytest.raises(kq.BadInput, match=sentence):
            network.run(ask())
    assert network.asked == []


LABELS = sorted(["a", "a.", "a/1", "b", "ä", "ä€", "ab"] + [f"k/{i}" for i in range(600)], key=str.encode)


def rows(query: RunQuery) -> RunReply:
    """Answers like the broker: with the rows after a label, in the order of the labels' bytes."""
    after = [label for label in LABELS if label.encode() > query.after_label]
    page = [RunRow(query.run, RunEntry(1, submission(label))) for label in after[: min(query.limit, 256)]]
    return RunReply(page, more=len(after) > len(page))


def test_results_pages_through_a_run() -> None:
    network = SimulatedNetwork(rows)
    assert [row.label for row in network.run(operations.results("run", False))] == LABELS
    assert len(network.asked) == 3


@pytest.mark.parametrize("label", ["a", "a.", "a/1", "ab", "b", "k/17", "k/599", "ä", "ä€"])
def test_one_row_is_found_with_one_query(label: str) -> None:
    network = SimulatedNetwork(rows)
    assert network.run(operations.row("run", label)).label == label
    assert len(network.asked) == 1
    assert network.run(operations.row("run", label + "?")) is None


def test_neighbouring_rows_need_few_queries_and_scattered_ones_one_each() -> None:
    network = SimulatedNetwork(rows)
    near = [f"k/{i}" for i in range(600)]
    assert set(network.run(operations.rows_of("run", near, 1.0))) == set(near)
    assert len(network.asked) < 10
    network.asked.clear()
    far = [*LABELS[::50], "nobody"]
    assert set(network.run(operations.rows_of("run", far, 1.0))) == set(far) - {"nobody"}
    assert sum(query.limit for query in network.asked) < 3 * len(far)


def test_a_refused_request_is_bad_input() -> None:
    with pytest.raises(kq.BadInput, match="the broker refused the request: no such thing"):
        SimulatedNetwork(lambda _: Refused("no such thing")).run(operations.status())


def test_a_reply_of_another_type_is_an_error() -> None:
    with pytest.raises(kq.BrokerUnreachable, match="answered with submit_ack, which does not fit"):
        SimulatedNetwork(lambda _: SubmitAck()).run(operations.status())
