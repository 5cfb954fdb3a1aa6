"""Which method is meant where the policy names none: it follows from the number of columns; a key that says more is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.policy.model.method import METHODS
from shoal.policy.policy import Policy
from tests.policy.written import BASE, the_problem

HEAD, _, _ = BASE.partition("release:")
FIVE = HEAD + "  one more: {role: quasi, type: boolean}\n"


def release(head: str, words: str):
    return Policy.parse(f"{head}release: {{{words}}}\n").release


def test_four_columns_are_one_wide_table():
    found = release(HEAD, "epsilon: 1, delta: 1e-6")
    assert found.method == "safe-k"
    assert found.views is None
    assert found.recoding.tree is not None


def test_more_columns_are_noisy_counts_of_all_pairs():
    found = release(FIVE, "epsilon: 1, delta: 1e-6")
    assert found.method == "safe-k"
    assert found.views.show == "counts"
    assert found.views.every == "pairs"


@pytest.mark.parametrize(
    "words", ["k: 20", "recoding: tree", "views: pairs", "sampling: {beta: 0.2}", "bound: tight", "repeat: 2"]
)
def test_a_key_that_says_what_is_published_is_kept_and_nothing_is_added(words):
    named = release(FIVE, f"method: safe-k, epsilon: 1, delta: 1e-6, {words}")
    assert release(FIVE, f"epsilon: 1, delta: 1e-6, {words}") == named


def test_a_synthetic_table_that_is_described_is_asked_for():
    assert release(FIVE, "epsilon: 1, delta: 1e-6, synthetic: {rows: 100}").method == "synthetic"


def test_the_lock_names_what_was_meant():
    text = f"{FIVE}release: {{epsilon: 1, delta: 1e-6}}\n"
    said = f"{FIVE}release: {{method: safe-k, epsilon: 1, delta: 1e-6, views: {{show: counts, every: pairs}}}}\n"
    assert Policy.parse(text).lock() == Policy.parse(said).lock()


def test_without_epsilon_a_method_has_to_be_named():
    found = the_problem(f"{HEAD}release: {{k: 5}}\n", "release")
    assert "'method' is missing" in found.wrong
    assert "epsilon and delta" in found.fix


def test_the_guide_lists_the_keys_of_every_method_that_it_lists():
    guide = (Path(__file__).parents[3] / "docs/guide/policy.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([\w-]+)` \| ((?:`\w+`(?:, )?)+) \| \{doc\}", guide, flags=re.MULTILINE))
    assert set(listed) == set(METHODS) - {"dp-microaggregation"}
    for name, keys in listed.items():
        assert sorted(re.findall(r"\w+", keys)) == sorted(METHODS[name].keys), name
