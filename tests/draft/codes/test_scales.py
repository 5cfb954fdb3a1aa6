"""Ordered words are put in their order; words that are not on the scale leave it alone."""

from __future__ import annotations

import pytest

from shoal.draft.codes.scales import EDUCATION, SCALES, order_of_bands


def test_no_word_has_two_places_on_a_scale():
    for scale in (EDUCATION, *SCALES):
        words = [word for place in scale.places for word in place]
        assert len(words) == len(set(words)), scale.key
    assert len(EDUCATION.labels) == len(EDUCATION.places)


def test_levels_of_education_that_follow_each_other_share_a_label_or_begin_a_new_one():
    seen = [
        labels for before, labels in zip([None, *EDUCATION.labels], EDUCATION.labels, strict=False) if labels != before
    ]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["Master", "HS-grad", "Bachelors"], ("HS-grad", "Bachelors", "Master")),
        (["agree", "Strongly Agree", "disagree"], ("disagree", "agree", "Strongly Agree")),
        (["L", "S", "M"], ("S", "M", "L")),
        (["mild", "severe", "moderate"], ("mild", "moderate", "severe")),
        (["red", "green"], None),
    ],
)
def test_words_are_put_in_order(values, order):
    assert next((found for scale in (EDUCATION, *SCALES) if (found := scale.order(values))), None) == order


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["65+", "18-24", "<18", "25-64"], ("<18", "18-24", "25-64", "65+")),
        (["20-40k", "0-20k", "40k+"], ("0-20k", "20-40k", "40k+")),
        (
            ["$10,000 to $19,999", "under $10,000", "over $20,000"],
            ("under $10,000", "$10,000 to $19,999", "over $20,000"),
        ),
        (["1", "2", "3"], None),
        (["18-24", "blue"], None),
    ],
)
def test_bands_of_numbers_are_put_in_order(values, order):
    assert order_of_bands(values) == order


def test_a_word_that_covers_all_degrees_is_not_called_below_bachelor():
    """'tertiary' and 'higher education' say no degree: people with a bachelor's are among them."""
    for word in ("tertiary", "higher education", "college"):
        (place,) = (number for number, words in enumerate(EDUCATION.places) if word in words)
        assert EDUCATION.labels[place] == ("tertiary, degree not said", "beyond upper secondary")
