"""The search for worse neighbours stays among neighbours, finds the worst of few, and begins where it is told."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.chance.source import Source
from shoal.errors import ParameterError
from shoal.guarantee.differential import PureDP
from shoal.lab.audit.broken import KAnonymityAlone
from shoal.lab.audit.noise import AuditedSum
from shoal.lab.audit.search import PairSpace, search_pair, search_ticks


@pytest.mark.parametrize(
    "space", [PairSpace(3, 5), PairSpace(3, 5, "replace_one", fewest=1), PairSpace(2, 4, "replace_one", fewest=4)]
)
def test_every_change_gives_neighbours(space):
    source = Source.seeded(1)
    pair = ((0, 0, 0, 0), (0, 0, 0)) if space.neighbours == "add_remove" else ((0, 0, 0, 0), (0, 0, 0, 1))
    seen = set()
    for _ in range(200):
        pair = space.change(pair, source)
        assert space.holds(pair)
        seen.add(pair)
    assert len(seen) > 3


@pytest.mark.parametrize(
    ("pair", "holds"),
    [
        (((0,), ()), True),
        (((0,), (1,)), False),
        (((0, 1), (1,)), True),
        (((5,), ()), False),
        (((0,) * 6, (0,) * 5), False),
    ],
)
def test_what_neighbours_are(pair, holds):
    assert PairSpace(2, 5).holds(pair) is holds


def test_a_worse_pair_is_found():
    """Without sampling k records and k − 1 are told apart; other sizes below k show nothing."""
    found = search_pair(KAnonymityAlone(4), PairSpace(2, 6), ((0,), ()), PureDP(1), steps=40, runs=64, seed=2)
    assert found.start == 0
    assert found.suggested > 1
    larger = max(found.pair, key=len)
    assert max(larger.count(0), larger.count(1)) >= 4
    assert found == search_pair(KAnonymityAlone(4), PairSpace(2, 6), ((0,), ()), PureDP(1), steps=40, runs=64, seed=2)


def test_a_sound_mechanism_shows_no_pair_beyond_its_claim():
    found = search_pair(AuditedSum("laplace", Fraction(1)), PairSpace(2, 4), ((1,), ()), PureDP(1), steps=5, seed=3)
    assert found.suggested <= 1


def test_ticks_and_refusals():
    ticks = []
    search_pair(
        KAnonymityAlone(2),
        PairSpace(2, 3),
        ((0,), ()),
        PureDP(1),
        steps=3,
        runs=64,
        seed=1,
        tick=lambda: ticks.append(1),
    )
    assert 0 < len(ticks) <= search_ticks(3, 64)
    with pytest.raises(ParameterError, match="outside its space"):
        search_pair(KAnonymityAlone(2), PairSpace(2, 3), ((0,), (1,)), PureDP(1))
    with pytest.raises(ParameterError, match="no steps"):
        search_pair(KAnonymityAlone(2), PairSpace(2, 3), ((0,), ()), PureDP(1), steps=0)
