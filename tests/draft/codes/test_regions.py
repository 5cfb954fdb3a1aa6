"""States, NUTS regions and the calendar."""

from __future__ import annotations

from shoal.draft.codes.regions import CALENDAR, STATES, nuts_labels


def test_there_are_fifty_states_the_district_and_five_territories():
    letters, names, numbers = STATES
    assert len(letters.codes) == len(numbers.codes) == 56
    assert letters.find("CA") == names.find("California") == numbers.find("06") == ("Pacific", "West")
    regions = [letters.find(code)[1] for code in letters.codes]
    assert {region: regions.count(region) for region in regions} == {
        "Northeast": 9,
        "Midwest": 12,
        "South": 17,
        "West": 13,
        "Territories": 5,
    }


def test_levels_of_nuts_are_prefixes():
    assert nuts_labels("FRB0") == ("FRB", "FR")
    assert nuts_labels("XX1") is None
    assert nuts_labels("DE") is None


def test_months_and_weekdays_have_quarters_and_weekends():
    months, short, days, _ = CALENDAR
    assert [months.find(name)[0] for name in months.codes] == [f"quarter {number // 3 + 1}" for number in range(12)]
    assert short.find("sep") == ("quarter 3", "half 2")
    assert [name for name in days.codes if days.find(name) == ("weekend",)] == ["Saturday", "Sunday"]
