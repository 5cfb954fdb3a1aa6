"""Events: the score that tells most is chosen, on trials that it was not learned on, and said in words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.lab.audit.event import (
    AuditEvent,
    ComponentScore,
    DirectionScore,
    FrequencyScore,
    LikelihoodScore,
    choose_event,
    learn_scores,
)
from shoal.lab.audit.result import AuditResult

NONE = Fraction(0)


def chosen(first, second, names=("a", "b")):
    half = len(first) // 2
    scores = learn_scores(first[:half], second[:half], names)
    return choose_event(first[half:], second[half:], 5000, NONE, 1e-6, scores)


def test_gaussian_vectors_are_told_apart_along_the_line_between_their_means():
    chance = np.random.default_rng(1)
    first, second = chance.normal(size=(2, 4000, 2)) * [1, 5] + [[[0.6, 3.0]], [[0.0, 0.0]]]
    found = chosen(first, second)
    assert isinstance(found.event.score, DirectionScore | LikelihoodScore)
    alone = choose_event(first, second, 5000, NONE, 1e-6, [ComponentScore(0, "a")])
    assert found.expected > alone.expected


def test_outcomes_that_recur_are_counted_one_by_one():
    """Only the outcome 1 tells the tables apart: no threshold on the number does."""
    chance = np.random.default_rng(2)
    first = chance.choice([0.0, 1.0, 2.0], p=[0.4, 0.2, 0.4], size=(2000, 1))
    second = chance.choice([0.0, 1.0, 2.0], p=[0.5, 0.0, 0.5], size=(2000, 1))
    found = chosen(first, second, ("n",))
    assert isinstance(found.event.score, FrequencyScore)
    assert found.event.words() == "(n) is (1)"
    assert found.event.hits(np.array([[1.0], [0.0], [1.0], [7.0]])) == 2
    assert not found.swapped


def test_outcomes_that_do_not_recur_are_not():
    chance = np.random.default_rng(3)
    kinds = [type(score) for score in learn_scores(*chance.normal(size=(2, 50, 2)), ("a", "b"))]
    assert kinds == [ComponentScore, ComponentScore, LikelihoodScore, DirectionScore]


def test_events_that_were_counted_on_their_own_trials_would_look_likelier_than_they_are():
    chance = np.random.default_rng(7)
    first, second = chance.normal(size=(2, 40, 60))
    found = choose_event(first, second, 40, NONE, 0.01, [LikelihoodScore.of(first, second)])
    own = sorted((found.event.hits(first), found.event.hits(second)), reverse=True)
    assert AuditResult(40, (own[0], own[1]), NONE, 0.01).epsilon_at_least > 1  # the mistake


def test_many_outcomes_are_not_all_listed():
    outcomes = np.arange(20.0)[:, None]
    score = FrequencyScore(outcomes, np.linspace(-1, 1, 20), ("n",))
    assert score.words(0.0).endswith("or one of 4 others")
    assert score.words(2.0) == "an outcome that no trial had"


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (ComponentScore(0, "the count"), "the count is at least 3"),
        (LikelihoodScore((np.zeros(1), np.ones(1)), np.ones(1)), "by at least 3 mean deviations"),
        (DirectionScore(np.ones(1)), "is at least 3"),
        (lambda outputs: outputs[:, 0], "the score that was given is at least 3"),
    ],
)
def test_events_in_words(score, said):
    assert said in AuditEvent(score, 3.0).words()


def test_components_that_do_not_vary_count_as_one_unit():
    score = LikelihoodScore.of(np.zeros((4, 2)), np.ones((4, 2)))
    assert score(np.array([[0.0, 0.0], [1.0, 1.0]])).tolist() == [2.0, -2.0]
