"""One public name has one meaning, and a module is named by a word that says what it holds."""

from __future__ import annotations

import re

import pytest

from tests.house.source_tree import modules, public_classes

STANDS_ALONE = "shoal.publish.verify.standalone"
"""A program of its own that imports nothing of Shoal: its classes are no second meaning but a second opinion."""

PARTICIPLE = (
    "asked|asking|behind|chosen|coded|drawn|found|given|heard|held|kept|known|laid|left|listed|made|masked|meant|met|"
    "moved|named|opened|ordered|planned|published|released|said|sampled|seen|shared|shown|solved|spent|split|stated|"
    "surveyed|taken|told|turned|typed|used|wanted|written"
)
METAPHOR = "book|crowds?|door|face|habits|house|ladder|purse|rung|shelf|stand_in|survey|whose"
SAYS_NOTHING = "common|core|helpers?|manager|misc|stuff|tools|utils?"
BANNED = re.compile(f"{PARTICIPLE}|{METAPHOR}|{SAYS_NOTHING}")


@pytest.mark.slow
def test_no_two_public_classes_share_a_name():
    several = {
        name: sorted({*places} - {STANDS_ALONE})
        for name, places in public_classes().items()
        if len({*places} - {STANDS_ALONE}) > 1
    }
    assert several == {}


def test_no_module_is_named_by_a_participle_a_metaphor_or_a_word_that_says_nothing():
    assert [name for name in modules() if BANNED.fullmatch(name.rpartition(".")[2])] == []
