"""Packs submissions into batches that fit into a message.

Files are compressed if the zstandard library is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kq.errors import BadInput
from kq.records.hash import Hash
from kq.records.limits import FILE_BYTES_MAX, SUBMIT_BYTES_MAX, SUBMIT_JOBS_MAX
from kq.records.submission import Problem, SourceFile, Submission
from kq.wire.messages import Blob, Packing, SubmitBatch

try:
    import zstandard
except ImportError:  # files are then sent uncompressed
    zstandard = None  # type: ignore[assignment]

LEVEL = -1  # the level of core/bytes/compress.cc, which explains the choice


def batches(run: str, submissions: Sequence[Submission], submitter: str = "") -> Iterator[SubmitBatch]:
    """Yields batches with all submissions in order, each as full as the limits allow and with the files its jobs need.

    No submission may be too large for a batch; operations.checked() makes sure of that.
    """
    jobs: list[Submission] = []
    blobs: dict[Hash, bytes] = {}
    size = 0
    for submission in submissions:
        new = {name: content for name, content in blobs_of(submission).items() if name not in blobs}
        if jobs and (len(jobs) == SUBMIT_JOBS_MAX or size + _size(new) > SUBMIT_BYTES_MAX):
            yield _batch(run, jobs, blobs, submitter)
            jobs, blobs, size = [], {}, 0
            new = blobs_of(submission)
        jobs.append(submission)
        blobs.update(new)
        size += _size(new)
    if jobs:
        yield _batch(run, jobs, blobs, submitter)


def part_of(batch: SubmitBatch, places: Sequence[int]) -> SubmitBatch:
    """Returns a batch of the jobs at these places, with the files they need, to be sent again."""
    if len(places) == len(batch.jobs):
        return batch
    jobs = [batch.jobs[place] for place in places]
    needed = {name for job in jobs for name in blobs_of(job)}
    return replace(batch, jobs=jobs, blobs=[blob for blob in batch.blobs if blob.hash in needed])


def blobs_of(submission: Submission) -> dict[Hash, bytes]:
    """Returns the contents of a submission's files by hash. A file without content must be in the broker's store."""
    files: list[SourceFile | Problem] = [*submission.files, submission.problem]
    return {file.hash: file.content for file in files if file.content is not None}


def size_of(submission: Submission) -> int:
    """Returns the size of a submission's files in bytes."""
    return _size(blobs_of(submission))


def _size(blobs: dict[Hash, bytes]) -> int:
    return sum(map(len, blobs.values()))


def _batch(run: str, jobs: list[Submission], blobs: dict[Hash, bytes], submitter: str) -> SubmitBatch:
    return SubmitBatch(run, jobs, [packed(name, content) for name, content in blobs.items()], submitter)


def packed(name: Hash, content: bytes) -> Blob:
    """Returns the content as a blob: a zstd frame that states the content's size, or raw if that is not larger."""
    if zstandard is not None:
        frame = zstandard.ZstdCompressor(level=LEVEL).compress(content)
        if len(frame) < len(content):
            return Blob(name, frame, Packing.ZSTD)
    return Blob(name, content)


def unpacked(frame: bytes) -> bytes:
    """Returns the content of a zstd frame; raises BadInput if the zstandard library is not installed."""
    if zstandard is None:
        raise BadInput("reading a zstd frame needs the zstandard library: pip install zstandard")
    return bytes(zstandard.ZstdDecompressor().decompress(frame, max_output_size=FILE_BYTES_MAX))
