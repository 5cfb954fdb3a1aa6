"""Every measure agrees with its definition, on tables that hypothesis makes up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.assess.disclosure import lenient_matching as lenient
from shoal.assess.disclosure.measures import observe
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, TopLevel, ValueLevel
from shoal.data.schema import Type
from shoal.errors import InfeasibleError
from tests.assess.disclosure import oracle
from tests.assess.disclosure.tables import counted, schema, secret

LEAVES = ("u", "v", "w", "x", "y")
TREE = Hierarchy(
    "groups",
    Values(LEAVES),
    (
        ValueLevel(),
        GroupLevel(LEAVES, (0, 0, 1, 1, 2), ("uv", "wx", "y")),
        GroupLevel(LEAVES, (0, 0, 0, 0, 1), ("uvwx", "y")),
        TopLevel(),
    ),
    (0.0, 0.3, 0.6, 1.0),
    {},
)
PATHS = {
    "u": ("uv", "uvwx"),
    "v": ("uv", "uvwx"),
    "w": ("wx", "uvwx"),
    "x": ("wx", "uvwx"),
    "y": ("y", "y"),
    None: (None, None),
}
LINE = Hierarchy(
    "intervals",
    Interval(0, 9),
    (ValueLevel(), IntervalLevel((3, 6), ("low", "mid", "high")), TopLevel()),
    (0.0, 0.3, 1.0),
    {},
)

quasi = st.sampled_from(["a", "b", None, "*", "(missing)"])
letters = st.sampled_from([*LEAVES, None])
numbers = st.one_of(st.integers(0, 9), st.none())
tables = st.integers(1, 3).flatmap(
    lambda width: st.tuples(
        st.just(width), st.lists(st.tuples(*[quasi] * width, letters, numbers), min_size=1, max_size=25)
    )
)


def third(number):
    return None if number is None else "low" if number < 3 else "mid" if number < 6 else "high"


@pytest.mark.slow
@given(tables, st.booleans(), st.sampled_from([0.5, 1.0, 1.5, 4.0]))
def test_all_measures(table, is_lenient, c):
    width, rows = table
    names = [f"q{i}" for i in range(width)] + ["s", "n"]
    attributes = (secret(domain=Values(LEAVES), hierarchy=TREE), secret("n", Type.INTEGER, hierarchy=LINE))
    found = observe(counted(rows, names), schema(width, *attributes), lenient=is_lenient, recursive_c=c)
    groups = oracle.groups(rows, width, is_lenient)
    sizes = [len(crowd) for _, crowd in groups]
    assert (found.rows, found.classes, found.k) == (len(rows), len(groups), min(sizes))
    assert found.uniques == sum(len(own) for own, crowd in groups if len(crowd) == 1)
    assert sum(part.rows for part in found.sizes.bins) == len(rows)
    paths = (lambda v: (v, *PATHS[v], "root"), lambda v: (v, third(v), "root"))
    for at, (one, path) in enumerate(zip(found.confidential, paths, strict=True)):
        q = oracle.shares([row[width + at] for row in rows])
        crowds = [[row[width + at] for row in crowd] for _, crowd in groups]
        p = [oracle.shares(cells) for cells in crowds]
        close = lambda value: pytest.approx(value, abs=1e-12)  # noqa: E731
        got = one.measures
        assert got.l == min(map(oracle.distinct, p))
        assert got.entropy_l == close(min(map(oracle.entropy, p)))
        assert got.recursive_l == min(oracle.recursive(cells, c) for cells in crowds)
        assert got.alpha == close(max(max(share.values()) for share in p))
        assert got.t_equal == close(max(oracle.equal(share, q) for share in p))
        assert got.ratio == close(max(oracle.ratio(share, q) for share in p))
        assert got.basic_beta == close(max(oracle.basic_beta(share, q) for share in p))
        assert got.enhanced_beta == close(max(oracle.enhanced_beta(share, q) for share in p))
        assert got.delta_disclosure == close(max(oracle.delta_disclosure(share, q) for share in p))
        assert got.delta_disclosure_present == close(
            max(oracle.delta_disclosure(share, q, absent=False) for share in p)
        )
        if set(q) != {None}:
            assert got.t_hierarchical == close(max(oracle.hierarchical(share, q, path) for share in p))
        if one.name == "n" and one.distance == "ordered":
            assert got.t == got.t_ordered == close(max(oracle.ordered(share, q) for share in p))
        single = [own for (own, _), share in zip(groups, p, strict=True) if len(share) == 1]
        assert (one.homogeneous_classes, one.homogeneous_rows) == (len(single), sum(map(len, single)))


@pytest.mark.slow
@given(tables)
def test_blocks_of_crowds_do_not_matter(table):
    width, rows = table
    counts, meaning = counted(rows, [f"q{i}" for i in range(width)] + ["s", "n"]), schema(width, secret())
    whole = observe(counts, meaning, lenient=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lenient, "BLOCK", 1)
        assert observe(counts, meaning, lenient=True) == whole


def test_too_many_patterns_are_refused():
    rows = [(*("*" if i >> bit & 1 else "a" for bit in range(9)), "x") for i in range(512)]
    with pytest.raises(InfeasibleError, match="512 patterns"):
        observe(counted(rows, [f"q{i}" for i in range(9)] + ["s"]), schema(9, secret()), lenient=True)


def test_lenient_never_flatters_downwards():
    rows = [("a", "x"), (None, "y"), ("b", "x")]
    counts, meaning = counted(rows, ["q0", "s"]), schema(1, secret())
    strict, kind = observe(counts, meaning), observe(counts, meaning, lenient=True)
    assert strict.k <= kind.k
    assert math.isfinite(kind.t)
