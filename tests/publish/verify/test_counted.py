"""Somebody changes something in a certificate or beside it; resealed or not, it is seen."""

from __future__ import annotations

import copy
import json

import pytest

from tests.publish.verify.counted_forgery import Forger, alone, failed, forger

pytestmark = pytest.mark.slow

__all__ = ["forger"]

BOTH, ONE = True, False
"""Whether the one-file verifier can know it too."""


def first(content: dict) -> dict:
    return content["tables"][0]


def every_k(content: dict) -> None:
    content["guarantee"].update(k=9)
    first(content).update(k=9)
    content["claims"][0]["guarantee"].update(k=9)


def another_kind(content: dict) -> None:
    content["guarantee"].update(kind="whatever", k=1000)
    first(content).update(k=1000)


def another_claim(content: dict) -> None:
    content["claims"].append({**content["claims"][0], "guarantee": {"kind": "k-anonymity", "k": 9}})


CHANGES = {
    "k": (lambda c: c["guarantee"].update(k=9), "guarantee", BOTH),
    "k everywhere": (every_k, "guarantee", BOTH),
    "k of the claim": (lambda c: c["claims"][0]["guarantee"].update(k=9), "claims", BOTH),
    "another kind": (another_kind, "keys", BOTH),
    "status": (lambda c: c.update(status="proved"), "status", BOTH),
    "status of the claim": (lambda c: c["claims"][0].update(status="proved"), "claims", BOTH),
    "l": (lambda c: c["guarantee"].update(l=2), "guarantee", BOTH),
    "a claim more": (another_claim, "claims", BOTH),
    "explanation": (lambda c: c["explanation"].__setitem__(0, "Nobody can learn anything."), "wording", ONE),
    "sentence": (lambda c: c.update(sentence="Proved: everything."), "wording", ONE),
    "limits": (lambda c: c["not_promised"].pop(), "wording", ONE),
    "theorem": (lambda c: c["theorems"][0].update(statement="It is safe."), "wording", ONE),
    "premise": (lambda c: c["theorems"][0]["premises"][0].update(detail="by prayer"), "wording", ONE),
    "how to verify": (lambda c: c.update(how_to_verify="there is no need"), "wording", ONE),
    "quasi": (lambda c: first(c)["quasi"].remove("sex"), "roles", BOTH),
    "no quasi": (lambda c: first(c).update(quasi=[]), "roles", BOTH),
    "a quasi that is not there": (lambda c: first(c)["quasi"].append("zip"), "roles", BOTH),
    "shows": (lambda c: first(c)["shows"].update(diag="mean"), "display", ONE),
    "shows something else": (lambda c: first(c)["shows"].update(age="interval"), "display", BOTH),
    "shows a label": (lambda c: first(c)["shows"].update(sex="ancestor"), "display", ONE),
    "shows too little": (lambda c: first(c)["shows"].pop("age"), "roles", BOTH),
    "grouping": (lambda c: c["grouping"].update(name="vmdav"), "grouping", BOTH),
    "gain": (lambda c: c["grouping"].update(gain="0.9"), "grouping", BOTH),
    "method": (lambda c: c.update(method="probabilistic-k"), "method", BOTH),
    "dataset": (lambda c: c.update(dataset="other"), "dataset", BOTH),
    "extra": (lambda c: c.update(note="trust us"), "keys", BOTH),
    "an epsilon inside": (lambda c: c["guarantee"].update(epsilon="0.1"), "keys", BOTH),
    "a note inside": (lambda c: first(c).update(note="differential privacy"), "keys", BOTH),
    "condition": (lambda c: c["claims"][0]["conditions"].append("on Mondays"), "conditions", BOTH),
    "fewer releases than none": (lambda c: c["ledger"].update(unbounded_releases=-5), "keys", BOTH),
    "spent without charges": (lambda c: c["ledger"].update(epsilon="3"), "prior-charges", BOTH),
    "no tables": (lambda c: c.update(tables=[]), "single-table", BOTH),
    "a table twice": (lambda c: c["tables"].append(copy.deepcopy(first(c))), "single-table", BOTH),
    "a table elsewhere": (lambda c: first(c).update(file="../micro-csv/table.csv"), "single-table", BOTH),
    "a table of another name": (lambda c: first(c).update(file="policy.lock.yaml"), "single-table", BOTH),
    "no files": (lambda c: c.update(files={}), "single-table", BOTH),
    "a list twice": (lambda c: first(c)["columns"].append("age"), "model", BOTH),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_resealed_change_is_seen_by_its_check(forger: Forger, name):
    change, check, both = CHANGES[name]
    place = forger("micro-csv", lambda _, content: change(content))
    assert check in failed(place)
    assert alone(place) == (3 if both else 0)


@pytest.mark.parametrize("kind", ["micro-csv", "micro-parquet", "swap-csv", "swap-parquet"])
def test_nothing_changed_is_nothing_seen(forger: Forger, kind):
    place = forger(kind, lambda _place, _content: None)
    assert failed(place) == set()
    assert alone(place) == 0


@pytest.mark.slow
def test_a_swap_says_how_it_was_made(forger: Forger):
    """Under MDAV-SWAP nothing is permuted in groups of its own."""
    place = forger("swap-csv", lambda _, c: first(c)["shows"].update(age="permuted in groups of its own"))
    assert failed(place) == {"display", "handbook"}  # the README says it too


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["micro-csv", "micro-parquet", "swap-csv", "swap-parquet"])
def test_a_file_that_is_merely_listed_is_seen(forger: Forger, kind):
    def add(place, content, name="original.csv"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("name,age\nJohn,3\n")
        content["files"][name] = "0" * 64

    assert failed(forger(kind, add)) == {"single-table"}
    assert alone(forger(kind, add)) == 3
    below = forger(kind, lambda place, content: add(place, content, "below/raw.csv"))
    assert failed(below) == {"single-table"}
    assert alone(below) == 3


@pytest.mark.parametrize("which", [0, 1])
def test_a_second_table_is_seen_wherever_it_stands(forger: Forger, which):
    def add(place, content):
        (place / "names.csv").write_text("name,age\n" + "John,3\n" * 12)
        content["files"]["names.csv"] = "0" * 64
        more = {"file": "names.csv", "columns": ["name", "age"], "quasi": [], "confidential": [], "shows": {}}
        content["tables"].insert(which, {**first(content), **more})

    for kind in ("micro-csv", "swap-csv"):
        place = forger(kind, add)
        assert {"single-table", "model"} <= failed(place)
        assert alone(place) == 3


@pytest.mark.parametrize(
    "added", ["\n# trust us\n", '\nnote: {claims: "differential privacy"}\n', "\n", "\nbudget: null\n"]
)
def test_a_lock_holds_what_was_locked_and_nothing_else(forger: Forger, added):
    def add(place, _):
        lock = place / "policy.lock.yaml"
        lock.write_text(lock.read_text() + added)

    assert failed(forger("micro-csv", add))


def test_a_lock_with_a_price_that_the_method_does_not_have(forger: Forger):
    def add(place, _):
        lock = place / "policy.lock.yaml"
        lock.write_text(lock.read_text().replace("  k: 5\n", '  k: 5\n  epsilon: "0.1"\n'))

    assert failed(forger("micro-csv", add))


def test_a_key_that_is_said_twice_is_seen(forger: Forger):
    """Of two sentences a person reads the first, and a program the last."""
    place = forger("micro-csv", lambda _place, _content: None)
    file = place / "certificate.json"
    file.write_text(file.read_text().replace('"sentence"', '"sentence": "All is safe.", "sentence"', 1))
    assert alone(place) == 3
    assert json.loads(file.read_text())["sentence"] != "All is safe."
    assert failed(place) == {"readable"}
