"""Tests both clients with the real broker and a fake worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from conftest import RealBroker
from examples import problem, submission
from fake_worker import FakeWorker, judge

import kq
from kq.calls.operations import ANSWER_TIMEOUT_S, Ask, Operation
from kq.records.submission import Workload
from kq.records.validate import check
from kq.wire.messages import SubmitBatch

Connect = Callable[[str], Any]


@pytest.fixture
def worker(broker: RealBroker) -> Iterator[FakeWorker]:
    worker = FakeWorker(broker.url, judge)
    yield worker
    worker.close()


def test_jobs_are_identified_by_their_work(connect: Connect, broker: RealBroker) -> None:
    client = connect(broker.url)
    jobs = [submission("relu/a", "# a"), submission("relu/b", "# b")]
    first = client.submit("tuesday", jobs)
    assert [(ack.acceptance, ack.seq, ack.state) for ack in first] == [
        ("accepted", 1, "queued"),
        ("accepted", 2, "queued"),
    ]
    again = client.submit("tuesday", [replace(jobs[1], label="relu/c"), *jobs])
    assert [(ack.acceptance, ack.seq) for ack in again] == [("reused", 2), ("reused", 1), ("reused", 2)]
    salted = client.submit("tuesday", [replace(jobs[0], salt="2")])
    assert [(ack.acceptance, ack.seq) for ack in salted] == [("accepted", 3)]


def test_unfinished_run_has_rows_without_results(connect: Connect, broker: RealBroker) -> None:
    client = connect(broker.url)
    jobs = [submission(f"relu/{i:03}", f"# {i}", author="ada", tags={"model": "größer"}) for i in range(300)]
    acks = client.submit("tuesday", jobs)
    rows = client.results("tuesday")
    assert [row.entry.submission for row in rows] == jobs
    assert [row.job.seq for row in rows] == [ack.seq for ack in acks]
    assert all(row.result is None and row.verdict is None for row in rows)
    assert client.leaderboard() == []
    with pytest.raises(kq.NotFound, match="there is no run 'wednesday'"):
        client.results("wednesday")
    status = client.status()
    assert (status.version, status.queued, status.leased, status.workers) == (kq.__version__, 300, 0, [])
    assert str(status) == f"kq {kq.__version__}: 300 queued, 0 running; workers: none"


def test_wait_for_a_job_that_no_worker_can_run_gives_up(connect: Connect, broker: RealBroker) -> None:
    client = connect(broker.url)
    (ack,) = client.submit("tuesday", [submission()])
    with pytest.raises(kq.GaveUp, match="1 of 1 jobs are not finished after 2 s"):
        client.wait([ack.seq], timeout=2)
    with pytest.raises(kq.BadInput, match="the broker knows no job 77"):
        client.wait([77])


def test_finished_jobs_have_results_and_samples(connect: Connect, broker: RealBroker, worker: FakeWorker) -> None:
    client = connect(broker.url)
    acks = client.submit("tuesday", [submission("relu/good"), submission("relu/bad", "# wrong")])
    statuses = client.wait([ack.seq for ack in acks], timeout=60)
    assert [(status.state, status.verdict) for status in statuses] == [
        ("finished", "passed"),
        ("finished", "wrong_answer"),
    ]
    bad, good = client.results("tuesday", with_samples=True)
    assert good.result and good.verdict and good.verdict.measurement and good.verdict.measurement.speedup == 1.5
    assert good.result.samples == kq.Samples([1, 2], [3, 4]) and good.result.log == "done\n"
    assert bad.verdict and bad.verdict.evidence and bad.verdict.evidence.message == "output 0 differs"
    (best,) = client.leaderboard()
    assert (best.label, best.problem, best.speedup, best.seq) == ("relu/good", "relu", 1.5, good.job.seq)
    assert [one.worker for one in client.status().workers] == ["fake"]


def test_poll_returns_when_one_job_is_finished_and_cancel_ends_the_others(connect: Connect, broker: RealBroker) -> None:
    client = connect(broker.url)
    seqs = [ack.seq for ack in client.submit("tuesday", [submission("relu/a", "# a"), submission("relu/b", "# b")])]
    assert [(one.state, one.why) for one in client.poll(seqs, timeout=2)] == 2 * [("queued", "no_worker")]
    (action,) = client.cancel(seqs[1:])
    assert (action.seq, action.done, action.state) == (seqs[1], True, "finished")
    assert [one.verdict for one in client.poll(seqs, timeout=60)] == ["", "cancelled"]
    batch = client.submit_many("tuesday", [submission("relu/c", "# c")])
    assert [str(job) for job in batch.pending] == ["relu/c (job 3): queued"] and "relu/c" in batch._repr_html_()


def test_each_row_reads_a_run_of_many_pages(connect: Connect, broker: RealBroker) -> None:
    client = connect(broker.url)
    client.submit("tuesday", [submission(f"relu/{i:03}", f"# {i}") for i in range(300)])
    assert list(client.each_row("tuesday")) == client.results("tuesday")
    with pytest.raises(kq.NotFound):
        next(client.each_row("wednesday"))


def test_jobs_survive_a_restart_of_the_broker(connect: Connect, broker: RealBroker) -> None:
    client = connect(broker.url)
    first = client.submit("tuesday", [submission()])
    broker.stop()
    broker.start()
    (ack,) = client.submit("tuesday", [submission()])
    assert (ack.acceptance, ack.seq) == ("reused", first[0].seq)


def unchecked(job: kq.Submission) -> Operation[str]:
    """Returns the broker's error text for a submission that the client would refuse to send."""
    ack = yield Ask(SubmitBatch("tuesday", [job]), ANSWER_TIMEOUT_S)
    return str(ack.jobs[0].reason)


BAD = [
    submission(""),
    submission("x" * 201),
    submission("a\x85b"),
    submission(author="a\nb"),
    submission(tags={"": "x"}),
    submission(tags={"a": "x\x7f"}),
    submission(tags={str(i): "" for i in range(33)}),
    submission(trials=kq.Trials(correctness=0)),
    submission(trials=kq.Trials(timed=1001)),
    submission(problem=replace(problem(), rtol=1.5)),
    submission(problem=replace(problem(), name="")),
    submission(problem=replace(problem(), file="a/b.py")),
    submission(problem=replace(problem(), file="..")),
    submission(problem=replace(problem(), workloads=[])),
    submission(problem=replace(problem(), workloads=[Workload("x" * 201)])),
    replace(submission(), files=[]),
    replace(submission(), files=17 * [kq.SourceFile.of("a.py", "x")]),
    replace(submission(), files=[kq.SourceFile.of("a/b.py", "x")]),
    replace(submission(), files=[kq.SourceFile.of("", "x")]),
    replace(submission(), files=[kq.SourceFile.of("a.py", "x"), kq.SourceFile.of("a.py", "y")]),
]


def test_client_and_broker_refuse_a_submission_with_the_same_text(broker: RealBroker) -> None:
    with kq.Client(broker.url) as client:
        for job in BAD:
            with pytest.raises(kq.BadInput) as here:
                check(job)
            assert client._run(unchecked(job)) == str(here.value)


def test_a_submission_without_content_that_the_broker_lacks_is_refused(connect: Connect, broker: RealBroker) -> None:
    job = replace(submission(), files=[replace(file, content=None) for file in submission().files])
    client = connect(broker.url)
    (ack,) = client.submit("tuesday", [job])
    assert ack.acceptance == "refused" and "send its bytes along" in ack.reason
    client.submit("tuesday", [submission("relu/other")])
    (ack,) = client.submit("tuesday", [job])
    assert ack.acceptance == "reused"
