"""Tests the reward of every outcome. The reward is 0 only if the kernel is at fault."""

from __future__ import annotations

import pytest
from examples import ended, passed

import kq
from kq import VerdictName
from kq.evaluation import order_of


def evaluation(verdict: kq.Verdict) -> kq.Evaluation:
    return kq.Evaluation("run", "relu/a", 1, kq.RunRow(result=kq.Result(verdict=verdict)))


def test_the_reward_of_passed_is_its_speedup() -> None:
    one = evaluation(passed(median_ns=2_000, reference_ns=3_000))
    assert (one.reward, one.infra_error, one.passed) == (1.5, None, True)


@pytest.mark.parametrize("name", list(VerdictName))
def test_every_verdict_has_a_reward_or_an_infra_error(name: VerdictName) -> None:
    one = evaluation(passed() if name is VerdictName.PASSED else ended(name, "because"))
    assert (one.reward is None) == (one.infra_error is not None)
    if name is not VerdictName.PASSED:
        judged = name.fault in (kq.Fault.USER, kq.Fault.POLICY) and name is not VerdictName.CANCELLED
        assert one.reward == (0.0 if judged else None)
        assert one.infra_error == (None if judged else f"relu/a: {name}: because")


def test_the_reward_of_suspect_is_0_although_it_has_times() -> None:
    suspect = kq.Verdict(VerdictName.SUSPECT, kq.Evidence(), passed().measurement, passed().correctness)
    same_inputs = kq.Evidence(reason="inputs")
    of_the_problem = kq.Verdict(VerdictName.SUSPECT, same_inputs, passed().measurement, passed().correctness)
    assert evaluation(suspect).reward == 0.0
    assert evaluation(of_the_problem).reward is None
    assert of_the_problem.fault is kq.Fault.PROBLEM


def test_passed_without_timed_trials_has_no_reward() -> None:
    one = evaluation(passed(median_ns=0, reference_ns=0))
    assert one.reward is None
    assert one.infra_error == "relu/a: passed, but no trial was timed; ask for trials.timed > 0"


def test_the_reward_of_a_source_that_cannot_be_a_kernel_is_0() -> None:
    assert kq.Evaluation("run", "", bad_source="submission.py: is empty").reward == 0.0


def test_a_failure_has_no_reward() -> None:
    one = kq.Evaluation("run", "relu/a", failure="the broker did not answer")
    assert (one.reward, one.infra_error) == (None, "the broker did not answer")


def test_a_label_is_only_for_a_single_source() -> None:
    with pytest.raises(kq.BadInput, match="one label, 'x', for 2 sources"):
        order_of(["import torch\n", "import triton\n"], problem=kq.Problem.of("x = 1\n", "p"), label="x")


def test_an_unknown_argument_is_refused_with_the_known_ones() -> None:
    known = "author, .*trials, .*, backend, contract, run, label, fresh, timeout$"
    with pytest.raises(kq.BadInput, match=f"there is no field 'prioriti'; known fields are {known}"):
        order_of(["import torch\n"], problem=kq.Problem.of("x = 1\n", "p"), prioriti="low")


def test_a_wrong_type_is_bad_input() -> None:
    with pytest.raises(kq.BadInput, match="submission"):
        order_of(["import torch\n"], problem=kq.Problem.of("x = 1\n", "p"), time_limit_ms="20")


def test_a_repr_is_one_short_line() -> None:
    failed = kq.Evaluation("tuesday", "relu/a", failure="relu/a: not finished within 3 s")
    assert repr(failed) == "<Evaluation 'relu/a' of run 'tuesday', job 0: no verdict, relu/a: not finished within 3 s>"
    assert "\n" not in repr(kq.Evaluation("r", "b", bad_source="x\ny"))
