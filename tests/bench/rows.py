"""The rows of the benchmark's table, and the arguments with which kq-bench measures each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    peers: bool  # whether the other servers are measured too
    words: tuple[str, ...] = ()  # the arguments of kq-bench cycle
    share: float = 1.0  # a factor on the number of jobs, so that a run takes some seconds
    random: bool = False  # whether bodies are random and so cannot be compressed
    replicas: int | None = None  # --replicas of kq-broker, which then has a standby on the same machine and disk
    curve: bool = False  # whether connections are encrypted and authenticated by keys, which only kq supports


CYCLES = (
    Row(
        "pipelined",
        "whole cycle, one client with 4 x 64 jobs in flight, one consumer x 256",
        peers=True,
        words=("--batch", "64", "--in-flight", "4", "--at-once", "256"),
    ),
    Row(
        "incompressible",
        "the same with random bodies of 4 KB",
        peers=True,
        words=("--batch", "64", "--in-flight", "4", "--at-once", "256"),
        random=True,
    ),
    Row(
        "clients_64",
        "64 producers of single jobs, 16 consumers x 16",
        peers=True,
        words=("--producers", "64", "--consumers", "16", "--at-once", "16"),
        share=0.6,
    ),
    Row(
        "curve",
        "as pipelined, with a key for every connection",
        peers=False,
        words=("--batch", "64", "--in-flight", "4", "--at-once", "256"),
        curve=True,
    ),
    Row(
        "unloaded",
        "one producer, one job at a time, no consumer",
        peers=True,
        words=("--consumers", "0"),
        share=0.05,
    ),
    *(
        Row(
            f"{name}_replicas_{replicas}",
            f"as {name}, with a standby on the same disk" + (" that every reply waits for" if replicas else ""),
            peers=False,
            words=words,
            share=share,
            replicas=replicas,
        )
        for replicas in (0, 1)
        for name, words, share in (
            ("pipelined", ("--batch", "64", "--in-flight", "4", "--at-once", "256"), 1.0),
            ("unloaded", ("--consumers", "0"), 0.05),
        )
    ),
)

# These rows measure kq alone, each in its own way; scripts/bench broker --only accepts their names too.
DEPTH = Row("depth", "rate and latency with many jobs queued, and the restart after kill -9", peers=False)
CROWD = Row("crowd", "1,000 workers that heartbeat, 100 steady submitters", peers=False)
GREEDY = Row("greedy", "a steady submitter beside one that queued 20,000 jobs before", peers=False)
LIMITS = Row("limits", "what the disk, ZeroMQ and RocksDB can do alone", peers=False)
ROWS = (LIMITS, *CYCLES, CROWD, GREEDY, DEPTH)
