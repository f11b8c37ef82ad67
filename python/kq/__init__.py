"""The Python client of kq, which evaluates GPU kernels: submit kernels, wait for them, read results, use rewards.

A script submits a sweep and reads each result as its job finishes:

    problem = kq.Problem.read("examples/sweep/problems/relu.py")
    mine = kq.Submission.of(Path("mine.cu"), label="relu/mine", problem=problem)
    with kq.Client() as client:
        batch = client.submit_many("tuesday", [mine])
        for one in batch.as_completed(timeout=600, progress=True):
            print(one.label, one.verdict.name if one.verdict else one.infra_error)

A training loop asks for the rewards of kernels:

    with kq.Client() as client:
        for one in client.evaluate_many(texts, problem=problem, timeout=300):
            print(one.reward, one.infra_error)  # a reward, or a sentence that says why there is none

The modules at the top of this package are public. The subpackages are private: `records` holds the records that client
and broker exchange, `wire` the protocol, `connection` the socket, `calls` what each call does, `tables` results as
tables.
"""

from kq.aio import AsyncBatch, AsyncClient
from kq.calls.batch import PendingJob
from kq.calls.progress import Tally
from kq.client import Batch, Client, reward
from kq.completion import first_code_block, last_code_block
from kq.errors import BadInput, BadSource, BrokerUnreachable, Error, GaveUp, InfraError, NotFound
from kq.evaluation import Evaluation, Reward
from kq.evaluator import KernelGuide, LocalKernelEvaluatorWrapper
from kq.kernelbench import KernelExecResult, score
from kq.records.hash import Hash
from kq.records.jobs import (
    DeviceInfo,
    DeviceKind,
    JobRecord,
    JobState,
    KernelRun,
    LeaderboardRow,
    Result,
    RunEntry,
    RunRow,
    Samples,
)
from kq.records.submission import (
    AllowedPrecision,
    Backend,
    Baseline,
    DeviceWish,
    Graphs,
    Precision,
    Problem,
    Profiler,
    SourceFile,
    Streams,
    Submission,
    Trials,
    TruthRule,
)
from kq.records.verdict import (
    Correctness,
    Evidence,
    Fault,
    Measurement,
    Mismatch,
    Stage,
    Statistics,
    TruthErrors,
    Verdict,
    VerdictName,
)
from kq.tables.columns import Row
from kq.wire.messages import Acceptance, BrokerReply, JobAck, JobStatus, WorkerStatus

__version__ = "0.2.0"

__all__ = [
    "Acceptance",
    "AsyncBatch",
    "AsyncClient",
    "Backend",
    "BadInput",
    "BadSource",
    "Baseline",
    "Batch",
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
    "Graphs",
    "Hash",
    "InfraError",
    "JobAck",
    "JobRecord",
    "JobState",
    "JobStatus",
    "KernelExecResult",
    "KernelGuide",
    "KernelRun",
    "LeaderboardRow",
    "LocalKernelEvaluatorWrapper",
    "Measurement",
    "Mismatch",
    "NotFound",
    "PendingJob",
    "Precision",
    "Problem",
    "AllowedPrecision",
    "Profiler",
    "Result",
    "Reward",
    "Row",
    "RunEntry",
    "RunRow",
    "Samples",
    "SourceFile",
    "Stage",
    "Statistics",
    "Streams",
    "Submission",
    "Tally",
    "Trials",
    "TruthErrors",
    "TruthRule",
    "Verdict",
    "VerdictName",
    "WorkerStatus",
    "first_code_block",
    "last_code_block",
    "reward",
    "score",
]
