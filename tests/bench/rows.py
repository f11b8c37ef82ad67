"""What is measured: one row of the table each, and how kq-bench is asked for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    peers: bool  # whether the peers are measured too
    words: tuple[str, ...] = ()  # of kq-bench cycle
    share: float = 1.0  # of the jobs that make a run of some seconds
    random: bool = False  # bodies that nothing compresses
    curve: bool = False  # every connection encrypted and known by its key: kq alone


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
        "one producer, one job at a time, nobody takes",
        peers=True,
        words=("--consumers", "0"),
        share=0.05,
    ),
)

# Only kq, and of their own kind: scripts/bench broker --only takes these names too.
DEPTH = Row("depth", "rate and latency with many jobs queued, and the restart after kill -9", peers=False)
CROWD = Row("crowd", "1,000 workers that heartbeat, 100 steady submitters", peers=False)
GREEDY = Row("greedy", "a steady submitter beside one that queued 20,000 jobs before", peers=False)
LIMITS = Row("limits", "what the disk, ZeroMQ and RocksDB can do alone", peers=False)
ROWS = (LIMITS, *CYCLES, CROWD, GREEDY, DEPTH)
