"""Groups, ARX files, trees: labels by hand, laws on random ones, and what is not total or not a tree is refused."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import domain_of, hierarchy
from shoal.data.hierarchy.level import TopLevel
from shoal.data.hierarchy.table import DELIMITERS, find_delimiter, parse_rows
from shoal.data.schema import Type
from shoal.errors import PolicyError, UsageError
from tests.data.hierarchy.laws import check, loss_by_hand

COUNTRIES = Values(("DE", "FR", "JP", "US"))
CONTINENTS = {"Europe": ["DE", "FR"], "Asia": ["JP"], "America": ["US"]}


def array(*values):
    return np.array(values, dtype=object)


# --- groups -------------------------------------------------------------------------------------------------------


def test_groups_by_hand():
    built = hierarchy({"groups": CONTINENTS}, Type.CATEGORY, COUNTRIES)
    assert built.levels[1].apply(array("FR", "US", "DE")).tolist() == ["Europe", "America", "Europe"]
    assert built.losses == (0, 2 / 12, 1)
    check(built, array(*COUNTRIES.values))


@pytest.mark.parametrize(
    "second",
    [{"Eurasia": ["Europe", "Asia"], "Far": ["America"]}, {"Eurasia": ["DE", "FR", "JP"], "Far": ["US"]}],
)
def test_a_second_level_names_labels_or_values(second):
    built = hierarchy({"groups": [CONTINENTS, second]}, Type.CATEGORY, COUNTRIES)
    assert built.rows[2] == ("JP", "Asia", "Eurasia", "*")
    check(built, array(*COUNTRIES.values))


def test_a_last_group_for_all_is_the_whole():
    built = hierarchy({"groups": [CONTINENTS, {"World": list(CONTINENTS)}]}, Type.CATEGORY, COUNTRIES)
    assert built.levels[-1] == TopLevel("World")
    assert len(built) == 3
    assert len(hierarchy({"groups": []}, Type.CATEGORY, COUNTRIES)) == 2


def test_the_rest_may_have_a_group():
    built = hierarchy({"groups": {"Europe": ["DE", "FR"]}, "rest": "Other"}, Type.CATEGORY, COUNTRIES)
    assert [row[1] for row in built.rows] == ["Europe", "Europe", "Other", "Other"]
    assert domain_of({"groups": {"Europe": ["DE"]}, "rest": "Other"}, Type.CATEGORY) is None


def test_numbers_dates_and_booleans_are_looked_up_by_their_text():
    odd = {"odd": [1, 3], "even": [2, 4]}
    built = hierarchy({"groups": odd}, Type.INTEGER, Interval(1, 4))
    assert built.levels[1].apply(np.array([4, 1])).tolist() == ["even", "odd"]
    check(built, np.arange(1, 5))
    truth = hierarchy({"groups": {"known": [True, False]}}, Type.BOOLEAN, Values(("false", "true")))
    assert truth.levels[-1].apply(np.array([True, False])).tolist() == ["known", "known"]
    days = hierarchy(
        {"groups": {"a": ["2024-01-01"], "b": ["2024-01-02"]}}, Type.DATE, Interval("2024-01-01", "2024-01-02")
    )
    assert days.encode(1, np.array(["2024-01-02"], dtype="M8[D]")).tolist() == [1]


def test_domains_that_groups_declare():
    assert domain_of({"groups": CONTINENTS}, Type.CATEGORY) == COUNTRIES
    assert domain_of({"groups": {"a": [1, 2], "b": [3]}}, Type.INTEGER) == Interval(1, 3)
    assert domain_of({"groups": {"a": [1, 2], "b": [9]}}, Type.INTEGER) == Values(("1", "2", "9"))
    assert domain_of({"groups": []}, Type.BOOLEAN) == Values(("false", "true"))
    assert domain_of({"intervals": [5]}, Type.INTEGER) is None
    assert domain_of({"mask": "right"}, Type.TEXT) is None


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            {"Europe": ["DE"]},
            "level 1 does not cover its domain: 3 of 4 have no group; got FR, JP, US; put them in a group",
        ),
        ({**CONTINENTS, "Old": ["DE"]}, "not a tree: level 1 has a member in two groups; got DE in Europe and in Old"),
        ({**CONTINENTS, "Moon": ["Mare"]}, "level 1 names what is not in its domain; got Mare"),
        (
            [CONTINENTS, {"A": ["DE", "JP"], "B": ["FR", "US"]}],
            "not a tree: a label of level 1 leads to two labels of level 2",
        ),
        (
            [CONTINENTS, {"A": ["Europe", "Asia"]}],
            "level 2 does not cover its domain: 1 of 3 have no group; got America",
        ),
        ([["DE"]], "a level is no mapping from labels to members"),
        ({"(missing)": ["DE"], "rest": ["FR", "JP", "US"]}, r"kept for missing values; got \(missing\)"),
    ],
)
def test_refused_groups(groups, message):
    with pytest.raises(PolicyError, match=message):
        hierarchy({"groups": groups}, Type.CATEGORY, COUNTRIES)


def test_tables_need_a_domain_that_can_be_listed():
    with pytest.raises(
        PolicyError, match=r"needs a domain that can be listed; got texts that match .*; declare the values"
    ):
        hierarchy({"groups": CONTINENTS}, Type.TEXT, Pattern("[A-Z]+"))
    with pytest.raises(PolicyError, match="another type; got decimal"):
        hierarchy({"groups": CONTINENTS}, Type.DECIMAL, Interval(0, 1))


# --- ARX's files --------------------------------------------------------------------------------------------------

ROWS = "DE{0}Europe{0}*\nFR{0}Europe{0}*\nJP{0}Asia{0}*\nUS{0}America{0}*\n"


def file(folder, text, name="h.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return {"file": name}


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiters_line_ends_and_marks_are_found(tmp_path, delimiter, newline, mark):
    spec = file(tmp_path, mark + ROWS.format(delimiter).replace("\n", newline).encode())
    assert domain_of(spec, Type.CATEGORY, tmp_path) == COUNTRIES
    built = hierarchy(spec, Type.CATEGORY, COUNTRIES, tmp_path)
    assert built.rows[0] == ("DE", "Europe", "*")


def test_quotes_and_delimiters_inside_fields(tmp_path):
    built = hierarchy(
        file(tmp_path, '"a;b";"say ""so""";*\nc;"[0, 5)";*\n'), Type.CATEGORY, Values(("a;b", "c")), tmp_path
    )
    assert built.rows == [("a;b", 'say "so"', "*"), ("c", "[0, 5)", "*")]
    commas = file(tmp_path, "1;[0, 5);*\n2;[0, 5);*\n")
    assert hierarchy(commas, Type.INTEGER, Interval(1, 2), tmp_path).rows[0] == ("1", "[0, 5)", "*")
    forced = {**file(tmp_path, "x;1,y\nz;2,y\n"), "delimiter": ","}
    assert domain_of(forced, Type.CATEGORY, tmp_path) == Values(("x;1", "z;2"))


def test_the_last_column_is_closed_where_it_is_open(tmp_path):
    built = hierarchy(file(tmp_path, "a;x\nb;y\n"), Type.CATEGORY, Values(("a", "b")), tmp_path)
    assert built.rows == [("a", "x", "*"), ("b", "y", "*")]
    named = hierarchy(file(tmp_path, "a;x;any\nb;y;any\n"), Type.CATEGORY, Values(("a", "b")), tmp_path)
    assert named.levels[-1] == TopLevel("any")
    bare = hierarchy(file(tmp_path, "a\nb\n"), Type.CATEGORY, Values(("a", "b")), tmp_path)
    assert bare.rows == [("a", "*"), ("b", "*")]


def test_values_outside_the_domain_are_reported(tmp_path):
    built = hierarchy(file(tmp_path, ROWS.format(";")), Type.CATEGORY, Values(("US", "DE")), tmp_path)
    assert built.outside == ("FR", "JP")
    assert built.rows == [("DE", "Europe", "*"), ("US", "America", "*")]
    assert built.losses == (0, 0, 1)


def test_a_file_of_numbers(tmp_path):
    spec = file(tmp_path, "01;odd;*\n2;even;*\n03;odd;*\n")
    assert domain_of(spec, Type.INTEGER, tmp_path) == Interval(1, 3)
    built = hierarchy(spec, Type.INTEGER, Interval(1, 3), tmp_path)
    check(built, np.array([1, 2, 3]))
    assert built.levels[1].apply(np.array([3])).tolist() == ["odd"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DE;E;*\nFR;E;*\n", "does not cover its domain: 2 of 4 values have no labels; got JP, US; add them"),
        (ROWS.format(";") + "DE;Europe;*\n", "a value is listed twice; got DE"),
        ("DE;x;A;*\nFR;x;B;*\nJP;y;A;*\nUS;y;A;*\n", "not a tree: a label of level 1 leads.*got x under A and under B"),
        ("DE;E;*\nFR;E\n", "rows of different lengths: line 2 has 2 columns, not 3"),
        ("", "without rows"),
        ("\n\n", "without rows"),
        (";E;*\n", "without a value in line 1"),
        ('DE;"E;*\n', "a quote that does not end"),
        ('DE;"E\nF";*\n', "a field over several lines before line 3"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a\x00;b\n", "no text"),
    ],
)
def test_refused_files(tmp_path, text, message):
    with pytest.raises(PolicyError, match=message):
        hierarchy(file(tmp_path, text), Type.CATEGORY, COUNTRIES, tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PolicyError, match=r"cannot be read; got .*no\.csv; name a file that is there"):
        hierarchy({"file": "no.csv"}, Type.CATEGORY, COUNTRIES, tmp_path)
    with pytest.raises(PolicyError, match="a delimiter is one character; got ';;'"):
        hierarchy({**file(tmp_path, "a;b\n"), "delimiter": ";;"}, Type.CATEGORY, COUNTRIES, tmp_path)


# --- trees --------------------------------------------------------------------------------------------------------

TREE = {"Anywhere": {"Europe": ["Spain", "Portugal"], "Asia": {"East": ["Japan"], "South": ["India"]}, "Moon": None}}
PLACES = Values(("Spain", "Portugal", "Japan", "India", "Moon"))


def test_levels_by_depth_repeat_what_lies_less_deep():
    built = hierarchy({"taxonomy": TREE}, Type.CATEGORY, PLACES)
    assert built.rows == [
        ("Spain", "Spain", "Europe", "Anywhere"),
        ("Portugal", "Portugal", "Europe", "Anywhere"),
        ("Japan", "East", "Asia", "Anywhere"),
        ("India", "South", "Asia", "Anywhere"),
        ("Moon", "Moon", "Moon", "Anywhere"),
    ]
    assert domain_of({"taxonomy": TREE}, Type.CATEGORY) == PLACES
    check(built, array(*PLACES.values))


def test_inner_names_may_be_values_too():
    built = hierarchy({"taxonomy": TREE}, Type.CATEGORY, Values(("Spain", "Europe", "Japan")))
    assert built.rows[:2] == [("Spain", "Spain", "Europe", "Anywhere"), ("Europe", "Europe", "Europe", "Anywhere")]
    assert built.outside == ("Portugal", "India", "Moon")


def test_a_tree_in_a_yaml_file(tmp_path):
    (tmp_path / "t.yaml").write_text("Any:\n  'No': [NO, off]\n  Versions: [1.10, 007]\n")
    assert domain_of({"taxonomy": "t.yaml"}, Type.CATEGORY, tmp_path) == Values(("NO", "off", "1.10", "007"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [x]\nb: [y]\n", "exactly one root; got a, b"),
        ("", "exactly one root; got none"),
        ("a: {b: [x], c: [x]}\n", "a name stands twice in a tree; got x"),
        ("a: {b: [a]}\n", "a name stands twice in a tree; got a"),
        ("a: &l [b: *l]\n", "refers to a part of itself"),
        ("a: [[x]]\n", "a node of a tree without a name"),
        ("a: [x\n", r"no YAML tree; got .*t\.yaml, line"),
        ("a: {x: 1, x: 2}\n", "no YAML tree"),
    ],
)
def test_refused_trees(tmp_path, text, message):
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(PolicyError, match=message):
        domain_of({"taxonomy": "t.yaml"}, Type.CATEGORY, tmp_path)


def test_trees_that_lack_values_or_files(tmp_path):
    with pytest.raises(PolicyError, match="1 of 2 values are not in the tree; got Mars; add them"):
        hierarchy({"taxonomy": TREE}, Type.CATEGORY, Values(("Spain", "Mars")))
    with pytest.raises(PolicyError, match="taxonomy file cannot be read"):
        hierarchy({"taxonomy": "no.yaml"}, Type.CATEGORY, PLACES, tmp_path)
    (tmp_path / "t.yaml").write_bytes(b"\xff\xff")
    with pytest.raises(PolicyError, match="not UTF-8"):
        hierarchy({"taxonomy": "t.yaml"}, Type.CATEGORY, PLACES, tmp_path)


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=30))
def test_random_groups_are_total_and_cost_what_they_hide(paths):
    values = tuple(f"v{i}" for i in range(len(paths)))
    names = [["/".join(map(str, path[:depth])) for path in paths] for depth in (3, 2, 1)]
    levels = []
    for labels in names:
        groups: dict[str, list[str]] = {}
        for value, label in zip(values, labels, strict=True):
            groups.setdefault(label, []).append(value)
        levels.append(groups)
    built = hierarchy({"groups": levels}, Type.CATEGORY, Values(values))
    check(built, array(*values))
    if len(values) > 1:
        for labels, loss in zip(names, built.losses[1:], strict=False):
            assert loss == pytest.approx(loss_by_hand(labels), abs=1e-12)


def test_small_domains_of_numbers_dates_and_texts_are_tables():
    built = hierarchy({"intervals": [2]}, Type.INTEGER, Interval(0, 3))
    assert built.rows == [("0", "[0, 2)", "*"), ("1", "[0, 2)", "*"), ("2", "[2, 4)", "*"), ("3", "[2, 4)", "*")]
    masked = hierarchy({"mask": "right"}, Type.TEXT, Pattern("[01]{2}"))
    assert masked.rows == [("00", "0*", "*"), ("01", "0*", "*"), ("10", "1*", "*"), ("11", "1*", "*")]
    days = hierarchy({"date": ["month"]}, Type.DATE, Interval("2024-01-31", "2024-02-01"))
    assert days.rows == [("2024-01-31", "2024-01", "*"), ("2024-02-01", "2024-02", "*")]
    with pytest.raises(UsageError, match=r"cannot be written as a table: .*; got 0\.\.1"):
        hierarchy({"intervals": ["0.5"]}, Type.DECIMAL, Interval(0, 1)).rows  # noqa: B018


# --- the reader of files on anything -------------------------------------------------------------------------------

field = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=8)


def written(rows, delimiter, newline="\n", quoted=False):
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=quoting).writerows(rows)
    return out.getvalue().encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_refused_in_our_words(raw):
    try:
        rows = parse_rows(raw)
    except PolicyError:
        return
    assert len({len(row) for row in rows}) == 1


@pytest.mark.slow
@given(st.text(alphabet='ab;,|\t"\r\n*', max_size=60))
def test_any_text_of_delimiters_is_a_table_or_refused(text):
    try:
        rows = parse_rows(text.encode())
    except PolicyError:
        return
    assert parse_rows(written(rows, find_delimiter(text)), find_delimiter(text)) == rows


@pytest.mark.slow
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(field, min_size=width, max_size=width), min_size=1, max_size=8)
    ),
    st.sampled_from(DELIMITERS),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_any_table_is_read_as_it_was_written(rows, delimiter, newline, mark, quoted):
    rows = [[f"v{row[0]}", *row[1:]] for row in rows]
    raw = (b"\xef\xbb\xbf" if mark else b"") + written(rows, delimiter, newline, quoted)
    assert parse_rows(raw, delimiter) == rows


def test_whole_numbers_that_lie_far_apart_are_listed_without_counting_up_to_them(tmp_path):
    (tmp_path / "far.csv").write_text(f"1;few;*\n{10**18};many;*\n")
    found = domain_of({"file": "far.csv"}, Type.INTEGER, tmp_path)
    assert found == Values(("1", str(10**18)))
