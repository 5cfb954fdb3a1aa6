"""A plain sample: its rate against the definition by enumeration, and what becomes of rare values."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.generalize.scheme import Scheme
from shoal.anonymize.method.sample import LevelCounts, PlainSample
from shoal.chance.source import Source
from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.base import open_engine
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.plain_sample import failure_probability, fewest_rows, rate_on_grid
from shoal.guarantee.unit import Unit

AGES = hierarchy({"intervals": [10, 50]}, Type.INTEGER, Interval(0, 99))
MASKS = hierarchy({"mask": "right"}, Type.TEXT, Pattern("[0-9]{3}"))
SCHEMA = Schema(
    (
        Attribute("who", Role.IDENTIFIER, Type.TEXT),
        Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 99), AGES),
        Attribute("sex", Role.QUASI, Type.CATEGORY, Values(("f", "m", "x"))),
    )
).with_names("who")
ROW = Unit.row("replace_one")


def table(counts: dict[tuple[int, str | None], int], each: int = 1):
    """A table with so many rows of each value; every `each` rows are one person's."""
    rows = [value for value, times in counts.items() for _ in range(times)]
    frame = {
        "who": [f"p{place // each}" for place in range(len(rows))],
        "age": [age for age, _ in rows],
        "sex": [sex for _, sex in rows],
    }
    return open_engine("duckdb").scan(pa.table(frame), SCHEMA)


def method(epsilon="0.5", delta="0.01", unit=ROW, levels=None, **options) -> PlainSample:
    return PlainSample(Fraction(epsilon), Fraction(delta), Scheme(SCHEMA, levels or {}), unit, **options)


def counted(rows) -> Counter[tuple[object, ...]]:
    found = rows.collect(rows.columns)
    return Counter(zip(*(values.tolist() for values in found.values()), strict=True))


class MaskedSource:
    """A source whose row mask keeps the rows whose bit is set, and which remembers the rate that was asked for."""

    def __init__(self, bits: tuple[int, ...]) -> None:
        self.bits, self.rates = bits, []

    def row_mask(self, rate):
        self.rates.append(rate)
        return self

    def keep(self, start: int, count: int):
        return np.array([bool(bit) for bit in self.bits[start : start + count]])

    def words(self, start: int, count: int):
        return np.arange(start, start + count, dtype=np.uint64)


def is_private(counts: Counter, sample: Counter, epsilon: Fraction) -> bool:
    """CM06 Definition 2 for one row, from the definition: every row, every pair of values, one of them not in the table."""
    values = [*counts, ("none of these",)]
    for own in counts:
        base = counts.copy()
        base[own] -= 1
        chances = []
        for value in values:
            other = base.copy()
            other[value] += 1
            chances.append(np.prod([comb(other[each], sample[each]) for each in values], dtype=object))
        if max(chances) > (1 + epsilon) * min(chances):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counts", "epsilon", "delta"),
    [({(1, "f"): 4, (2, "m"): 3}, "4", "0.2"), ({(1, "f"): 7, (1, "m"): 1}, "3", "0.25")],
)
def test_of_all_samples_at_most_delta_break_the_promise_and_a_larger_rate_breaks_it(counts, epsilon, delta):
    people, chosen = table(counts), method(epsilon, delta)
    values = [value for value, times in counts.items() for _ in range(times)]
    whole, bad, total = Counter(values), [], len(values)
    for bits in (
        (0,) * total,
        (1, 0) * 4,
        (1,) * total,
    ):  # the sample is what the mask says, and its rate the one found
        chance = MaskedSource(bits)
        found = chosen.run(people, chance)
        assert found.rate == chance.rates[-1]
        assert counted(found.table) == Counter(value for value, bit in zip(values, bits, strict=False) if bit)
    rate = found.rate
    for bits in product((0, 1), repeat=total):
        sample = Counter(value for value, bit in zip(values, bits, strict=True) if bit)
        if not is_private(whole, sample, Fraction(epsilon)):
            bad.append(sum(bits))
    failed = sum(rate**kept * (1 - rate) ** (total - kept) for kept in bad)
    assert 0 < failed <= Fraction(delta)
    assert float(failed) == pytest.approx(failure_probability(whole, rate=rate, epsilon=epsilon), rel=1e-8)
    step = rate_on_grid(float(rate) * 1.11)  # at least the next rate of two digits: an impostor that rounds up
    assert sum(step**kept * (1 - step) ** (total - kept) for kept in bad) > Fraction(delta)


COMMON = {(5, "f"): 300, (25, "m"): 200, (61, "f"): 100}
RARE = {(7, "x"): 2, (62, "x"): 1}


def test_the_rate_is_that_of_the_counts_rounded_down():
    found = method().run(table(COMMON), Source.seeded(1))
    assert sorted(found.sizes.tolist()) == [100, 200, 300]
    assert found.rate == rate_on_grid(found.exact.rate) <= Fraction(found.exact.rate)
    assert found.published.rate < found.exact.rate
    assert set(counted(found.table)) <= set(COMMON)
    published = method(bound="published").run(table(COMMON), Source.seeded(1))
    assert published.rate == rate_on_grid(found.published.rate)


def test_levels_decide_what_a_value_is():
    found = method(levels={"age": 2}).run(table(COMMON), Source.seeded(1))
    assert sorted(found.sizes.tolist()) == [100, 200, 300]
    assert {label for label, _ in counted(found.table)} <= {"[0, 50)", "[50, 100)"}


def test_rare_values_hold_the_rate_down_and_the_custodian_sees_which():
    found = method().run(table(COMMON | RARE), Source.seeded(1))
    assert found.exact.rate < 0.01
    assert found.rare.values == ((("62", "x"), 1), (("7", "x"), 2))
    assert (len(found.rare), found.rare.rows, found.rare.total) == (2, 3, 5)
    assert fewest_rows("0.5") == 3 == found.rare.below
    assert {(each.name, each.level, each.rare) for each in found.coarser} == {("age", 1, 2)}


def test_rows_with_rare_values_are_dropped():
    found = method(rare="drop").run(table(COMMON | RARE), Source.seeded(1))
    plain = method().run(table(COMMON), Source.seeded(1))
    assert (found.rate, sorted(found.sizes.tolist())) == (plain.rate, sorted(plain.sizes.tolist()))
    assert set(counted(found.table)) <= set(COMMON)
    assert (found.taking_part, found.sampled_from) == (603, 600)


def test_more_values_are_called_rare_where_the_policy_says_so():
    found = method(rare="drop", rare_below=150).run(table(COMMON | RARE), Source.seeded(1))
    assert sorted(found.sizes.tolist()) == [200, 300]
    assert method(rare="drop", rare_below=2).below == 3


def test_rows_with_rare_values_take_the_place_of_common_ones():
    seen = Counter()
    for seed in range(3):
        found = method(rare="replace").run(table(COMMON | RARE), Source.seeded(seed))
        assert found.sampled_from == 603
        assert all(after >= before for after, before in zip(sorted(found.sizes), (100, 200, 300), strict=True))
        assert set(counted(found.table)) <= set(COMMON)
        seen[tuple(sorted(found.sizes.tolist()))] += 1
    assert len(seen) > 1  # by chance, not by a rule


def test_missing_values_are_values_and_are_replaced_too():
    people = table({(5, "f"): 300, (5, None): 200, (9, None): 1})
    found = method(rare="replace").run(people, Source.seeded(1))
    assert found.sampled_from == 501
    assert set(counted(found.table)) <= {(5, "f"), (5, None)}
    assert found.rare.values == ((("9", None), 1),)


def test_levels_are_raised_until_no_value_is_rare():
    found = method(rare="generalize").run(table(COMMON | {(7, "f"): 2, (62, "f"): 1}), Source.seeded(1))
    assert found.recoding.indices["age"] == 1
    assert sorted(found.sizes.tolist()) == [101, 200, 302]
    assert set(counted(found.table)) <= {("[0, 10)", "f"), ("[20, 30)", "m"), ("[60, 70)", "f")}
    untouched = method(rare="generalize").run(table(COMMON), Source.seeded(1))
    assert untouched.recoding.indices.get("age", 0) == 0


def test_values_are_counted_as_they_will_be_shown():
    """One count of the table gives the sizes at all levels; a missing value is one of its own, but not at the top."""
    age = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 99), AGES)
    schema = Schema((age, Attribute("zip", Role.QUASI, Type.TEXT, Pattern("[0-9]{3}"), MASKS)))
    ages = [5, 5, 61, None, None, 62, 5, 12, 12, None]
    rows = pa.table({"age": ages, "zip": ["123", "124", "123", None, "131", "131", None, "123", "999", "998"]})
    people = open_engine("duckdb").scan(rows, schema)
    known = LevelCounts.of(Scheme(schema, {}), people.count_by(["age", "zip"]))
    for step, place in product(range(len(AGES)), range(len(MASKS))):
        shown = Scheme(schema, {"age": step, "zip": place}).apply(people)
        sizes = shown.count_by(shown.columns).counts
        assert sorted(known.sizes({"age": step, "zip": place}).tolist()) == sorted(sizes.tolist())


def test_the_order_of_rows_plays_no_part():
    rows = COMMON | RARE
    other = dict(reversed(rows.items()))
    for rare in ("keep", "generalize"):
        mine, theirs = (
            method(rare=rare, epsilon="1", delta="0.2").run(table(each), Source.seeded(1)) for each in (rows, other)
        )
        assert (mine.rate, mine.rare, mine.recoding.indices) == (theirs.rate, theirs.rare, theirs.recoding.indices)


def test_c_is_the_most_rows_of_a_unit():
    unit = Unit.person("who", 2, "replace_one")
    found = method(unit=unit, rare="drop").run(table(COMMON | RARE, each=4), Source.seeded(1))
    assert method(unit=unit).c == 2
    assert found.taking_part < 603 / 2 + 4
    assert found.rare.below == fewest_rows("0.5", 2) == 7
    assert found.exact.c == 2


@pytest.mark.parametrize(
    ("options", "rows", "words"),
    [
        ({"rare": "refuse"}, COMMON | RARE, "2 values of the table are rare: with fewer than 3 rows each.*2 of 5 values, with 3"),
        ({"rare": "refuse"}, COMMON | {(7, "f"): 2}, "1 value of the table is rare.*level 1 of 'age' leaves no rare value"),
        ({"delta": "1/10000"}, COMMON | RARE, "no sample can be published.*2 values so rare"),
        ({"rare": "drop"}, RARE, "every value of the table is rare"),
        ({"rare": "replace"}, RARE, "every value of the table is rare"),
        ({"rare": "generalize"}, {(7, "x"): 1, (62, "f"): 1}, "even at the coarsest levels"),
        ({"rate": Fraction(1, 4)}, COMMON, "the declared rate is above the one that is safe.*at most 0.2"),
        ({}, {}, "the table has no rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_sampled_is_refused_without_a_value(options, rows, words):
    with pytest.raises(InfeasibleError) as error:
        method(**options).run(table(rows), Source.seeded(1))
    assert re.search(words, str(error.value))
    assert not any(str(age) in re.findall(r"\b\d+\b", error.value.wrong) for age, _ in rows if age > 60)


def test_a_declared_rate_that_is_safe_is_used_as_it_is():
    found = method(rate=Fraction("0.123")).run(table(COMMON), Source.seeded(1))
    assert found.rate == Fraction("0.123")
    assert found.exact.rate > 0.123


def test_what_no_table_allows_is_refused_before_one_is_read():
    with pytest.raises(InfeasibleError, match=r"no table has values so common.*at most 0\.3333"):
        method(rate=Fraction("0.334"))
    with pytest.raises(PreconditionError, match=r"sample-exact.*rows that take another value"):
        method(unit=Unit.row("add_remove"))
    with pytest.raises(PreconditionError, match="exactly the published attributes"):
        method().check(Schema((*SCHEMA.attributes, Attribute("more", Role.OTHER, Type.TEXT))))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "the rate was found on it and is taken"),
        ({"rate": Fraction("0.01")}, "that the declared rate is safe was found"),
        ({"rare": "drop"}, "the rate and which values are rare were found"),
        ({"rare": "replace"}, "which values are rare and what took their place were"),
        ({"rare": "generalize"}, "the rate and the levels of the labels were"),
    ],
)
def test_the_claim_says_what_it_takes_as_given(options, words):
    (claim,) = method(**options).claims()
    assert claim.status.value == "proved with condition"
    assert words in claim.words()
    assert not claim.guarantee.composes
