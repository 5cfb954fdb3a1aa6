"""The countries are those of ISO 3166-1: as many, each once, each in one region."""

from __future__ import annotations

from shoal.draft.codes.countries import COUNTRIES

TWO, THREE, NUMBERS, NAMES = COUNTRIES


def test_there_are_as_many_countries_as_in_the_standard():
    assert len(TWO.codes) == len(THREE.codes) == len(NUMBERS.codes) == 249
    assert all(len(code) == 2 for code in TWO.codes)
    assert all(len(code) == 3 for code in (*THREE.codes, *NUMBERS.codes))


def test_the_three_ways_to_write_a_country_agree():
    for two, three, number in (("DE", "DEU", "276"), ("US", "USA", "840"), ("CI", "CIV", "384"), ("KR", "KOR", "410")):
        assert TWO.find(two) == THREE.find(three) == NUMBERS.find(number) is not None
    assert NAMES.find("Côte d'Ivoire") == TWO.find("CI")
    assert NAMES.find("United-States") == ("Northern America", "Americas")


def test_words_are_no_countries():
    assert NAMES.find("blue") is None
    assert TWO.find("de") is None
    assert not NAMES.recognizes(["Germany", "red", "green"])
