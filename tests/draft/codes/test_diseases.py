"""ICD-10: every code has one block and one chapter, and blocks do not overlap."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shoal.draft.codes import diseases
from shoal.draft.codes.diseases import icd10_labels


def test_blocks_are_in_order_and_apart():
    assert all(a.split("-")[1] < b.split("-")[0] for a, b in pairwise(diseases._BLOCKS))
    assert all(a <= b for a, b in (block.split("-") for block in diseases._BLOCKS))


def test_a_block_lies_in_one_chapter():
    for block in diseases._BLOCKS:
        first, last = block.split("-")
        assert icd10_labels(first)[2] == icd10_labels(last)[2]
        assert icd10_labels(first)[1] == block


@pytest.mark.parametrize(
    ("code", "block", "chapter"),
    [
        ("E11.9", "E10-E14", "IV"),
        ("I21", "I20-I25", "IX"),
        ("c509", "C50-C50", "II"),
        ("Z38.0", "Z30-Z39", "XXI"),
        ("B20", "B20-B24", "I"),
    ],
)
def test_codes_have_their_block_and_chapter(code, block, chapter):
    assert icd10_labels(code)[1] == block
    assert icd10_labels(code)[2].split()[0] == chapter


@pytest.mark.parametrize("text", ["", "E", "11", "EE1", "hello", "E11.99999"])
def test_other_texts_are_no_codes(text):
    assert icd10_labels(text) is None
