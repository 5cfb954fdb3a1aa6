"""Noisy counts on real tables: the counts are right, the noise is the setting's, and neighbours are as near as promised."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.measure import bins, count, once, rounds, tables
from shoal.anonymize.measure.once import choose_tables
from shoal.anonymize.method import noisy_counts
from shoal.anonymize.method.noisy_counts import NoisyCounts
from shoal.chance.source import Source
from shoal.data.cells import cells_of
from shoal.engine.base import Table, open_engine
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.noise import ExponentialDP
from shoal.guarantee.noisy_counts import CountsSetting, solve_counts
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from tests.anonymize.measure.scripted import Recorded, Script
from tests.engine.oracle import engine_named

ROW, REPLACED = Unit.row("add_remove"), Unit.row("replace_one")
HEAD = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
ATTRIBUTES = {
    "a": {"role": "quasi", "type": "category", "domain": ["x", "y"], "missing": "refuse"},
    "b": {"role": "quasi", "type": "category", "domain": ["p", "q", "r"]},
    "c": {"role": "quasi", "type": "integer", "domain": [0, 9], "hierarchy": {"intervals": [5]}},
}
SCHEMA = Policy.of({**HEAD, "attributes": ATTRIBUTES}).schema
CELLS = tuple(cells_of(each) for each in SCHEMA.published)
NAMES = tuple(each.name for each in CELLS)
PAIRS = tuple(combinations(NAMES, 2))
Row = tuple[str, str | None, int | None]


@lru_cache
def opened(rows: tuple[Row, ...], engine: str = "duckdb") -> Table:
    """A real table with these rows."""
    types = (pa.string(), pa.string(), pa.int64())
    columns = {
        name: pa.array([row[j] for row in rows], kind) for j, (name, kind) in enumerate(zip(NAMES, types, strict=True))
    }
    return engine_named(engine).scan(pa.table(columns), SCHEMA)


def people(count: int, seed: int = 3) -> tuple[Row, ...]:
    chance = np.random.default_rng(seed)
    made: list[Row] = []
    for _ in range(count):
        a = "xy"[int(chance.random() < 0.3)]
        b = (*"pqr", None)[int(chance.choice(4, p=[0.5, 0.3, 0.15, 0.05] if a == "x" else [0.1, 0.1, 0.7, 0.1]))]
        c = None if chance.random() < 0.03 else int(chance.integers(0, 5 if b == "p" else 10))
        made.append((a, b, c))
    return tuple(made)


@lru_cache
def setting(kind: str, unit: Unit = ROW, epsilon: object = 1, **more: object) -> CountsSetting:
    own: dict[str, object] = {"tables": 3, "singles": 3} if kind == "fixed" else {"singles": 3, "candidates": 3}
    own |= {"once": {"tables": (1, 2, 3)}, "rounds": {"tables": 2}}.get(kind, {})
    return solve_counts(epsilon, "1e-6", unit=unit, kind=kind, **{**own, **more})  # type: ignore[arg-type]


# --- counting ------------------------------------------------------------------------------------------------------------


def test_singles_are_counted_in_cells_and_pairs_in_bins():
    rows = people(60)
    found = NoisyCounts(setting("fixed"), CELLS, PAIRS).measure(opened(rows), Script())  # type: ignore[arg-type]
    assert [each.attributes for each in found.tables] == [("a",), ("b",), ("c",), *PAIRS]
    cell = {"a": {"x": 0, "y": 1}, "b": {"p": 0, "q": 1, "r": 2, None: 3}, "c": {**{n: n for n in range(10)}, None: 10}}
    for table in found.tables:
        wanted = np.zeros(table.values.shape, dtype=np.int64)
        for row, times in Counter(rows).items():
            at = [cell[name][row[NAMES.index(name)]] for name in table.attributes]
            wanted[tuple(own.of_cell[i] for own, i in zip(table.bins, at, strict=True))] += times
        assert table.values.tolist() == wanted.tolist()
    assert [len(each) for each in found.bins] != [len(each) for each in CELLS]
    assert found.tables[2].labels == (CELLS[2].labels,)
    assert found.rules()["c"]["labels"] == list(found.bins[2].labels)
    assert found.tables[2].rules()["c"]["labels"] == list(CELLS[2].labels)


def test_declared_cells_are_counted_as_they_are():
    method = NoisyCounts(setting("fixed", singles=0), CELLS, PAIRS, merged=False)
    found = method.measure(opened(people(300)), Script())  # type: ignore[arg-type]
    assert [each.attributes for each in found.tables] == list(PAIRS)
    assert [each.values.shape for each in found.tables] == [(2, 4), (2, 11), (4, 11)]
    assert all(each.values.sum() == 300 for each in found.tables)


@pytest.mark.slow
def test_the_noise_of_every_table_is_the_settings():
    own, rows = setting("fixed", singles=0, epsilon="0.5"), people(300)
    method = NoisyCounts(own, CELLS, PAIRS, merged=False)
    exact = method.measure(opened(rows), Script())  # type: ignore[arg-type]
    table, squares, count = opened(rows), 0.0, 0
    for seed in range(20):
        noisy = method.measure(table, Source.seeded(seed))
        for with_noise, without in zip(noisy.tables, exact.tables, strict=True):
            assert with_noise.sigma == own.tables[0][1]
            squares += float(((with_noise.values - without.values) ** 2).sum())
            count += with_noise.cells
    assert squares / count / float(own.tables[0][1]) ** 2 == pytest.approx(1, abs=5 * math.sqrt(2 / count))


def test_at_most_the_promised_rows_of_a_person_are_counted():
    attributes = {"who": {"role": "identifier", "type": "text"}, **ATTRIBUTES}
    policy = {**HEAD, "unit": {"column": "who", "max_rows": 2}, "attributes": attributes}
    schema = Policy.of(policy).schema.with_names("who")
    rows = people(40)
    columns = {"who": [f"p{i % 4}" for i in range(40)], **{n: [r[j] for r in rows] for j, n in enumerate(NAMES)}}
    table = open_engine().scan(pa.table(columns), schema)
    unit = Unit.person("who", 2, "add_remove")
    found = NoisyCounts(setting("fixed", unit), CELLS, PAIRS).measure(table, Script())  # type: ignore[arg-type]
    assert {int(each.values.sum()) for each in found.tables} == {8}


# --- premises ------------------------------------------------------------------------------------------------------------


def test_a_setting_for_another_number_of_steps_is_refused():
    with pytest.raises(PreconditionError, match="number of attributes"):
        NoisyCounts(setting("fixed", singles=2), CELLS, PAIRS)
    with pytest.raises(PreconditionError, match="number of groups"):
        NoisyCounts(setting("fixed", tables=4), CELLS, PAIRS)
    with pytest.raises(PreconditionError, match="number of groups"):
        NoisyCounts(setting("once", candidates=4), CELLS, PAIRS)
    with pytest.raises(PreconditionError, match="number of attributes"):
        NoisyCounts(setting("rounds", singles=0), CELLS, PAIRS)
    with pytest.raises(ParameterError, match="more tables"):
        NoisyCounts(setting("rounds", tables=4), CELLS, PAIRS)
    with pytest.raises(ParameterError, match="not made of the counted attributes"):
        NoisyCounts(setting("fixed"), CELLS, (("a", "b"), ("a", "c"), ("a", "d")))


def test_attributes_are_counted_by_themselves_beside_declared_cells():
    own = setting("fixed")
    found = NoisyCounts(own, CELLS, PAIRS, merged=False).measure(opened(people(300)), Script())  # type: ignore[arg-type]
    assert [each.attributes for each in found.tables] == [*((name,) for name in NAMES), *PAIRS]
    assert [each.sigma for each in found.tables] == [own.single_sigma] * 3 + [own.tables[0][1]] * 3
    assert {int(each.values.sum()) for each in found.tables} == {300}
    with pytest.raises(ParameterError, match="by itself twice"):
        NoisyCounts(own, CELLS, ((NAMES[0],), *PAIRS[1:]), merged=False)


def test_groups_before_the_rounds_are_those_of_the_setting(monkeypatch):
    monkeypatch.setattr(noisy_counts, "ModelFit", Independent)
    own = setting("rounds", singles=0, first=3, candidates=1, tables=1)
    method = NoisyCounts(own, CELLS, (NAMES,), merged=False, first=PAIRS)
    found = method.measure(opened(people(300)), Script(choices=(0,)))  # type: ignore[arg-type]
    assert [each.attributes for each in found.tables] == [*PAIRS, NAMES]
    assert [each.sigma for each in found.tables] == [own.first[1]] * 3 + [own.tables[0][1]]
    assert {int(each.values.sum()) for each in found.tables} == {300}
    with pytest.raises(PreconditionError, match="before the rounds"):
        NoisyCounts(own, CELLS, (NAMES,), merged=False, first=(*PAIRS[:2], PAIRS[0]))
    with pytest.raises(PreconditionError, match="before the rounds"):
        NoisyCounts(setting("rounds"), CELLS, PAIRS, first=PAIRS[:1])
    with pytest.raises(PreconditionError, match="number of attributes"):
        NoisyCounts(replace(own, singles=3), CELLS, (NAMES,), merged=False, first=PAIRS)


def test_of_many_candidates_those_that_depend_in_pairs_are_scored():
    def expected(group):
        return np.array([[9.0, 1.0], [1.0, 9.0]]) if group == ("a", "c") else np.full((2, 2), 5.0)

    groups = [("a", "b", "d"), ("a", "b", "c"), ("b", "c", "d"), ("a", "c", "d")]
    assert rounds.most_dependent(groups, expected, 4) == groups
    assert rounds.most_dependent(groups, expected, 2) == [("a", "b", "c"), ("a", "c", "d")]


def test_a_table_with_too_many_declared_cells_is_refused():
    names = tuple(f"n{i}" for i in range(3))
    wide = {name: {"role": "quasi", "type": "integer", "domain": [0, 999]} for name in names}
    cells = tuple(cells_of(each) for each in Policy.of({**HEAD, "attributes": wide}).schema.published)
    own = setting("fixed", tables=1, singles=0)
    with pytest.raises(ParameterError, match="too many declared cells"):
        NoisyCounts(own, cells, (names,), merged=False)
    NoisyCounts(setting("fixed", tables=1), cells, (names,))


def test_only_measuring_is_given_a_table():
    """By type: whatever else takes a table, or an object that counts one exactly, is listed here."""
    found = set()
    for module in (bins, count, once, rounds, tables, noisy_counts):
        for name, thing in vars(module).items():
            inside = vars(thing).items() if inspect.isclass(thing) else [(name, thing)]
            for inner, function in inside:
                called = getattr(function, "__func__", function)
                if inspect.isfunction(called) and called.__module__ == module.__name__:
                    taken = [str(each) for key, each in called.__annotations__.items() if key != "return"]
                    found |= {(f"{name}.{inner}", each) for each in taken if each in ("Table", "ExactTables")}
    assert found == {
        ("ExactTables.__init__", "Table"),
        ("NoisyCounts.measure", "Table"),
        ("NoisyCounts._choose_once", "ExactTables"),
        ("NoisyCounts._measure_first", "ExactTables"),
        ("NoisyCounts._measure_in_rounds", "ExactTables"),
        ("measure_in_rounds.measure_in_rounds", "ExactTables"),
    }


# --- neighbours: what is published is explained by exact numbers that are as near as the setting promises -----------------


class Independent:
    """A model that knows the total alone: every tuple of bins is as likely as any other."""

    def __init__(self, _: object, own: dict[str, bins.AttributeBins], __: object) -> None:
        self.own = own

    def __call__(self, published: list[tables.NoisyTable]):
        total = tables.estimate_total(published)

        def expected(group):
            shape = tuple(len(self.own[name]) for name in group)
            return np.full(shape, total / math.prod(shape))

        return expected


ROWS = people(60)
OTHERS: list[Row] = [("x", None, None), ("y", "p", 9), ("x", "r", 0), ("y", "q", 5)]
NEIGHBOURS = {
    ROW: [*((*ROWS, row) for row in OTHERS), *(ROWS[:i] + ROWS[i + 1 :] for i in range(0, 60, 15))],
    REPLACED: [(*ROWS[1:], row) for row in OTHERS],
}


def transcripts(method: NoisyCounts, choices: tuple[int, ...] = ()) -> list[tuple[Script, Script]]:
    """What was noted for a table and for each of its neighbours, when both publish the same."""
    recorded = Recorded()
    first = Script(recorded, choices)
    published = method.measure(opened(ROWS, "oracle"), first)  # type: ignore[arg-type]
    found = []
    for rows in NEIGHBOURS[method.setting.unit]:
        second = Script(recorded.again(), choices)
        again = method.measure(opened(rows, "oracle"), second)  # type: ignore[arg-type]
        assert [each.values.tolist() for each in again.tables] == [each.values.tolist() for each in published.tables]
        assert [each.labels for each in again.tables] == [each.labels for each in published.tables]
        assert again.scores == published.scores
        found.append((first, second))
    return found


def precision(first: Script, second: Script) -> dict[str, float]:
    """The sum of squared distances over squared sigmas, for each purpose of noise: twice its rho."""
    found: dict[str, float] = {}
    for (purpose, sigma, one), (_, _, other) in zip(first.noted, second.noted, strict=True):
        found[purpose] = found.get(purpose, 0.0) + float(((one - other) ** 2).sum()) / float(sigma) ** 2
    return found


def promised(own: CountsSetting) -> dict[str, float]:
    """The same as the parts of the setting account for it."""
    square = 2 if own.unit.neighbours == "replace_one" else 1
    allowed = {
        "singles": square * own.singles / float(own.single_sigma or 1) ** 2,
        "tables": max(square * number / float(sigma) ** 2 for number, sigma in own.tables),
    }
    if own.first is not None:
        allowed["first"] = square * own.first[0] / float(own.first[1]) ** 2
    return allowed | ({"scores": own.candidates / float(own.score_sigma) ** 2} if own.score_sigma else {})


def log_chances(scores: np.ndarray, factor: Fraction) -> np.ndarray:
    weights = scores * float(factor)
    return weights - np.logaddexp.reduce(weights)


def excess(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """The delta at epsilon between two laws of a choice, by enumeration of what can be drawn."""
    return float(np.maximum(np.exp(one) - math.exp(epsilon) * np.exp(other), 0).sum())


@pytest.mark.slow
@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize("kind", ["fixed", "once", "rounds"])
def test_neighbours_publish_the_same_from_exact_numbers_as_near_as_promised(kind, unit, monkeypatch):
    monkeypatch.setattr(noisy_counts, "ModelFit", Independent)
    own = setting(kind, unit)
    for first, second in transcripts(NoisyCounts(own, CELLS, PAIRS), (1, 0)):
        used, allowed = precision(first, second), promised(own)
        assert all(used[purpose] <= allowed[purpose] * (1 + 1e-12) for purpose in used)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=["added", "replaced"])
def test_neighbours_are_as_near_where_named_tables_come_before_the_rounds(unit, monkeypatch):
    monkeypatch.setattr(noisy_counts, "ModelFit", Independent)
    own = setting("rounds", unit, first=1, candidates=3, tables=2)
    method = NoisyCounts(own, CELLS, (*PAIRS[1:], NAMES), first=PAIRS[:1])
    for first, second in transcripts(method, (1, 0)):
        used, allowed = precision(first, second), promised(method.setting)
        assert all(used[purpose] <= allowed[purpose] * (1 + 1e-12) for purpose in used)
        assert used["first"] > 0


@pytest.mark.slow
def test_scores_that_a_record_moves_by_two_are_noticed(monkeypatch):
    monkeypatch.setattr(noisy_counts, "distance", lambda *given: 2 * once.distance(*given))
    own = setting("once")
    pairs = transcripts(NoisyCounts(own, CELLS, PAIRS))
    assert max(precision(*pair)["scores"] for pair in pairs) > promised(own)["scores"]


def laws(own: CountsSetting) -> list[tuple[np.ndarray, np.ndarray]]:
    """The law of every choice on every path through the rounds, for a table and for its neighbours."""
    found = []
    for choices in product(range(3), range(2)):
        for first, second in transcripts(NoisyCounts(own, CELLS, PAIRS), choices):
            found += [
                (log_chances(*one), log_chances(*other)) for one, other in zip(first.drawn, second.drawn, strict=True)
            ]
    return found


def keeps(own: CountsSetting, pairs: list[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Whether the laws of a choice are as near as the exponential mechanism promises, at every epsilon and in range."""
    epsilon = float(own.choice_epsilon or 0)
    part = ExponentialDP(own.choice_epsilon or 0)
    grid = [epsilon * share / 8 for share in range(9)]
    ranges = [float(np.ptp(one - other)) for one, other in pairs]
    deltas = [
        excess(*way, at) <= float(part.delta_at(at)) + 1e-12
        for one, other in pairs
        for way in ((one, other), (other, one))
        for at in grid
    ]
    return max(ranges) <= epsilon + 1e-12 and all(deltas)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=["added", "replaced"])
def test_the_law_of_each_choice_keeps_its_promise_on_every_path(unit, monkeypatch):
    monkeypatch.setattr(noisy_counts, "ModelFit", Independent)
    own = replace(setting("rounds", unit), choice_epsilon=Fraction(1))
    pairs = laws(own)
    assert keeps(own, pairs)
    assert max(float(np.ptp(one - other)) for one, other in pairs) > float(own.choice_epsilon or 0) / 4


@pytest.mark.slow
def test_a_score_of_sensitivity_two_treated_as_one_breaks_the_promise(monkeypatch):
    monkeypatch.setattr(noisy_counts, "ModelFit", Independent)
    monkeypatch.setattr(rounds, "gain", lambda far, *more: once.gain(2 * far, *more))
    own = replace(setting("rounds"), choice_epsilon=Fraction(1))
    assert not keeps(own, laws(own))


# --- what published numbers decide ----------------------------------------------------------------------------------------


def test_tables_are_chosen_from_published_scores_alone():
    possible = ((1, Fraction(10)), (2, Fraction(20)), (3, Fraction(40)))
    assert choose_tables([5, 900, 400], [10, 10, 10], possible).groups == (1, 2)
    assert choose_tables([5, 900, -400], [10, 10, 10], possible).groups == (1,)
    assert choose_tables([800, 900, 700], [10, 10, 10], possible).groups == (0, 1, 2)
    assert choose_tables([500, 900, 700], [10, 1000, 10], possible).groups == (0, 2)
    assert choose_tables([500, 900, 700], [10, 1000, 10], possible).sigma == 20


@given(st.integers(0, 10**7), st.fractions(Fraction(3, 10), 10**5), st.integers(1, 4_000_000))
def test_a_gain_rises_by_at_most_one_where_the_distance_does(far, sigma, entries):
    less, more = (math.floor(once.gain(each, sigma, entries)) for each in (far, far + 1))
    assert 0 <= less <= more <= less + 1
    assert less <= far


@given(
    st.lists(st.integers(0, 9), min_size=6, max_size=6),
    st.integers(0, 5),
    st.lists(st.floats(0, 9), min_size=6, max_size=6),
)
def test_a_record_moves_a_distance_by_at_most_one(counts, at, expected):
    found = np.array(counts).reshape(2, 3)
    other = found + (np.arange(6) == at).reshape(2, 3)
    means = np.array(expected).reshape(2, 3)
    assert abs(once.distance(found, means) - once.distance(other, means)) <= 1


@pytest.mark.parametrize("mean", [math.nan, math.inf, -math.inf, 1e19, -1e300, 2.0**63])
def test_a_record_moves_a_distance_by_at_most_one_whatever_is_expected(mean):
    """An expected count that 64 bits do not hold must not turn one record into a distance of 2^63."""
    far = [once.distance(np.array([count, 3]), np.array([mean, 3.0])) for count in range(4)]
    assert all(abs(less - more) <= 1 for less, more in pairwise(far))
    assert 0 <= min(far) <= max(far) <= once.FARTHEST


def test_a_distance_ends_where_the_rounding_of_a_gain_is_covered():
    """The bound on rounding: six units of the last place on each side of a step, against what the factor takes away."""
    assert 2 * 6 * 2.0**-53 * once.FARTHEST < 1 - once.KEPT
    assert once.distance(np.array([10**12]), np.array([0.0])) == once.FARTHEST


def test_the_scores_of_all_candidates_are_published():
    found = NoisyCounts(setting("once"), CELLS, PAIRS).measure(opened(people(2000)), Script())  # type: ignore[arg-type]
    assert [each.attributes for each in found.scores] == list(PAIRS)
    assert [each.attributes for each in found.scores if each.chosen] == [each.attributes for each in found.tables[3:]]
    by = {each.attributes: each.score for each in found.scores}
    assert by["a", "b"] > by["a", "c"]


@pytest.mark.slow
def test_rounds_measure_what_the_model_fits_worst():
    found = NoisyCounts(setting("rounds", epsilon=5), CELLS, PAIRS).measure(opened(people(3000)), Source.seeded(5))
    assert len(found.tables) == 5
    assert ("a", "b") in {each.attributes for each in found.tables}
