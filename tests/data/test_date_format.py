"""A date format is a text with signs; what it cannot tell is refused before any row is read."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.date_format import MONTHS, SIGNS, DateFormat
from shoal.errors import PolicyError


def at(*parts: int) -> datetime:
    """A time as tables have it, without a zone."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


WRONG = [
    ("%d.%m.%q", "not known here; got %q"),
    ("%d.%m.%Y %", "not known here; got %"),
    ("%d.%m.%Y %z", "not known here; got %z"),
    ("%x", "not known here"),
    ("%d.%m", "the year is not told once"),
    ("%d.%m.%Y %y", "the year is not told once"),
    ("%d.%Y", "the month is not told once"),
    ("%d.%m.%b.%Y", "the month is not told once"),
    ("%m/%Y", "the day is not told once"),
    ("%d.%d.%m.%Y", "there twice"),
    ("%d.%m.%Y %H %I%p", "the hour is told twice"),
    ("%d.%m.%Y %I:%M", "needs am or pm"),
    ("%d.%m.%Y %H:%M %p", "needs am or pm"),
    ("%d.%m.%Y :%M", "what is larger is not"),
    ("%d.%m.%Y %H:%S", "what is larger is not"),
    ("%d.%m.%Y %H:%M .%f", "what is larger is not"),
    ("%d.%m.%Y %H:%M:%S%f", "touches another number"),
    (" %d.%m.%Y", "no blanks around"),
    ("%d.%m.%Y\n%H", "on one line"),
    ("%d.%m.%Y" + "x" * 100, "up to 100 letters"),
]


@pytest.mark.parametrize(("text", "match"), WRONG, ids=[text[:20] for text, _ in WRONG])
def test_what_does_not_tell_a_day_is_refused(text, match):
    with pytest.raises(PolicyError, match=match):
        DateFormat(text)


@given(
    st.datetimes(at(1969, 1, 1), at(2068, 12, 31, 23, 59, 59)),
    st.sampled_from(["%Y", "%y"]),
    st.sampled_from(["%m", "%b", "%B"]),
    st.sampled_from(["%H:%M:%S.%f", "%I.%M.%S.%f %p"]),
    st.sampled_from(["", ".", " ", "-", "/", "[", "\\\\", "年", "%%"]),
)
def test_every_sign_spells_what_python_spells(when, year, month, time, between):
    """Python's own `strftime`, in the C locale that tests run in, is the second opinion."""
    text = between.join([f"%d{between or ' '}", month, year, f" {time}"])
    form = DateFormat(text)
    spelled = form.spell(when)
    assert spelled is not None
    assert spelled.replace("%", "") == when.strftime(text).replace("%", "")
    assert re.fullmatch(form.pattern, spelled)
    assert re.fullmatch(form.pattern, spelled.lower() if month != "%m" else spelled)


def test_a_form_does_not_spell_what_it_cannot_tell():
    days = DateFormat("%d.%m.%y")
    assert days.spell(at(2024, 12, 31)) == "31.12.24"
    assert days.spell(at(2024, 12, 31, 1)) is None
    assert days.spell(at(1968, 12, 31)) is None
    assert DateFormat("%d.%m.%Y %H").spell(at(2024, 12, 31, 1, 30)) is None
    assert DateFormat("%d.%m.%Y %H:%M").spell(at(2024, 12, 31, 1, 30, 1)) is None
    assert DateFormat("%d.%m.%Y %H:%M:%S").spell(at(2024, 12, 31, 1, 30, 1, 1)) is None


def test_numbers_that_touch_take_two_digits():
    assert re.fullmatch(DateFormat("%d.%m.%Y").pattern, "1.2.2024")
    assert not re.fullmatch(DateFormat("%d%m.%Y").pattern, "1.2.2024")
    assert not re.fullmatch(DateFormat("%Y%m%d").pattern, "2024111")
    assert not re.fullmatch(DateFormat("1%d.%m.%Y").pattern, "11.2.2024")


def test_every_sign_has_words_and_there_are_twelve_months():
    assert len(MONTHS) == len({month[:3] for month in MONTHS}) == 12
    assert all(sign.startswith("%") and len(sign) == 2 and words for sign, words in SIGNS.items())
    assert DateFormat("%d.%m.%Y").words() == "01.03.2025"
    assert DateFormat("%d.%m.%Y %H:%M").words() == "01.03.2025 14:00"
