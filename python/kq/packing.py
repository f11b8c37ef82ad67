"""Submissions -> batches that fit into a message. Files are packed with zstd where its library is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kq.errors import BadInput
from kq.hash import Hash
from kq.limits import FILE_BYTES_MAX, SUBMIT_BYTES_MAX, SUBMIT_JOBS_MAX
from kq.messages import Blob, Packing, SubmitBatch
from kq.submission import Problem, SourceFile, Submission

try:
    import zstandard
except ImportError:  # raw will do, it only takes more room
    zstandard = None  # type: ignore[assignment]

LEVEL = -1  # core/bytes/compress.cc, which knows why


def batches(run: str, submissions: Sequence[Submission], submitter: str = "") -> Iterator[SubmitBatch]:
    """In order, each as full as it may be, each with the files its jobs need; no submission is too large for one."""
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
    """Some of its jobs, with the files they need: to be sent again."""
    if len(places) == len(batch.jobs):
        return batch
    jobs = [batch.jobs[place] for place in places]
    needed = {name for job in jobs for name in blobs_of(job)}
    return replace(batch, jobs=jobs, blobs=[blob for blob in batch.blobs if blob.hash in needed])


def blobs_of(submission: Submission) -> dict[Hash, bytes]:
    """The files that are at hand; the others must be in the broker's store."""
    files: list[SourceFile | Problem] = [*submission.files, submission.problem]
    return {file.hash: file.content for file in files if file.content is not None}


def size_of(submission: Submission) -> int:
    return _size(blobs_of(submission))


def _size(blobs: dict[Hash, bytes]) -> int:
    return sum(map(len, blobs.values()))


def _batch(run: str, jobs: list[Submission], blobs: dict[Hash, bytes], submitter: str) -> SubmitBatch:
    return SubmitBatch(run, jobs, [packed(name, content) for name, content in blobs.items()], submitter)


def packed(name: Hash, content: bytes) -> Blob:
    """As one frame that names its content's size, or raw where that is not smaller."""
    if zstandard is not None:
        frame = zstandard.ZstdCompressor(level=LEVEL).compress(content)
        if len(frame) < len(content):
            return Blob(name, frame, Packing.ZSTD)
    return Blob(name, content)


def unpacked(frame: bytes) -> bytes:
    """The content of a frame; BadInput without the library."""
    if zstandard is None:
        raise BadInput("a zstd frame cannot be read here: pip install zstandard")
    return bytes(zstandard.ZstdDecompressor().decompress(frame, max_output_size=FILE_BYTES_MAX))
