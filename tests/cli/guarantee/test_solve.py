"""`shoal solve`: the fourth number, the words, the curve, the frontier, the unit."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest

from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k import group
from shoal.guarantee.safe_k.setting import solve
from tests.cli.run import answer, shoal

STORY = ("--epsilon", "1", "--delta", "1e-6", "--beta", ".2")
FIELDS = {
    "version", "epsilon", "epsilon_recoding", "epsilon_release", "delta", "k", "beta", "bound", "delta_tight",
    "delta_published", "solved", "theorem", "theorems", "unit", "neighbours", "words", "delta_unit", "delta_floor",
}  # fmt: skip


def test_the_crowd_of_the_readme():
    found = answer("solve", *STORY)
    assert set(found) == FIELDS
    assert (found["k"], found["solved"], found["bound"]) == (12, "k", "tight")
    assert (found["epsilon"], found["delta"], found["beta"]) == (1.0, 1e-6, 0.2)
    assert (found["epsilon_recoding"], found["epsilon_release"]) == (0.0, 1.0)
    assert found["delta_tight"] == safe_k.delta_tight(12, "0.2", 1)
    assert found["delta_published"] == safe_k.delta_published(12, "0.2", 1)
    assert (found["unit"], found["neighbours"]) == ({"whose": "row", "max_rows": 1}, "add_remove")
    assert found["theorem"] == "safe-k-tight"


@pytest.mark.parametrize(
    ("given", "solved"),
    [
        (("--delta", "1e-6", "--k", 20, "--beta", ".2"), "epsilon"),
        (("--epsilon", 1, "--k", 20, "--beta", ".1"), "delta"),
        (("--epsilon", 1, "--delta", "1e-6", "--k", 20), "beta"),
        (STORY, "k"),
    ],
)
@pytest.mark.parametrize("bound", ["tight", "published"])
def test_each_of_the_four_can_be_left_out(given, solved, bound):
    found = answer("solve", *given, "--bound", bound)
    assert (found["solved"], found["bound"]) == (solved, bound)
    names = [str(name).removeprefix("--") for name in given[::2]]
    library = solve(
        **{name: (int(v) if name == "k" else str(v)) for name, v in zip(names, given[1::2], strict=True)}, bound=bound
    )
    assert found[solved] == float(getattr(library, solved))
    assert found[f"delta_{bound}"] <= found["delta"]
    assert found["theorem"] == f"safe-k-{bound}"


def test_numbers_are_read_as_text():
    tiny = "0.2000000000000000000000000000000001"  # no float tells it from 0.2
    first, second = (
        answer("solve", "--epsilon", 1, "--k", 20, "--beta", "1/5"),
        answer("solve", "--epsilon", "1", "--k", "20", "--beta", tiny),
    )
    assert first["delta_tight"] == safe_k.delta_tight(20, Fraction(1, 5), 1)
    assert second["delta_tight"] == safe_k.delta_tight(20, Fraction(tiny), 1)
    assert second["beta"] <= 0.2


def test_the_published_bound_may_be_silent():
    found = answer("solve", "--epsilon", ".2", "--k", 20, "--beta", ".3")
    assert found["delta_published"] is None
    assert found["delta_tight"] == pytest.approx(1.7705751e-3, rel=1e-7)
    assert "silent" in shoal("solve", "--epsilon", ".2", "--k", 20, "--beta", ".3").stdout


def test_the_words_never_call_the_tight_delta_a_chance_of_harm():
    tight, published = shoal("solve", *STORY).stdout, shoal("solve", *STORY, "--bound", "published").stdout
    tight, published = (" ".join(text.split()) for text in (tight, published))
    assert "with one row in the table, at most 2.719 times what it is without it, plus 0.000001" in tight
    assert "Delta does not bound the probability that the factor is exceeded" in tight
    assert "with probability 0.000001" not in tight
    assert "Except with probability 0.000001" in published
    assert "no class of fewer than 14 equal rows" in published


def test_the_text_says_what_was_solved_and_what_was_gained():
    text = shoal("solve", *STORY).stdout
    assert re.search(r"^  k +12 +solved$", text, re.MULTILINE)
    assert re.search(r"^  delta, published +0\.000009164 +16\.5 times the tight one$", text, re.MULTILINE)
    assert re.search(r"^  floor beta\^k +4\.096e-9", text, re.MULTILINE)
    assert re.search(r"^  unit +one row added or removed +add_remove$", text, re.MULTILINE)


def test_the_curve_falls_and_contains_the_plan():
    rows = answer("solve", *STORY, "--curve")["curve"]
    assert 1.0 in [row["epsilon"] for row in rows]
    tight = [row["delta_tight"] for row in rows]
    assert tight == sorted(tight, reverse=True)
    assert rows[0]["delta_published"] is None
    assert all(row["delta_published"] is None or row["delta_published"] >= row["delta_tight"] for row in rows)
    assert "delta, published" in shoal("solve", *STORY, "--curve").stdout


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["tight", "published"])
def test_every_choice_of_the_frontier_keeps_the_promise(bound):
    rows = answer("solve", *STORY, "--frontier", "--bound", bound)["frontier"]
    rates = [row["beta"] for row in rows]
    assert rates == sorted(set(rates))
    assert all(safe_k.delta(row["k"], row["beta"], 1, bound) <= 1e-6 for row in rows)
    meanings = [row["meaning"] for row in rows]
    assert meanings.count("finest detail") == 1
    assert meanings[-1] == "most rows, coarsest detail"
    finest = min(rows, key=lambda row: row["crowd"])
    assert finest["meaning"] == "finest detail"
    assert "beta at most" in shoal("solve", *STORY, "--frontier", "--bound", bound).stdout


def test_the_recoding_has_its_share():
    found = answer("solve", *STORY, "--epsilon-recoding", "0.2")
    assert (found["epsilon"], found["epsilon_recoding"], found["epsilon_release"]) == (1.0, 0.2, 0.8)
    assert found["k"] == solve(epsilon="0.8", delta="1e-6", beta="0.2").k
    assert "eps-safe-recoding" in found["theorems"]
    total = answer("solve", "--delta", "1e-6", "--k", 20, "--beta", ".2", "--epsilon-recoding", ".2")
    assert total["epsilon"] == pytest.approx(total["epsilon_release"] + 0.2)
    assert total["epsilon"] >= Fraction(total["epsilon_release"]) + Fraction("0.2") - Fraction(1, 10**15)


def curve(k, beta):
    return lambda epsilon: safe_k.delta_tight(k, beta, epsilon)


def test_a_person_with_several_rows():
    found = answer("solve", "--epsilon", 1, "--k", 20, "--beta", ".2", "--max-rows", 2)
    assert found["delta"] == found["delta_unit"] == group.delta_of_rows(curve(20, "0.2"), 2, 1)
    assert found["delta_tight"] == safe_k.delta_tight(20, "0.2", 1)
    assert found["unit"] == {"whose": "person", "max_rows": 2}
    assert found["theorems"] == ["safe-k-tight", "group-privacy"]
    assert "all rows (at most 2) of one unit" in found["words"][0]


def test_the_crowd_for_several_rows_is_the_smallest_that_holds():
    found = answer("solve", *STORY, "--max-rows", 2)
    assert (
        group.delta_of_rows(curve(found["k"], "0.2"), 2, 1)
        <= 1e-6
        < group.delta_of_rows(curve(found["k"] - 1, "0.2"), 2, 1)
    )


@pytest.mark.slow
def test_epsilon_and_beta_for_several_rows():
    epsilon = answer("solve", "--delta", "1e-6", "--k", 30, "--beta", ".2", "--max-rows", 2)
    assert epsilon["delta_unit"] <= 1e-6
    assert group.delta_of_rows(curve(30, "0.2"), 2, epsilon["epsilon"] * 0.999) > 1e-6
    beta = answer("solve", "--epsilon", 1, "--delta", "1e-6", "--k", 30, "--max-rows", 2)
    assert beta["delta_unit"] <= 1e-6
    assert group.delta_of_rows(curve(30, beta["beta"] * 1.001), 2, 1) > 1e-6


@pytest.mark.slow
def test_replacing_costs_more_than_removing():
    found = answer("solve", *STORY, "--neighbours", "replace_one")
    assert found["k"] >= 12
    assert found["delta_unit"] <= 1e-6
    assert found["delta_unit"] > found["delta_tight"]
    assert (found["neighbours"], found["theorems"]) == ("replace_one", ["safe-k-tight", "replace-one"])
    both = answer("solve", "--epsilon", 1, "--k", 60, "--beta", ".2", "--neighbours", "replace_one", "--max-rows", 2)
    assert both["delta_tight"] < both["delta_unit"] < group.delta_of_rows(curve(60, "0.2"), 4, 1)


@pytest.mark.slow
def test_the_curve_of_a_unit_has_a_column_of_its_own():
    done = shoal("solve", "--epsilon", 1, "--k", 20, "--beta", ".2", "--max-rows", 2, "--curve")
    assert "delta, this unit" in done.stdout


@pytest.mark.slow
def test_the_frontier_of_a_unit_keeps_its_promise():
    rows = answer("solve", *STORY, "--neighbours", "replace_one", "--frontier")["frontier"]
    assert len(rows) >= 5
    for row in rows[::3]:
        remove, add = (lambda e, f=f, r=row: f(r["k"], r["beta"], e) for f in (safe_k.delta_remove, safe_k.delta_add))
        assert group.delta_of_replacement(remove, add, 1) <= 1e-6


@pytest.mark.parametrize(
    ("people", "said"), [(1000, None), (10_000, None), (20_000, "is 0.02"), (1_000_000, "is 1 or more")]
)
def test_many_people_are_warned_about_on_standard_error(people, said):
    done = shoal("solve", *STORY, "--units", people)
    assert done.exit_code == 0
    if said is None:
        assert done.stderr == ""
    else:
        assert done.stderr.startswith("warning: ")
        assert said in done.stderr
    fields = json.loads(shoal("solve", *STORY, "--units", people, "--json").stdout)
    assert fields["people_times_delta"] == pytest.approx(people * 1e-6)
