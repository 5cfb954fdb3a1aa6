"""Stand-ins: every one fits its schema, repeats by its seed, keeps the marginals, and is refused in words."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.data.domain import Interval, Pattern, Values
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.datasets.marginals import load
from shoal.datasets.simulate import simulate
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DomainError, ParameterError, ShoalError, UsageError
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from tests.engine.oracle import OracleEngine
from tests.statistical.fit import p_value

NAMES = ("one", "two", "three", "four")


def made(schema, rows=500, seed=0, **more):
    return simulate(schema, rows, Source.seeded(seed), **more)


def schema_of(*attributes):
    return Schema(attributes)


def column(domain, kind=Type.CATEGORY, name="a", role=Role.QUASI, **more):
    return Attribute(name, role, kind, domain, **more)


def policy(attributes, unit="row"):
    lines = "".join(f"\n  {name}: {text}" for name, text in attributes.items())
    return Policy.parse(f"version: 1\ndataset: made\nunit: {unit}\nneighbours: add_remove\nattributes:{lines}\n")


TREE = policy(
    {
        "place": "{role: quasi, type: category, hierarchy: {groups: {north: [a, b, c], south: [d, e]}}}",
        "age": "{role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [10, 50]}}",
        "pay": "{role: other, type: decimal, domain: [0, 9999999.99], hierarchy: {intervals: [1000], above: 9000}}",
        "ill": "{role: confidential, type: boolean, missing: refuse}",
    }
).schema


# --- every table fits -----------------------------------------------------------------------------------------------

dates = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
times = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59))  # noqa: DTZ001 - times have no zone
texts = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=5)
letters = st.lists(
    st.sampled_from(["[0-9]", "[A-F]", r"\d", "x", "-", "[a-z]{3}", "[0-9]{12}"]), min_size=1, max_size=4
)


def between(values):
    return st.tuples(values, values).map(lambda ends: Interval(min(ends), max(ends)))


domains = st.one_of(
    st.tuples(st.just(Type.INTEGER), between(st.integers(-(2**63), 2**63 - 1))),
    st.tuples(st.just(Type.INTEGER), between(st.integers(-5, 5))),
    st.tuples(st.just(Type.DECIMAL), between(st.floats(-1e12, 1e12))),
    st.tuples(st.just(Type.DATE), between(dates)),
    st.tuples(st.just(Type.DATETIME), between(times)),
    st.tuples(st.just(Type.BOOLEAN), st.sampled_from([None, Values(("false", "true"))])),
    st.tuples(
        st.sampled_from([Type.CATEGORY, Type.ORDINAL, Type.TEXT]),
        st.lists(texts, min_size=1, max_size=9, unique=True).map(lambda values: Values(tuple(values))),
    ),
    st.tuples(
        st.just(Type.INTEGER),
        st.lists(st.integers(-99, 99).map(str), min_size=1, max_size=9, unique=True).map(lambda v: Values(tuple(v))),
    ),
    st.tuples(st.just(Type.TEXT), letters.map("".join).map(Pattern)),
)


@st.composite
def schemas(draw):
    kinds = draw(st.lists(domains, min_size=1, max_size=4))
    missing = st.sampled_from(list(Missing))
    attributes = [
        Attribute(NAMES[i], draw(st.sampled_from([Role.QUASI, Role.OTHER, Role.IDENTIFIER])), kind, domain, None, draw(missing))
        for i, (kind, domain) in enumerate(kinds)
    ]  # fmt: skip
    return Schema((*attributes, Attribute("who", Role.IDENTIFIER, draw(st.sampled_from(list(Type))))))


@pytest.mark.slow
@settings(max_examples=60)
@given(schemas(), st.integers(1, 60), st.integers(0, 2**32), st.floats(0, 10), st.floats(0, 1), st.booleans())
def test_every_simulated_table_is_accepted_by_the_engine(schema, rows, seed, skew, dependence, person):
    unit = Unit.person("who", 2, "add_remove") if person else None
    table = simulate(schema, rows, Source.seeded(seed), unit=unit, skew=skew, dependence=dependence)
    assert table.column_names == list(schema.names)
    assert OracleEngine().scan(table, schema).rows() == rows


@pytest.mark.slow
@pytest.mark.parametrize("example", ["visits", "clinic"])
def test_the_examples_can_be_simulated(example):
    from tests.datasets.test_visits_policy import EXAMPLE

    schema = Policy.load(EXAMPLE.parent / example / "policy.yaml").schema
    for seed in range(3):
        scanned = DuckDB().scan(made(schema, 2000, seed), schema)
        hierarchies = {a.name: a.hierarchy.level(1) for a in schema.published if a.hierarchy}
        assert scanned.recode(hierarchies).rows() == 2000


@pytest.mark.slow
def test_hierarchies_of_every_kind_are_covered():
    for seed in range(5):
        levels = {a.name: a.hierarchy.level(1) for a in TREE.published if a.hierarchy}
        assert DuckDB().scan(made(TREE, 3000, seed), TREE).recode(levels).rows() == 3000


@pytest.mark.slow
def test_a_million_values():
    many = schema_of(column(Values(tuple(f"v{i}" for i in range(10**6)))))
    assert DuckDB().scan(made(many, 2000), many).rows() == 2000


def test_a_mask_on_the_left_is_clustered_from_the_right():
    right, left = (
        policy({"a": f'{{role: quasi, type: text, domain: {{pattern: "[0-9]{{6}}"}}, hierarchy: {{mask: {side}}}}}'}).schema
        for side in ("right", "left")
    )  # fmt: skip
    forth, back = (made(schema, 500, 3)["a"].to_pylist() for schema in (right, left))
    assert [text if text is None else text[::-1] for text in back] == forth


# --- what is assumed ------------------------------------------------------------------------------------------------


def test_a_seed_repeats_and_another_is_another_world():
    assert made(TREE, seed=1).equals(made(TREE, seed=1))
    assert not made(TREE, seed=1).equals(made(TREE, seed=2))


def shares(table, name="a"):
    values, counts = np.unique(table[name].drop_null().to_numpy(zero_copy_only=False).astype(str), return_counts=True)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def test_one_world_at_two_sizes():
    wide = schema_of(column(Values(tuple("abcdefgh"))))
    small, large = (shares(made(wide, rows, 5)) for rows in (20_000, 80_000))
    assert max(abs(small[value] - large[value]) for value in large) < 0.02


def test_skew_makes_some_values_common_and_zero_makes_none():
    wide = schema_of(column(Values(tuple("abcdefgh"))))
    even = [max(shares(made(wide, 20_000, seed, skew=0)).values()) for seed in range(5)]
    uneven = [max(shares(made(wide, 20_000, seed)).values()) for seed in range(5)]
    assert max(even) < 0.15
    assert min(uneven) > 0.2


def pairwise_dependence(dependence):
    """How far the pairs of two columns are from independence, over ten worlds."""
    two = schema_of(column(Values(tuple("abcd"))), column(Values(tuple("wxyz")), name="b"))
    found = []
    for seed in range(10):
        table = made(two, 5000, seed, skew=0, dependence=dependence).drop_null()
        a, b = (
            np.unique(table[name].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)[1] for name in "ab"
        )
        joint = np.bincount(4 * a + b, minlength=16).reshape(4, 4) / len(a)
        found.append(np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).sum() / 2)
    return float(np.mean(found))


def test_attributes_hang_together_as_much_as_asked():
    none, some, much = (pairwise_dependence(share) for share in (0, 0.5, 1))
    assert none < 0.04 < some < much


def test_missing_values_come_where_they_are_allowed_alone():
    allowed, refused = (schema_of(column(Values(("x", "y")), missing=missing)) for missing in Missing)
    assert {made(allowed, 2000, seed)["a"].null_count > 0 for seed in range(20)} == {True, False}
    assert all(made(refused, 2000, seed)["a"].null_count == 0 for seed in range(20))


def test_numbers_lie_where_the_intervals_are_declared():
    """The domain of `pay` ends at ten million, and whoever declared intervals up to 9,000 expects few beyond."""
    for seed in range(5):
        pay = made(TREE, 5000, seed)["pay"].drop_null().to_numpy()
        assert np.mean(pay < 9000) > 0.5


def test_people_have_one_row_or_more_and_names_differ():
    who = column(None, Type.TEXT, "who", Role.IDENTIFIER)
    table = made(Schema((*TREE.attributes, who)), 20_000, unit=Unit.person("who", 3, "add_remove"))
    _, each = np.unique(table["who"].to_numpy(zero_copy_only=False).astype(str), return_counts=True)
    assert each.sum() == 20_000
    assert 0.5 < np.mean(each == 1) < 0.9
    assert 3 < each.max() <= 30
    rows = made(Schema((*TREE.attributes, who)), 1000)["who"].to_pylist()
    assert len(set(rows)) == 1000


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        (Type.TEXT, Pattern("[A-Z][0-9]{4}")), (Type.INTEGER, Interval(1, 10**6)), (Type.INTEGER, Interval(1, 1000)),
        (Type.TEXT, Values(tuple(f"p{i}" for i in range(1000)))), (Type.INTEGER, None), (Type.DATE, None),
    ],
)  # fmt: skip
def test_names_differ_as_far_as_their_domain_allows(kind, domain):
    schema = schema_of(column(Values(("x",))), column(domain, kind, "who", Role.IDENTIFIER))
    table = made(schema, 1000)
    assert OracleEngine().scan(table, schema).rows() == 1000
    assert len(set(table["who"].to_pylist())) > 990


# --- public marginals -----------------------------------------------------------------------------------------------


def fitting(table, expected, name="a"):
    """Whether a column's values (None for missing) have these shares."""
    cells = table[name].to_pylist()
    order = list(expected)
    counts = [sum(cell == value for cell in cells) for value in order]
    assert sum(counts) == len(cells)
    return p_value(counts, np.array(list(expected.values())) * len(cells)) > 1e-9


@pytest.mark.parametrize("dependence", [0, 0.5])
def test_marginals_are_kept_and_an_impostor_is_told_apart(dependence):
    three = schema_of(column(Values(("x", "y", "z"))))
    given_shares = {"x": 5, "y": 3, "z": 1, None: 1}
    table = made(three, 20_000, 4, marginals={"a": given_shares}, dependence=dependence)
    assert fitting(table, {"x": 0.5, "y": 0.3, "z": 0.1, None: 0.1})
    assert not fitting(table, {"x": 0.46, "y": 0.34, "z": 0.1, None: 0.1})
    assert not fitting(table, {"x": 0.5, "y": 0.3, "z": 0.14, None: 0.06})


def test_labels_of_a_level_may_be_named():
    table = made(TREE, 20_000, 1, marginals={"place": {"north": "0.8", "south": ".2"}})
    where = ["north" if place in "abc" else "south" for place in table["place"].to_pylist()]
    assert abs(where.count("north") / len(where) - 0.8) < 0.015
    assert len(set(table["place"].to_pylist())) == 5


def test_ranges_of_numbers_dates_and_times():
    table = made(TREE, 20_000, 1, marginals={"age": [[65, 99, 1], [0, 17, 2], [18, 64, "7"]]})
    ages = table["age"].to_numpy()
    parts = np.digitize(ages, [18, 65])
    assert p_value(np.bincount(parts, minlength=3), 20_000 * np.array([0.2, 0.7, 0.1])) > 1e-9
    assert p_value(np.bincount(parts, minlength=3), 20_000 * np.array([0.22, 0.68, 0.1])) < 1e-9
    assert {17, 18, 64, 65, 99} <= set(ages.tolist())
    days = schema_of(column(Interval(dt.date(2024, 1, 1), dt.date(2024, 12, 31)), Type.DATE))
    found = made(days, 300, marginals={"a": [["2024-02-01", "2024-02-29", 1]]})["a"].to_pylist()
    assert {day.month for day in found} == {2}
    assert set(made(TREE, 300, marginals={"age": {"30": 1, 40: 1, 50: 0}})["age"].to_pylist()) == {30, 40}


def test_texts_of_any_pattern_and_booleans_by_their_marginals():
    free = schema_of(column(Pattern("a+|b*"), Type.TEXT))
    assert set(made(free, marginals={"a": {"aaa": 1, "b": 2}})["a"].to_pylist()) == {"aaa", "b"}
    assert set(made(TREE, marginals={"ill": {True: 1}})["ill"].to_pylist()) == {True}
    assert set(made(free, marginals={"a": {"(missing)": 1}})["a"].to_pylist()) == {None}
    assert set(made(TREE, marginals={"age": {None: 1}, "place": {None: 2}})["age"].to_pylist()) == {None}


def test_other_attributes_do_not_change_when_one_is_known():
    free, known = made(TREE), made(TREE, marginals={"place": {"a": 1}})
    assert free["age"].equals(known["age"])
    assert free["pay"].equals(known["pay"])


@pytest.mark.parametrize(
    ("marginals", "kind", "words"),
    [
        ({"plce": {"a": 1}}, UsageError, "no published attribute; got plce; allowed: place, age"),
        ({"place": {"a": 1, "f": 1}}, DomainError, "marginals of 'place': outside its domain; got f"),
        ({"place": {"a": 1, "north": 1}}, DomainError, "got north"),
        ({"place": {"a": -1}}, ParameterError, "marginals of 'place': a negative share; got -1"),
        ({"place": {"a": 0, "b": 0}}, ParameterError, "all shares are zero"),
        ({"place": {"a": "many"}}, ParameterError, "a share is not a number; got many"),
        ({"place": {"a": float("nan")}}, ParameterError, "a share is not a number"),
        ({"place": {"a": None}}, ParameterError, "a share is not a number"),
        ({"place": {"a": True}}, ParameterError, "a share is not a number"),
        ({"place": {}}, UsageError, "marginals of 'place': no shares"),
        ({"place": "a"}, UsageError, "no shares"),
        ({"place": [["a", "b", 1]]}, UsageError, "ranges need numbers, dates or times"),
        ({"age": [[0, 10]]}, UsageError, "a range cannot be read"),
        ({"age": [[0, 10, 1], [10, 20, 1]]}, UsageError, "into each other; low <= high; both ends are included"),
        ({"age": [[20, 10, 1]]}, UsageError, "backwards"),
        ({"age": [[90, 100, 1]]}, DomainError, "got 100; allowed: 0..99"),
        ({"age": [["x", 100, 1]]}, UsageError, "marginals of 'age': not a value of type integer; got x"),
        ({"age": {"1.5": 1}}, UsageError, "not a value of type integer"),
        ({"age": {"1": 1, 1: 1}}, UsageError, "named twice"),
        ({"ill": {"true": 1, None: 1}}, UsageError, "a share for missing values"),
    ],
)  # fmt: skip
def test_marginals_that_do_not_fit_are_refused(marginals, kind, words):
    with pytest.raises(kind) as caught:
        made(TREE, marginals=marginals)
    assert words in str(caught.value)


def test_files_of_marginals(tmp_path):
    yaml, json = tmp_path / "known.yaml", tmp_path / "known.json"
    yaml.write_text("place: {a: 0.5, no: 1}\nage: [[0, 17, 0.2]]\n")
    json.write_text('{"place": {"a": 0.5, "no": 1}, "age": [[0, 17, 0.2]]}')
    assert load(yaml) == load(json) == {"place": {"a": "0.5", "no": "1"}, "age": [["0", "17", "0.2"]]}
    for text in ("", "- a\n", "just words", "{place: [", "a: &x 1\n"):
        yaml.write_text(text)
        with pytest.raises(ShoalError):
            load(yaml)
    yaml.write_bytes(b"\xff\xfe\x00")
    for path in (yaml, tmp_path / "none.yaml"):
        with pytest.raises(UsageError, match="marginals"):
            load(path)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [Pattern("a+"), Pattern("(a|b)c"), None])
def test_what_cannot_be_drawn_is_refused(domain):
    with pytest.raises(UsageError, match="attribute 'a': "):
        made(schema_of(column(domain, Type.TEXT)))


@pytest.mark.parametrize(
    "wrong", [{"rows": 0}, {"rows": 1.5}, {"rows": True}, {"skew": -1}, {"skew": float("nan")}, {"dependence": 2}]
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError, match="of a simulated table"):
        made(TREE, **wrong)
