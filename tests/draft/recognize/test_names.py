"""Names are split into words, however they are written."""

from __future__ import annotations

import pytest

from shoal.draft.recognize.names import common_prefix, words_of
from shoal.draft.recognize.subjects import vocabulary


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("DateOfBirth", ("date", "of", "birth")),
        ("ZIPCode", ("zip", "code")),
        ("marital-status", ("marital", "status")),
        ("hh.size", ("hh", "size")),
        ("q12", ("q", "12")),
        ("Größe", ("grosse",)),
        ("deathmon", ("death", "mon")),
        ("statetax", ("state", "tax")),
        ("UTILITYID", ("utility", "id")),
        ("PAID", ("paid",)),
        ("covid", ("covid",)),
        ("", ()),
    ],
)
def test_words(name, words):
    assert words_of(name, vocabulary()) == words


def test_a_prefix_that_all_names_share_is_found_unless_it_is_a_word():
    assert common_prefix(["iage", "isex", "irace", "istate"]) == "i"
    assert common_prefix(["V_age", "V_sex", "V_race", "V_zip"]) == "V_"
    assert common_prefix(["age_1", "age_2", "age_3", "age_4"], {"age"}) == ""
    assert common_prefix(["age", "sex", "race", "zip"]) == ""
    assert common_prefix(["iage", "isex"]) == ""
