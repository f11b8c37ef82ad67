"""Tests encoding and decoding with the golden bytes that C++ wrote and with random values of hypothesis."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgpack
import pytest
import worker_messages
from examples import ROOT, submission
from hypothesis import given
from hypothesis import strategies as st

from kq.records import jobs as records
from kq.records.hash import Hash
from kq.records.submission import Submission
from kq.records.verdict import Statistics
from kq.wire import messages
from kq.wire.codec import Malformed, decode, decode_message, encode, encode_message, message_name


def is_for_clients(path: Path) -> bool:
    """Whether a golden file holds something that clients understand: a message, or a record as a map.

    Records of disk schemas before 4 are maps and have the form of records inside messages. Records of later schemas are
    arrays without names, which only the broker reads, and files named judge_ are messages between a worker's processes.
    """
    if path.name.startswith("record_"):
        return isinstance(msgpack.unpackb(path.read_bytes(), unicode_errors="replace"), dict)
    return not path.name.startswith("judge_")


GOLDEN = sorted(filter(is_for_clients, (ROOT / "tests/golden/bytes").glob("*.bin")))

DIRECTIONS = {
    "client_request": messages.REQUESTS,
    "client_reply": messages.REPLIES,
    "worker_request": worker_messages.REQUESTS,
    "worker_reply": worker_messages.REPLIES,
}
RECORDS = {
    "submission": Submission,
    "job": records.JobRecord,
    "result_passed": records.Result,
    "result_suspect": records.Result,
    "result_ended": records.Result,
    "samples": records.Samples,
    "requirements": records.Requirements,
    "run_entry": records.RunEntry,
    "run_row": records.RunRow,
    "leaderboard_row": records.LeaderboardRow,
    "build_object": worker_messages.BuildObject,
}


def direction_of(name: str) -> str:
    return "_".join(name.split("_")[:2])


def again(name: str, data: bytes) -> bytes:
    """Decodes the bytes and encodes the result."""
    if name.startswith("record_"):
        return encode(decode(RECORDS[name.removeprefix("record_")], data))
    request_id, body = decode_message(data, DIRECTIONS[direction_of(name)])
    return encode_message(request_id, body)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_bytes_are_decoded_and_encoded_unchanged(path: Path) -> None:
    name, version = path.name.removesuffix(".bin").rsplit(".v", 1)
    data = path.read_bytes()
    newest = not path.with_name(f"{name}.v{int(version) + 1}.bin").exists()
    if newest and b"\x1b[31mdone\xff" not in data:  # a log that is not UTF-8 is decoded with U+FFFD and so changes
        assert again(name, data) == data
    assert again(name, again(name, data)) == again(name, data)


def test_all_golden_bytes_are_there() -> None:
    names = {path.name.split(".")[0] for path in GOLDEN}
    wanted = {f"record_{name}" for name in RECORDS}
    wanted |= {f"{way}_{message_name(kind)}" for way, kinds in DIRECTIONS.items() for kind in kinds}
    assert names == wanted


def test_a_log_that_is_not_utf8_is_decoded_as_text() -> None:
    path = ROOT / "tests/golden/bytes/record_result_passed.v1.bin"
    assert decode(records.Result, path.read_bytes()).log == "compiling\n\x1b[31mdone\ufffd\n"


@given(st.binary(max_size=300), st.text(max_size=300).filter(lambda text: "\0" not in text))
def test_any_bytes_and_text_survive_encoding_and_decoding(content: bytes, label: str) -> None:
    blob = messages.Blob(Hash.of(content), content)
    assert decode(messages.Blob, encode(blob)) == blob
    query = messages.RunQuery(run=label, after_label=content)
    assert decode_message(encode_message(7, query), messages.REQUESTS) == (7, query)


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9)), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_any_submission_survives_encoding_and_decoding(tags: dict[str, str], rtol: float, timed: int) -> None:
    problem = submission().problem
    one = Submission(
        label="a",
        tags=tags,
        problem=type(problem)(name="p", file="p.py", hash=problem.hash, rtol=rtol),
        trials=type(submission().trials)(timed=timed),
    )
    assert decode(Submission, encode(one)) == one


@given(st.binary(max_size=200))
def test_random_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode_message(data, messages.REPLIES)


@given(st.sampled_from([path for path in GOLDEN if path.name.startswith("client_reply")]), st.data())
def test_damaged_replies_are_decoded_or_malformed(path: Path, data: st.DataObject) -> None:
    damaged = bytearray(path.read_bytes())
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Malformed):
        decode_message(bytes(damaged), messages.REPLIES)


def test_a_percentile_of_too_few_samples_is_none_and_0_on_the_wire() -> None:
    few = Statistics(samples_n=20, p95_ns=5.0)
    sent = encode(few)
    assert (msgpack.unpackb(sent)["p95_ns"], msgpack.unpackb(sent)["p99_ns"]) == (5.0, 0.0)
    assert decode(Statistics, sent) == few
    assert few.p99_ns is None


def test_unknown_fields_are_ignored_and_absent_ones_keep_their_defaults() -> None:
    data = msgpack.packb({"seq": 7, "colour": "red"})
    assert decode(messages.JobStatus, data) == messages.JobStatus(seq=7)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ([2, 1, ["refused", {}]], "protocol version 2, this program speaks 1"),
        ([1, 1], r"\[version, request_id, \[name, body\]\] was expected"),
        ([1, 1, ["refusal", {}]], "unknown name 'refusal', known are: submit_ack, "),
        ([1, 1, ["refused", {"reason": 5}]], "at '.reason': a string was expected"),
        ([1, 1, ["submit_ack", {"jobs": [{"seq": True}]}]], r"at '.jobs\[0\].seq': an integer was expected"),
        ([1, 1, ["status_reply", {"jobs": [{"state": "lost"}]}]], "unknown name 'lost', known are: queued, leased"),
        ([1, 1, ["board_reply", {"rows": [{"speedup": 1}]}]], "a 64-bit float was expected"),
        ([1, 1, ["board_reply", {"rows": [{"problem_hash": b"x"}]}]], "32 bytes of a hash was expected"),
    ],
)
def test_a_malformed_message_has_an_exact_error_text(message: object, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        decode_message(msgpack.packb(message), messages.REPLIES)


def test_trailing_bytes_are_refused() -> None:
    with pytest.raises(Malformed, match="extra data"):
        decode_message(encode_message(1, messages.Refused("no")) + b"\xc0", messages.REPLIES)
