"""Proposed bounds are round and lie beyond what was seen; a drafted policy reads the table that it was drafted from."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.schema import Role
from shoal.data.type import Type
from shoal.draft.draft import draft_table
from shoal.draft.opening import open_table
from shoal.draft.profile import profile_table
from shoal.draft.proposal import THOUSANDS_NOTE, propose
from shoal.draft.recognize.column import Recognition
from shoal.engine.base import open_engine
from shoal.policy.missing_codes import open_codes, settle_codes


def proposal_of(values, kind, subject=None, role=Role.QUASI, **options):
    profile = profile_table(open_table(pa.table({"x": values})).stored).columns[0]
    return propose(profile, Recognition(role, kind, "", subject, **options))


@given(st.lists(st.integers(-(10**12), 10**12), min_size=2, max_size=40))
@settings(max_examples=25, deadline=None)
def test_bounds_of_whole_numbers_lie_beyond_those_of_the_people(values):
    low, high = proposal_of(values, Type.INTEGER).domain
    assert low <= min(values)
    assert max(values) < high or high == 0
    assert low < min(values) or low == 0
    step = Fraction(high - low)
    assert step < 40 * max(1, max(values) - min(values), abs(max(values)), abs(min(values)))


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=2, max_size=40))
@settings(max_examples=25, deadline=None)
def test_bounds_of_decimals_hold_all_values(values):
    low, high = (Fraction(str(end)) for end in proposal_of(values, Type.DECIMAL).domain)
    assert low <= min(map(Fraction, values))
    assert max(map(Fraction, values)) <= high


@pytest.mark.parametrize(
    ("values", "kind", "domain", "step"),
    [
        ([0.41, 1.2, 2.96], Type.DECIMAL, [0, 3], 1),
        ([12_285, 189_778, 1_484_705], Type.INTEGER, [0, 1_600_000], 500_000),
    ],
)
def test_a_survey_weight_gets_a_few_wide_classes_and_words_on_whether_to_publish_it(values, kind, domain, step):
    made = proposal_of(values, kind, "weight", role=Role.WEIGHT)
    assert (made.domain, made.hierarchy) == (domain, {"intervals": [step]})
    assert "role: drop" in made.notes[0]


@pytest.mark.parametrize(
    ("values", "subject", "domain"),
    [
        ([18, 64], "age", [0, 120]),
        ([18, 999], "age", [0, 1000]),
        ([1, 12], "month", [1, 12]),
        ([2015, 2023], "year", [2010, 2030]),
        ([1950, 2001], "birth year", [1900, 2039]),
        ([3, 77], None, [0, 80]),
        ([3, 80], None, [0, 90]),
        ([-5, 5], None, [-6, 6]),
    ],
)
def test_bounds_follow_the_subject_where_it_has_any(values, subject, domain):
    assert proposal_of(values, Type.INTEGER, subject).domain == domain


def test_what_the_subject_says_is_declared_as_long_as_it_is_true():
    assert proposal_of([18, 64], Type.INTEGER, "age").provenance == "declared"
    assert proposal_of([18, 640], Type.INTEGER, "age").provenance == "profiled"


@pytest.mark.parametrize(
    ("values", "codes", "without"),
    [
        ([1, 2, 5, 99], ("99",), [0, 6]),
        ([1, 2, 5, 98, 99], ("98", "99"), [0, 6]),
        ([1, 2, 5, 97, 98, 99], ("97", "98", "99"), [0, 6]),
        ([1, 2, 60, 98, 99], (), None),
        ([1, 2, 5, 96, 98, 99], (), None),
        ([-9, 0, 1, 2, 7], ("-9",), [0, 8]),
        ([-20, -9, 0, 5], (), None),
        ([10, 20, 30, 9999], ("9999",), [0, 35]),
    ],
)
def test_codes_for_missing_values_are_candidates_and_stay_in_the_domain(values, codes, without):
    found = proposal_of(values, Type.INTEGER)
    assert found.codes == codes
    assert found.missing_values == ()
    assert found.domain[0] <= min(values)
    assert max(values) <= found.domain[1]
    assert without is None or found.without == without


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ([-9, 1, 2, 4], ["-9", "1", "2", "3", "4"]),
        ([1, 2, 4, 99], ["1", "2", "3", "4", "99"]),
        ([1, 2, 4, 9], ["1", "2", "3", "4", "9"]),
    ],
)
def test_the_steps_of_a_scale_do_not_reach_to_a_code_for_missing_values(values, domain):
    found = proposal_of(values, Type.ORDINAL)
    assert [str(value) for value in found.domain] == domain


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 2, 9], ("9",)),
        ([1, 2, 3, 4, 5, 8, 9], ("8", "9")),
        ([1, 2, 3, 7, 8, 9], ("7", "8", "9")),
        ([1, 5, 7, 9], ("9",)),
    ],
)
def test_nines_behind_a_gap_may_stand_for_missing_values_in_lists_of_numbers(values, codes):
    assert proposal_of(values, Type.CATEGORY).codes == codes
    assert proposal_of(range(1, 10), Type.CATEGORY).codes == ()
    assert proposal_of(values, Type.INTEGER).codes == ()


@pytest.mark.parametrize("mark", [",", "."])
def test_whole_numbers_with_a_fraction_of_nought_are_read_as_they_are_written(mark, tmp_path):
    """Programs write whole numbers so where a column has empty cells."""
    path = tmp_path / "hours.csv"
    path.write_text("hours;job\n" + f"40{mark}0;a\n35{mark}0;b\n;c\n99{mark}0;a\n" * 30)
    column = draft_table(open_table(path))["hours"]
    assert column.type is Type.DECIMAL
    assert column.candidates == (f"99{mark}0",)
    assert not column.notes
    made = draft_table(open_table(path)).policy
    settled = settle_codes(made, [each for each in open_codes(made) if each.attribute == "hours"])
    table = open_engine("duckdb").scan(path, settled.schema)
    assert table.rows() == 120


def test_a_comma_that_may_stand_between_thousands_is_told(tmp_path):
    path = tmp_path / "pay.csv"
    path.write_text("pay;job\n" + "1,500;a\n12,250;b\n900;c\n" * 30)
    assert draft_table(open_table(path))["pay"].notes == (THOUSANDS_NOTE,)


def test_none_among_words_is_an_answer_and_no_code_for_missing_values():
    """Whoever says yes to a question about missing codes would lose all who have no religion, no insurance, no medicine."""
    religions = proposal_of(["catholic", "none", "None", "other"] * 9, Type.CATEGORY)
    assert (religions.codes, set(religions.domain)) == ((), {"catholic", "none", "None", "other"})
    assert proposal_of(["catholic", "none", "unknown"] * 9, Type.CATEGORY).codes == ("unknown",)


def test_words_among_numbers_are_read_as_missing_because_nothing_else_reads_the_column():
    found = proposal_of(["1", "2", "NA"], Type.INTEGER)
    assert found.missing_values == ("NA",)


def test_crowded_numbers_get_intervals_that_widen():
    values = [int(1.05**place) for place in range(300)]
    (fine, coarse) = proposal_of(values, Type.INTEGER).hierarchy["cuts"]
    assert set(coarse) < set(fine)
    assert all(str(cut).rstrip("0") in ("1", "2", "5") for cut in fine)


def test_dates_lie_in_whole_years():
    days = [dt.date(2024, 5, 17), dt.date(2025, 2, 3)]
    assert proposal_of(days, Type.DATE).domain == ["2024-01-01", "2025-12-31"]
    assert proposal_of(days, Type.DATE, "birth date").domain == ["2020-01-01", "2029-12-31"]
    filler = proposal_of([*days, dt.date(9999, 12, 31)], Type.DATE)
    assert filler.outside == "suppress"


def test_long_lists_are_grouped_by_common_beginnings_or_by_what_is_rare():
    codes = [f"{head}-{number}" for head in ("north", "south", "east") for number in range(6)]
    assert set(proposal_of(codes, Type.CATEGORY).hierarchy["groups"][0]) == {"north…", "south…", "east…"}
    words = "ash birch cedar elm fir hazel larch maple oak pine rowan yew".split()
    rare = proposal_of([*(words[:5] * 100), *words[5:]], Type.CATEGORY).hierarchy["groups"][0]
    assert rare["other"] == sorted(words[5:])
    assert len(rare) == 6


def test_labels_of_releases_are_no_values():
    found = proposal_of(["a", "*", "b"], Type.CATEGORY)
    assert (found.domain, found.missing_values) == (["a", "b"], ("*",))


NAMES = "id age sex zip income date x q1 weight education state country diagnosis code month year bmi notes".split()
CELLS = st.one_of(
    st.sampled_from(
        ["a", "b", "*", "?", "NA", "", " x", "é", "007", "1e5", "+7", "18-24", "65+", "low", "high", "E11.9", "DE"]
    ),
    st.integers(-(10**18), 10**19).map(str),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: f"{number:.2f}"),
    st.floats(0, 1e6).map(lambda number: f"{number:.2f}".replace(".", ",")),
    st.dates().map(dt.date.isoformat),
    st.dates(dt.date(1950, 1, 1), dt.date(2030, 1, 1)).map(lambda day: day.strftime("%d.%m.%Y")),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
)
KINDS = st.sampled_from(
    [
        CELLS,
        st.integers(-(10**18), 10**18),
        st.integers(0, 4),
        st.floats(-1e12, 1e12, allow_nan=False),
        st.integers(0, 5).map(float),
        st.booleans(),
        st.dates(),
        st.datetimes(),
        st.sampled_from(["yes", "no"]),
        st.sampled_from(["1", "2", "NA"]),
        st.sampled_from(["00", "01", "12"]),
        st.integers(0, 99_999).map(lambda number: f"{number:05d}"),
    ]
)


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 30))
    columns = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True)):
        cell = st.one_of(st.none(), draw(KINDS)) if draw(st.booleans()) else draw(KINDS)
        columns[name] = pa.array(draw(st.lists(cell, min_size=rows, max_size=rows)))
    return pa.table(columns)


@pytest.mark.slow
@given(tables())
@settings(max_examples=12, deadline=None)
def test_a_draft_of_any_table_is_a_policy_that_reads_the_table(table):
    found = draft_table(open_table(table))
    policy = found.policy
    if any(column.published for column in found.columns):
        assert found.complete
        open_engine("duckdb").scan(table, policy.schema.with_names(policy.model.unit.column))
