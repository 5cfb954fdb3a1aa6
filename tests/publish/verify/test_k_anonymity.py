"""Both verifiers of k-anonymity by levels: comparisons at their limits, what a rule shows of a value, and forged folders."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.level_clinic import planned, publish
from tests.publish.verify.forgery import certificate, write

COUNTS = st.lists(st.integers(1, 30), min_size=1, max_size=6)


def failed(folder: Path) -> set[str]:
    return {check.id for check in verify(folder) if check.agrees is False}


def failed_alone(folder: Path) -> set[str]:
    return {check.id for check in verifier.verify(folder) if check.agrees is False}


def test_a_locked_share_of_rows_is_below_1(tmp_path):
    lock = verifier.read_lock(planned(tmp_path, "searched").lock.text)
    assert verifier.is_allowed(lock)
    for share in ("1", "2", "3/2"):
        assert not verifier.is_allowed({**lock, "release": {**lock["release"], "suppression": share}})


# --- comparisons at their limits -------------------------------------------------------------------------------------


@given(st.integers(1, 8), st.integers(1, 1000))
def test_values_of_equal_frequency_have_exactly_the_entropy_of_their_number(values, each):
    assert verifier.has_entropy([each] * values, Fraction(values))
    assert not verifier.has_entropy([each] * values, values + Fraction(1, 10**12))


@given(COUNTS, st.fractions(1, 6, max_denominator=50))
def test_entropy_is_compared_as_powers_compare(counts, asked):
    rows, product = sum(counts), math.prod(count**count for count in counts)
    wanted = (rows * asked.denominator) ** rows >= asked.numerator**rows * product
    assert verifier.has_entropy(counts, asked) == wanted


@given(COUNTS, st.fractions(Fraction(1, 10), 5, max_denominator=20), st.integers(2, 5))
def test_recursive_diversity_is_strict(counts, c, l):  # noqa: E741
    falling = sorted(counts, reverse=True)
    assert verifier.is_recursive(counts, c, l) == (falling[0] < c * sum(falling[l - 1 :]))
    if len(falling) >= l:
        limit = Fraction(falling[0], sum(falling[l - 1 :]))
        assert not verifier.is_recursive(counts, limit, l)
        assert verifier.is_recursive(counts, limit + Fraction(1, 10**9), l)


def test_likeness_holds_at_its_limit_and_not_beyond():
    whole, own = Counter(a=10, b=30), Counter(a=4, b=4)
    assert verifier.is_like(own, whole, Fraction(1), enhanced=False)  # 1/2 against 1/4: a gain of 1
    assert not verifier.is_like(own, whole, Fraction(999_999, 10**6), enhanced=False)
    assert verifier.is_like(own, whole, Fraction(1), enhanced=True)  # -ln(1/4) = 1.39
    most = Counter(a=6, b=2)  # 3/4: a gain of 2, beyond -ln(1/4)
    assert verifier.is_like(most, whole, Fraction(2), enhanced=False)
    assert not verifier.is_like(most, whole, Fraction(2), enhanced=True)
    assert verifier.is_like(Counter(a=3), Counter(a=30), Fraction(1), enhanced=True)  # the only value there is


def test_disclosure_is_below_delta_in_both_directions_and_needs_every_value():
    whole = Counter(a=20, b=20)
    twice = Counter(a=3, b=1)  # shares 3/4 and 1/4: factors 1.5 and 2
    assert not verifier.discloses_less(twice, whole, Fraction(69, 100))
    assert verifier.discloses_less(twice, whole, Fraction(70, 100))  # ln 2 = 0.693
    assert not verifier.discloses_less(Counter(a=4), whole, Fraction(100))


def test_a_tree_is_measured_height_by_height():
    leaf = {"kind": "keep", "attribute": "x", "type": "category", "level": 0, "labels": None}
    node = {"kind": "groups", "labels": ["p", "q"], "table": {"a": "p", "b": "p", "c": "q"}}
    whole, own = Counter(a=2, b=2, c=4), Counter(a=2, b=2)
    # values: 1/2 has to be moved at both heights
    assert verifier.tree_distance([own], whole, [leaf, node], "category") == Fraction(1, 2)
    assert verifier.tree_distance([Counter(a=4, c=4)], whole, [leaf, node], "category") == Fraction(1, 8)


@pytest.mark.parametrize(
    ("rule", "cell", "kind", "label"),
    [
        ({"kind": "whole", "labels": ["*"]}, None, "integer", "*"),
        ({"kind": "keep"}, "7", "integer", 7),
        ({"kind": "keep"}, None, "integer", "(missing)"),
        ({"kind": "cuts", "labels": ["[0, 10)", "[10, 20)"], "edges": ["10"]}, "10", "integer", "[10, 20)"),
        ({"kind": "groups", "labels": ["ab"], "table": {"a": "ab"}}, "a", "category", "ab"),
        ({"kind": "groups", "labels": ["ab"], "table": {"a": "ab"}}, "z", "category", None),
        ({"kind": "masked", "side": "right", "kept": 2, "letter": "*"}, "12345", "text", "12***"),
        ({"kind": "masked", "side": "left", "kept": 2, "letter": "*"}, "12345", "text", "***45"),
    ],
)
def test_a_rule_gives_each_value_its_label(rule, cell, kind, label):
    assert verifier.label_of(rule, cell, kind) == label


# --- forged folders --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("levels")
    return {which: publish(place / which, which).folder for which in ("every", "local")}


def forged(made, tmp_path, which, change):
    folder = Path(shutil.copytree(made[which], tmp_path / which))
    content = certificate(folder)
    change(folder, content)
    write(folder, content)
    return folder


def rule_changed(folder, _):
    file = min((folder / "recoding").iterdir())
    rule = json.loads(file.read_text())
    rule["labels"] = rule["labels"][::-1]
    file.write_text(json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def without_a_row(folder, _):
    lines = (folder / "table.csv").read_text().splitlines()
    first = lines[1].rpartition(",")[0]
    kept = [line for line in lines[1:] if not line.startswith(first)]
    few = [line for line in lines[1:] if line.startswith(first)][:2]
    (folder / "table.csv").write_text("\n".join([lines[0], *sorted([*kept, *few])]) + "\n")


def one_level_less(_, content):
    table = content["tables"][0]
    name = next(name for name, levels in table["levels"].items() if len(levels) > 1)
    table["levels"][name], table["recoding"][name] = table["levels"][name][:1], table["recoding"][name][:1]


def other_heights(_, content):
    own = content["guarantee"]["closeness"]["diag"]
    own["heights"] = own["heights"][::-1]


FORGED = {
    "label-meaning": ("every", rule_changed, False),
    "class-size": ("every", without_a_row, True),
    "no-idle-files": ("local", one_level_less, True),
    "closeness": ("every", other_heights, True),
    "recoding-levels": ("every", lambda _, c: c["tables"][0]["levels"].update(diag=[1]), True),
    "roles": ("every", lambda _, c: c["tables"][0]["confidential"].clear(), True),
    "guarantee": ("every", lambda _, c: c["guarantee"]["k_map"].update(file=None), True),
    "claims": ("every", lambda _, c: c["claims"].pop(), True),
    "theorems": ("every", lambda _, c: c["theorems"].pop(), True),
}


@pytest.mark.slow
@pytest.mark.parametrize("check", FORGED)
def test_a_forgery_is_caught_by_the_check_that_speaks_of_it(made, tmp_path, check):
    which, change, alone = FORGED[check]
    folder = forged(made, tmp_path, which, change)
    assert check in failed(folder)
    assert (check in failed_alone(folder)) == alone


@pytest.mark.slow
def test_a_hierarchy_that_is_not_in_the_folder_leaves_meanings_open(tmp_path):
    (tmp_path / "ages.csv").write_text("".join(f"{age};{age // 10 * 10}s;*\n" for age in range(100)))
    own = {"attributes.age.hierarchy": {"file": "ages.csv"}, "attributes.age.provenance": {"hierarchy": "profiled"}}
    folder = publish(
        tmp_path, "searched", {"attributes.age.type": "ordinal", "attributes.age.domain": None, **own}
    ).folder
    assert not (folder / "hierarchies").exists()
    open_ = {check.name for check in verify(folder) if check.agrees is None}
    assert open_ == {"label-meaning (age)"}
    assert failed(folder) == failed_alone(folder) == set()
