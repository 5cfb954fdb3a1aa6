"""What a session holds against odd input and a changed record: plain refusals before any charge, and never a wrong answer."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from shoal.chance.source import Source
from shoal.errors import BudgetError, LedgerError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Event
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.query.answer import Answer
from shoal.query.dataset import bound_rows
from shoal.query.price import offer
from shoal.query.prior import resolve_prior
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.person import PersonQuery, ValueOf
from shoal.query.session import session
from tests.engine.oracle import engine_named
from tests.query.asking import SURE, opened, policy, rich, spent, table

WIDE = """
version: 1
dataset: wide
unit: row
neighbours: add_remove
attributes:
  huge: {role: other, type: decimal, domain: [-1e200, 1e200], missing: refuse}
  both: {role: other, type: decimal, domain: [1e-300, 1e300], missing: refuse}
  tiny: {role: other, type: decimal, domain: [0, 1e-170], missing: refuse}
budget: {epsilon: 600, delta: 1e-3}
"""
PERSONS = """
version: 1
dataset: persons
unit: {column: id, max_rows: 1}
neighbours: add_remove
attributes:
  id: {role: identifier, type: text}
  x: {role: confidential, type: integer, domain: [0, 10]}
budget: {epsilon: 600, delta: 0}
"""


# --- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["\ud800", "p\x00", "p\n", "\x1bp", "\x85"])
def test_a_name_with_a_control_character_is_refused(who):
    with pytest.raises(UsageError, match="control character") as refused:
        ValueOf(who, "x")
    assert str(refused.value).isprintable()


def test_a_person_is_found_by_the_whole_name():
    """NumPy compares texts without the NULs at their ends."""
    schema = Policy.parse(PERSONS).schema.with_names("id")
    rows = engine_named("duckdb").scan(pd.DataFrame({"id": ["p", "q"], "x": [3, 10]}), schema)
    asked = ValueOf("p", "x").resolve(schema, Unit.person("id", 1, "add_remove"))
    assert isinstance(asked, PersonQuery)
    assert asked.truth(rows) == 3
    assert replace(asked, key="p\x00").truth(rows) is None
    assert replace(asked, key="r").truth(rows) is None


def test_half_a_letter_in_a_condition(tmp_path):
    asked = rich(**{"attributes.note.domain": {"pattern": ".{1,9}"}})
    with opened(tmp_path, asked) as asking:
        for way in (asking.price, asking.ask):
            with pytest.raises(UsageError) as refused:
                way(Count("note = 'a\ud800'"), 1)
            assert str(refused.value).encode()
        assert spent(asking) == 0


# --- numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "epsilon", [Fraction(10**5000 + 1, 10**5001), "1/1" + "3" * 1500, Fraction(10**1200 + 1, 10**1200)]
)
def test_an_epsilon_that_cannot_be_written(tmp_path, epsilon):
    with opened(tmp_path) as asking:
        for way in (asking.price, asking.ask):
            with pytest.raises(ParameterError, match="too long to be written"):
                way(Count(), epsilon)
            with pytest.raises(ParameterError, match="too long to be written"):
                way(Count(), "0.1", "gaussian", delta=Fraction(1, 10**1200 + 1) + Fraction(1, 10**6))
        assert spent(asking) == 0


def test_a_variance_beyond_a_number_is_refused_before_the_charge(tmp_path):
    rows = pd.DataFrame({"huge": [1e200, -1e200], "both": [1.0, 1e300], "tiny": [0.0, 1e-170]})
    with session(Policy.parse(WIDE), rows, ledger=str(tmp_path / "ledger"), new_ledger=True) as asking:
        for name in ("huge", "both", "tiny"):
            with pytest.raises(UsageError, match="sensitivity of this answer is out of range"):
                asking.ask(Variance(name), 50)
        with pytest.raises(UsageError, match="sensitivity of this answer is out of range"):
            asking.ask(Sum("both"), 50)
        with pytest.raises(UsageError, match="no optimal noise"):
            asking.price(Mean("huge"), 50, "optimal")
        assert spent(asking) == 0
        assert abs(asking.ask(Mean("huge"), SURE).value) <= 1e200
        assert asking.ask(Sum("tiny"), SURE).value == pytest.approx(1e-170)
        assert asking.price(Mean("tiny"), "1e-9", "gaussian", delta="1e-6").errors[0].expected < 1e12


# --- answers in whole steps, of so many rows ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [np.array([1.0]), np.array([0.5]), np.array([1, 2]), np.array([True]), np.array([Fraction(1, 2)])]
)
@pytest.mark.parametrize("mechanism", ["laplace", "optimal", "gaussian", "refinement"])
def test_an_answer_that_is_not_in_whole_steps_gets_no_noise(monkeypatch, mechanism, wrong):
    asked = Count().resolve(policy().schema, Unit.row("add_remove"))
    delta = "1e-6" if mechanism == "gaussian" else 0
    made = offer(asked, "0.5", delta, mechanism, resolve_prior("uniform:0:10", asked))
    rows = engine_named("duckdb").scan(table(), policy().schema)
    monkeypatch.setattr(type(asked), "truth", lambda self, table: wrong)
    with Source.seeded(1) as source, pytest.raises(PreconditionError) as refused:
        made.draw(rows, source)
    assert any(theorem in str(refused.value) for theorem in (*made.theorems, "laplace-grid"))


def test_an_engine_that_leaves_too_many_rows_of_a_person_is_caught(monkeypatch):
    unit, schema = Unit.person("id", 2, "add_remove"), Policy.parse(PERSONS).schema.with_names("id")
    rows = engine_named("oracle").scan(pd.DataFrame({"id": list("pppqrr"), "x": range(6)}), schema)
    with Source.seeded(1) as source:
        assert bound_rows(rows, unit, source).rows() == 5
        assert bound_rows(rows, Unit.row("add_remove"), source) is rows
        monkeypatch.setattr(type(rows), "limit_per", lambda self, *_: self)
        with pytest.raises(PreconditionError, match="answer-sensitivity"):
            bound_rows(rows, unit, source)


# --- the record and the shares ------------------------------------------------------------------------------------------


def _rewritten(path, change):
    """The ledger with changed events, chained anew: what a forger with the file would write."""
    with Ledger(str(path)) as ledger:
        events = ledger.events()
    last = events[0].previous
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM events")
        for event in change(events):
            last = Event.after(last, event.time, event.dataset, event.kind, event.payload)
            payload = json.dumps(last.payload, sort_keys=True)
            row = (last.number, last.time, last.dataset, last.kind, payload, last.previous, last.hash)
            raw.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        raw.execute("UPDATE meta SET value = ? WHERE name = 'head'", (f"{last.number} {last.hash}",))


@pytest.mark.slow
def test_an_answer_to_another_question_is_never_given(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with opened(tmp_path, rich()) as asking:
        few, many = asking.ask(Count("age < 10"), SURE), asking.ask(Count("age < 50"), SURE)
        assert (few.value, many.value) == (20, 100)

    def swapped(events):
        given = [event.payload["content"] for event in events if event.kind == "answer"]
        turned = dict(zip(given, reversed(given), strict=True))
        for event in events:
            if event.kind == "answer":
                yield replace(event, payload={**event.payload, "content": turned[event.payload["content"]]})
            else:
                yield event

    _rewritten(path, swapped)
    with Ledger(str(path)) as ledger:
        assert ledger.verify() == 6
    with opened(tmp_path, rich()) as asking:
        for way in (asking.ask, asking.price):
            with pytest.raises(LedgerError, match="is to another question"):
                way(Count("age < 10"), SURE)


@pytest.mark.slow
def test_no_session_for_an_analyst_of_a_dataset_without_a_budget(tmp_path):
    for name in ("a", "b"):
        with pytest.raises(BudgetError, match="no budget"):
            opened(tmp_path, policy({"budget": None}), analyst=name, budget=50)
    with opened(tmp_path, policy({"budget": None}), budget="0.5") as asking:
        asking.ask(Count(), "0.1")
    with opened(tmp_path, policy({"budget": None}), analyst="a", budget=50) as asking:
        assert asking.left.epsilon == Fraction(4, 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"value": {"counts": [1]}},
        {"value": {"labels": ["a"], "counts": [], "attribute": "age"}},
        {"value": [1, 2]},
        {"value": "\ud800"},
        {"value": float("nan")},
        {"errors": [{}]},
        {"errors": {"of": "count"}},
        {"errors": [{"of": "count", "expected": "much", "within_95": None}]},
        {"theorems": ["no-such-theorem"]},
        {"theorems": "answer-sensitivity"},
        {"mechanism": 5},
        {"epsilon": "1e999999999"},
        {"parts": 7},
        {"note": ["a"]},
        {"scope": {"a": 1}},
        {"question": "count"},
    ],
)
def test_a_record_of_another_shape_is_not_given(change):
    content = {
        "version": 2, "question": {"kind": "count"}, "value": 7, "parts": None, "note": None, "scope": [], "mechanism": "laplace",
        "epsilon": "1", "delta": "0", "errors": [{"of": "count", "expected": 1.5, "within_95": 4.0}], "theorems": [],
    }  # fmt: skip
    assert Answer.from_content(json.dumps(content).encode(), 3).value == 7
    for bad in (json.dumps({**content, **change}).encode(), b"[" * 100_000, b"\xff", b"[]", b"7"):
        with pytest.raises(LedgerError, match="a recorded answer cannot be read"):
            Answer.from_content(bad, 3)


@pytest.mark.parametrize(
    ("where", "words", "charges"),
    [
        ("shoal.ledger.ledger.Ledger.charge", "if the ledger was charged, the charge stands", 0),
        ("shoal.ledger.ledger.Ledger.record_answers", "the charge stands: an answer may have been drawn", 1),
    ],
)
def test_an_interrupt_says_what_is_true_of_the_charge(tmp_path, monkeypatch, where, words, charges):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with opened(tmp_path) as asking:
        with monkeypatch.context() as patch:
            patch.setattr(where, interrupt)
            with pytest.raises(KeyboardInterrupt) as caught:
                asking.ask(Count("age >= 50"), epsilon=Fraction(1))
        assert words in caught.value.__notes__[0]
        assert bool(asking.spent.epsilon) == bool(charges)
