"""Occupations and industries: the groups above a code are its prefixes and its section."""

from __future__ import annotations

import pytest

from shoal.draft.codes.work import isco_labels, nace_labels


@pytest.mark.parametrize("code", ["", "x", "15", "9999", "12345", "1.2"])
def test_other_texts_are_no_occupations(code):
    assert isco_labels(code) is None


@pytest.mark.parametrize(("code", "section"), [("01.1", "A"), ("C10", "C"), ("62.01", "J"), ("86", "Q"), ("99", "U")])
def test_an_industry_has_its_section(code, section):
    assert nace_labels(code)[-2].split()[0] == section


@pytest.mark.parametrize("code", ["04", "34", "A10", "9", "x"])
def test_other_texts_are_no_industries(code):
    assert nace_labels(code) is None
