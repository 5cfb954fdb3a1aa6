"""Nobody makes a false claim by ordinary use: claims come from plans, methods and sessions; constructors evaluate numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import shoal
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.key import SecretKey
from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import Claim, StatedClaim, Status, make_claim
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.syntactic import KAnonymity
from shoal.guarantee.unit import ONE_ROW, Unit
from shoal.ledger.ledger import Ledger
from shoal.publish.run.release import release
from tests.publish.clinic import planned as clinic
from tests.publish.made import planned

ROW = Unit.row("add_remove")
SOURCE = Path(shoal.__file__).parent


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.NONE])
def test_a_claim_by_hand_is_refused(status):
    guarantee = KAnonymity(5) if status is Status.CHECKED else ApproxDP("0.001", 0)
    with pytest.raises(UsageError, match="made by a plan"):
        shoal.Claim(guarantee, ROW, status, ("safe-k-tight",), ("because",))


def test_a_claim_of_nothing_may_be_made_by_anyone():
    assert shoal.Claim(PureDP(1), ROW, Status.NONE).words() == "No guarantee is made."


def test_a_claim_is_not_turned_into_a_better_one():
    claim = planned("row").claims[0]
    assert claim.status is Status.PROVED
    with pytest.raises(UsageError, match="made by a plan"):
        replace(claim, guarantee=PureDP("0.001"))


def test_what_a_file_states_is_no_claim():
    saved = planned("row").claims[0].to_saved()
    stated = StatedClaim.from_saved(saved | {"guarantee": PureDP("0.001").to_saved()})
    assert not isinstance(stated, Claim)
    assert not hasattr(Claim, "from_saved")


def test_claims_are_made_in_these_rooms_alone():
    makers = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if "make_claim(" in file.read_text(encoding="utf-8")
    }
    assert makers == {
        "guarantee/claim.py",
        "anonymize/method/anatomy.py",
        "anonymize/method/k_anonymity.py",
        "anonymize/method/microaggregation.py",
        "anonymize/method/probabilistic_k.py",
        "anonymize/method/safe_k.py",
        "anonymize/method/sample.py",
        "anonymize/method/t_closeness.py",
        "publish/plan/boxes.py",
        "publish/plan/centroids.py",
        "publish/plan/noisy_counts.py",
        "publish/plan/safe_k.py",
        "publish/plan/views.py",
        "query/session.py",
    }


def test_claim_rules():
    claim = make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED, ("safe-k-tight",))
    assert claim.words().startswith("Proved: (1, 0.000001)-differential privacy")
    assert StatedClaim.from_saved(json.loads(json.dumps(claim.to_saved()))).to_saved() == claim.to_saved()
    assert make_claim(KAnonymity(5), None, Status.CHECKED).words().startswith("Checked: 5-anonymity")
    assert make_claim(ApproxDP(1, 0), ROW, Status.NONE, randomness="test seed").words() == "No guarantee is made."
    conditional = make_claim(PureDP(1), ROW, Status.CONDITION, ("amplification",), ("the table is a random sample",))
    assert "Condition: the table is a random sample" in conditional.words()
    wrong = [
        lambda: make_claim(ApproxDP(1, "1e-6"), None, Status.PROVED, ("safe-k-tight",)),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED, ("magic",)),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED, ("safe-k-tight",), randomness="test seed"),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.CHECKED, ("safe-k-tight",)),
        lambda: make_claim(KAnonymity(5), None, Status.PROVED),
        lambda: make_claim(PureDP(1), ROW, Status.CONDITION, ("amplification",)),
    ]
    for make in wrong:
        with pytest.raises(UsageError):
            make()


# --- numbers are evaluated ----------------------------------------------------------------------------------------


def numbers(**changes):
    fields = {
        "epsilon": Fraction(1),
        "epsilon_recoding": Fraction(0),
        "delta": Fraction(1, 10**6),
        "k": 12,
        "beta": Fraction(1, 5),
        "bound": "tight",
        "solved": "k",
        "unit": ONE_ROW,
    }
    return Setting(**(fields | changes))


def test_numbers_that_hold_are_taken():
    assert numbers().k == 12
    assert numbers(bound="published", k=14).k == 14
    assert numbers(unit=Unit.of_rows(2, "add_remove"), k=40).k == 40


@pytest.mark.parametrize(
    "changes",
    [
        {"k": 11},
        {"beta": Fraction(1, 4)},
        {"delta": Fraction(1, 10**9)},
        {"epsilon": Fraction(1, 2)},
        {"epsilon": Fraction(1, 1000), "delta": Fraction(0)},
        {"unit": Unit.of_rows(2, "add_remove")},
        {"unit": Unit.row("replace_one")},
        {"bound": "published"},
        {"bound": "published", "beta": Fraction(9, 10), "delta": Fraction(1, 2)},
        {"bound": "published", "unit": Unit.of_rows(2, "add_remove"), "k": 100},
    ],
)
def test_numbers_that_do_not_hold_are_refused(changes):
    with pytest.raises(PreconditionError, match="safe-k"):
        numbers(**changes)


@pytest.mark.parametrize("changes", [{"epsilon_recoding": Fraction(-1)}, {"delta": Fraction(-1)}, {"k": 0}])
def test_numbers_that_are_none_are_refused(changes):
    with pytest.raises(ParameterError):
        numbers(**changes)


def test_a_setting_is_evaluated():
    found = shoal.solve(epsilon=1, delta=1e-6, beta=0.2)
    assert replace(found, k=13).k == 13
    for better in ({"k": 11}, {"delta": Fraction("1e-9")}, {"epsilon": Fraction(1, 2)}, {"beta": Fraction("0.3")}):
        with pytest.raises(PreconditionError, match="safe-k-tight"):
            replace(found, **better)
    with pytest.raises(PreconditionError, match="safe-k-published"):
        Setting(Fraction(1), Fraction("1e-6"), 12, Fraction("0.2"), "published", "k")


# --- methods and plans --------------------------------------------------------------------------------------------


def test_a_method_promises_to_the_unit_that_its_numbers_are_for():
    plan = planned("row")
    for unit in (Unit.person("name", 2, "add_remove"), Unit.row("replace_one")):
        with pytest.raises(PreconditionError, match="group-privacy"):
            SafeK(plan.promise, plan.method.partition, unit)
    assert SafeK(plan.promise, plan.method.partition, Unit.person("name", 1, "add_remove"))


def test_a_method_pays_for_all_rows_of_its_unit():
    plan = clinic({"release.recoding": {"tree": {"epsilon": "0.3"}}})
    with pytest.raises(PreconditionError, match="eps-safe-recoding"):
        SafeK(plan.promise, replace(plan.method.partition, steps=2), plan.method.unit)


def test_a_sample_of_people_with_several_rows_is_refused():
    plan = planned("person")
    with pytest.raises(PreconditionError, match="safe-k-tight"):
        SafeK(plan.promise, plan.method.partition, plan.method.unit, drawn_before=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("row", {"total": ApproxDP("0.9", "1e-6")}),
        ("row", {"total": ApproxDP(1, "1e-7")}),
        ("row", {"repeat": 2}),
        ("repeat", {"repeat": 4}),
        ("repeat", {"total": ApproxDP("0.9", "1e-6")}),
        ("person", {"total": ApproxDP(1, "1e-6")}),
    ],
)
def test_a_plan_that_promises_too_much_is_refused(kind, changes):
    with pytest.raises(PreconditionError, match="costs more than the plan promises"):
        replace(planned(kind), **changes)


@pytest.mark.slow
def test_a_plan_of_views_that_promises_too_much_is_refused():
    plan = clinic({"release.views": "pairs", "release.delta": "1e-4"})
    with pytest.raises(PreconditionError, match="costs more than the plan promises"):
        replace(plan, views=plan.views * 4)


def test_a_plan_promises_to_the_unit_of_its_policy():
    with pytest.raises(UsageError, match="another unit"):
        replace(planned("row"), method=planned("person").method)


# --- randomness ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_that_is_given_carries_no_guarantee(tmp_path):
    fresh = SecretKey.fresh()
    for key in (SecretKey(bytearray(32)), fresh):
        source = Source(key)
        assert not source.carries_guarantee
        assert not source.stream("noise").carries_guarantee
        assert not source.row_mask(Fraction(1, 2)).carries_guarantee
    assert not fresh.carries_guarantee  # it has been in other hands
    with pytest.raises(AttributeError):
        fresh.carries_guarantee = True
    assert Source.secure().carries_guarantee
    assert Source.secure().stream("noise").carries_guarantee
    with Ledger(str(tmp_path / "l.sqlite")) as book, pytest.raises(UsageError, match="carries no guarantee"):
        release(
            planned("row"),
            "x.csv",
            tmp_path / "out",
            ledger=book,
            engine=open_engine(),
            source=Source(SecretKey(bytearray(32))),
        )


def test_a_key_in_two_hands_is_trusted_in_neither():
    key = SecretKey.fresh()
    assert key.carries_guarantee
    Source(key)
    assert not key.derive("stream", "x", 0).carries_guarantee


@pytest.mark.slow
def test_the_public_names_alone_give_no_proved_claim():
    program = (
        "import shoal\n"
        "try:\n    shoal.Claim(shoal.PureDP(0.001), shoal.Unit.row('add_remove'), shoal.Status.PROVED, ('safe-k-tight',))\n"
        "except shoal.ShoalError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "a claim is made by a plan" in done.stdout
