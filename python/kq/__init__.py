"""Client of kq, which evaluates GPU kernels: submit them, wait for them, read their rows, take speedups as rewards.

A script hands over a sweep and reads its rows:

    problem = kq.Problem.read("examples/sweep/problems/relu.py")
    mine = kq.Submission.of(Path("mine.cu"), label="relu/mine", problem=problem, backend="cuda")
    with kq.Client() as client:
        acks = client.submit("tuesday", [mine])
        client.wait([ack.seq for ack in acks], timeout=600)
        for row in client.results("tuesday"):
            print(row.label, row.verdict.name)

A learner asks for one kernel, and for what it is worth:

    async with kq.AsyncClient() as client:
        evaluation = await client.evaluate(text, problem=problem, backend="triton", timeout=300)
        reward = kq.reward(evaluation)  # None where evaluation.infra_error says why there is none
"""

from kq.aio import AsyncClient
from kq.client import Client
from kq.errors import BadInput, BadSource, BrokerUnreachable, Error, GaveUp
from kq.evaluation import Evaluation, reward
from kq.hash import Hash
from kq.messages import Acceptance, BrokerReply, JobAck, JobStatus, WorkerStatus
from kq.records import DeviceInfo, DeviceKind, JobRecord, JobState, LeaderboardRow, Result, RunEntry, RunRow, Samples
from kq.submission import Backend, DeviceWish, Precision, Problem, SourceFile, Submission, Trials
from kq.verdict import Correctness, Evidence, Fault, Measurement, Mismatch, Stage, Statistics, Verdict, VerdictName

__version__ = "0.1.0"

__all__ = [
    "Acceptance",
    "AsyncClient",
    "Backend",
    "BadInput",
    "BadSource",
    "BrokerReply",
    "BrokerUnreachable",
    "Client",
    "Correctness",
    "DeviceInfo",
    "DeviceKind",
    "DeviceWish",
    "Error",
    "Evaluation",
    "Evidence",
    "Fault",
    "GaveUp",
    "Hash",
    "JobAck",
    "JobRecord",
    "JobState",
    "JobStatus",
    "LeaderboardRow",
    "Measurement",
    "Mismatch",
    "Precision",
    "Problem",
    "Result",
    "RunEntry",
    "RunRow",
    "Samples",
    "SourceFile",
    "Stage",
    "Statistics",
    "Submission",
    "Trials",
    "Verdict",
    "VerdictName",
    "WorkerStatus",
    "reward",
]
