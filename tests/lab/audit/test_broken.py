"""Broken mechanisms do what they are blamed for: exact laws of small cases, and their marks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.lab.audit import broken
from tests.gate import ROOT


def test_a_lone_record_is_the_difference_of_two_publications():
    shown = broken.OneSampleTwice(5, Fraction(1, 2))((0,) + (1,) * 20, Source.seeded(1), 2_000)
    assert (shown[:, 0] == 0).all()
    gap = shown[:, 2] - shown[:, 1]
    large = shown[:, 1] >= 5
    assert gap[large].mean() == pytest.approx(0.5, abs=0.06)  # the record is in half of the samples
    alone = broken.OneSampleTwice(5, Fraction(1, 2))((1,) * 20, Source.seeded(1), 200)
    assert (alone[:, 1] == alone[:, 2]).all()


def test_a_recoding_chosen_on_the_sample_shows_who_is_in_it():
    others = tuple(range(1, 11)) * 2
    mechanism = broken.RecodingOnSample(3, Fraction(3, 10), Fraction(2))
    assert not mechanism(others, Source.seeded(1), 500)[:, 1].any()
    shown = mechanism((0, *others), Source.seeded(1), 4_000)[:, 1]
    # at a fixed scheme it would be beta³ = 0.027; e² times the odds of the right one raise it
    assert 0.08 < np.mean(shown == 3) < 0.16


def test_what_is_not_sampled_is_the_same_in_every_run():
    for mechanism, data in (
        (broken.KAnonymityAlone(2), (0, 0, 1)),
        (broken.KDuplication(2), (0, 0, 1)),
        (broken.MondrianRanges(2), (1, 5, 9, 35)),
    ):
        assert len(np.unique(mechanism(data, Source.seeded(1), 5), axis=0)) == 1
    assert broken.KAnonymityAlone(2)((0, 0, 1), Source.seeded(1), 1).tolist() == [[2, 0]]
    assert broken.KDuplication(3)((0, 0, 1), Source.seeded(1), 1).tolist() == [[6, 3]]
    assert broken.MondrianRanges(2)((1, 5, 9, 35), Source.seeded(1), 1).tolist() == [[35]]


def test_they_are_marked_and_nothing_that_releases_imports_them():
    assert broken.__doc__ is not None
    assert broken.__doc__.startswith("UNSAFE")
    rooms = [ROOT / "src" / "shoal" / room for room in ("publish", "query", "anonymize", "mechanism")]
    assert not [path for room in rooms for path in room.rglob("*.py") if "audit.broken" in path.read_text("utf-8")]
