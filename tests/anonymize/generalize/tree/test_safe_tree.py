"""The safe tree: what it hears is what it pays for, and its boxes divide the domain."""

import itertools
import math
import tracemalloc
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.generalize.tree import model
from shoal.anonymize.generalize.tree import safe_tree as growing
from shoal.anonymize.generalize.tree.boxes import AT_ONCE, BoxRecoding
from shoal.anonymize.generalize.tree.safe_tree import SafeTree, TreeParameters
from shoal.chance.source import Source
from shoal.compilation import compile_kernel
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.compose import MeasurementBudget, epsilon_of_measurements, measurement_budgets
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.policy.policy import Policy
from shoal.publish.verify.standalone import divides
from tests.engine.oracle import engine_named

HEAD = """
version: 1
dataset: d
unit: row
neighbours: add_remove
attributes:
"""
TWO = HEAD + "  v: {role: quasi, type: category, domain: [a, b], missing: refuse}\n"
WIDE = (
    HEAD
    + """
  age: {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [5, 25]}}
  sex: {role: quasi, type: category, domain: [f, m], missing: refuse}
  kind: {role: confidential, type: category, domain: [p, q, r, s, t, u]}
"""
)


def schema(text):
    return Policy.parse(text).schema


def opened(columns, text, name="duckdb"):
    return engine_named(name).scan(pa.table(columns), schema(text))


def people(rows, seed=1):
    chance = np.random.default_rng(seed)
    ages = np.clip(chance.normal(40, 15, rows), 0, 99).astype(int)
    kind = np.array(list("pqrstu"))[np.minimum(chance.geometric(0.5, rows) - 1, 5)]
    missing = chance.random(rows) < 0.05
    return {
        "age": pa.array(ages.tolist(), mask=missing),
        "sex": pa.array(np.where(ages % 3 == 0, "f", "m").tolist()),
        "kind": pa.array(kind.tolist()),
    }


def grown(columns, text=WIDE, *, seed=1, name="duckdb", paid="0.5", k=10, beta="0.5", **options):
    plan = SafeTree(schema(text), Fraction(paid), k, Fraction(beta), **options)
    return plan.settle(opened(columns, text, name), Source.seeded(seed))


# --- the price ----------------------------------------------------------------------------------------------------


def test_surveys_add_up_to_what_is_paid():
    plan = SafeTree(schema(WIDE), Fraction("0.3"), 10, Fraction(1, 2))
    assert plan.epsilon == Fraction("0.3") == epsilon_of_measurements(plan.measurements)
    person = SafeTree(schema(WIDE), Fraction("0.3"), 10, Fraction(1, 2), steps=4)
    assert person.epsilon == Fraction("0.3")
    assert epsilon_of_measurements(person.measurements) == Fraction("0.075")
    assert all(a.count == 4 * b.count for a, b in zip(plan.measurements, person.measurements, strict=True))


def test_a_survey_without_noise_or_with_too_large_shares_is_refused():
    with pytest.raises(PreconditionError, match="measured-tree"):
        MeasurementBudget(Fraction(0), Fraction(1), 2)
    with pytest.raises(PreconditionError, match="measured-tree"):
        MeasurementBudget(Fraction(1), Fraction(-1), 2)
    with pytest.raises(PreconditionError, match="measured-tree"):
        measurement_budgets(Fraction(1), 2, (Fraction(2, 3), Fraction(1, 2)), Fraction(1, 4))
    for parts in ((Fraction(1, 4),), (Fraction(1, 4), Fraction(1)), (Fraction(0), Fraction(1, 4))):
        with pytest.raises(PreconditionError, match="counts and its histograms"):
            measurement_budgets(Fraction(1), 2, (Fraction(2, 3), Fraction(1, 3)), parts)


def test_counts_may_take_another_part_of_each_survey():
    first, second = measurement_budgets(
        Fraction(1), 2, (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 20), Fraction(3, 4))
    )
    assert (first.count, second.count) == (Fraction(1, 30), Fraction(1, 4))
    assert epsilon_of_measurements((first, second)) == 1
    assert measurement_budgets(Fraction(1), 2, (Fraction(1, 2),) * 2, Fraction(1, 4)) == measurement_budgets(
        Fraction(1), 2, (Fraction(1, 2),) * 2, (Fraction(1, 4),) * 2
    )


class Recorder:
    """Stands for the noise: writes down what is asked, and answers from a script where there is one."""

    def __init__(self, script=None):
        self.truths, self.answers, self.prices, self.script = [], [], [], script

    def __call__(self, counts, epsilon, source):
        answer = (
            counts + source.discrete_laplace(1 / epsilon, len(counts)) if self.script is None else self.script.pop(0)
        )
        self.truths.append(np.array(counts))
        self.answers.append(np.array(answer))
        self.prices.append(epsilon)
        return answer


@pytest.mark.slow
@pytest.mark.parametrize("target", [None, "kind", "sex"])
@pytest.mark.parametrize("extra", [(3, "f", "u"), (None, "m", "p"), (99, "m", "q")])
def test_the_same_answers_give_the_same_tree_and_one_record_moves_each_survey_by_its_price(monkeypatch, extra, target):
    """The proof, run: given equal answers everything is equal, and the truths differ where the survey is charged."""
    columns = people(2000)
    more = {
        name: pa.concat_arrays([own, pa.array([value], own.type)])
        for (name, own), value in zip(columns.items(), extra, strict=True)
    }
    parts = (Fraction(1, 20), Fraction(1, 4), Fraction(3, 4))
    parameters = TreeParameters(
        measurement_shares=(Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), count_shares=parts, frontier_factor=5
    )
    first = Recorder()
    monkeypatch.setattr(growing, "add_noise", first)
    one = grown(columns, parameters=parameters, target=target)
    second = Recorder([*first.answers])
    monkeypatch.setattr(growing, "add_noise", second)
    other = grown(more, parameters=parameters, target=target)
    assert one.listing() == other.listing()
    plan = SafeTree(schema(WIDE), Fraction("0.5"), 10, Fraction(1, 2), parameters=parameters)
    spent = Fraction(0)
    for before, after, price in zip(first.truths, second.truths, first.prices, strict=True):
        moved = after - before
        assert np.abs(moved).sum() == 1  # one box, or one cell of one attribute
        assert moved.sum() == 1
        spent += price
    assert spent == plan.epsilon


def noise(epsilon, reach):
    """The law of the noise on -reach..reach, and the mass beyond."""
    ratio = math.exp(-epsilon)
    law = {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-reach, reach + 1)}
    return law, 1 - sum(law.values())


def laws(values, monkeypatch, k, beta, paid, reach):
    """The exact law of (boxes, published table) up to the noise that is cut off, by running every noise and sample."""
    parameters = TreeParameters(
        measurement_shares=(Fraction(1),), expected_count_error=0.01, count_shares=(Fraction(1, 2),)
    )
    table = opened({"v": pa.array(values, pa.string())}, TWO, "oracle")
    plan = SafeTree(schema(TWO), Fraction(paid), k, Fraction(beta), parameters=parameters)
    (measurement,) = plan.measurements
    count, _ = noise(float(measurement.count), reach)
    cell, _ = noise(float(measurement.histogram), reach)
    trees, listed = defaultdict(float), {}
    for draws in itertools.product(range(-reach, reach + 1), repeat=3):
        script = [
            np.array([len(values) + draws[0]]),
            np.array([values.count("a") + draws[1], values.count("b") + draws[2]]),
        ]
        monkeypatch.setattr(growing, "add_noise", lambda *_, script=script: script.pop(0))
        boxes = plan.settle(table, Source.seeded(1))
        listed[boxes.listing()] = boxes
        trees[boxes.listing()] += count[draws[0]] * cell[draws[1]] * cell[draws[2]]
    joint = defaultdict(float)
    for key, mass in trees.items():
        for kept in itertools.product((False, True), repeat=len(values)):
            mask = np.array(kept, dtype=bool)
            shown = listed[key].apply(table.keep(lambda start, count, mask=mask: mask[start : start + count]))
            counted = shown.suppress_below(shown.columns, k).count_by(shown.columns)
            outcome = (key, tuple(zip(counted.tuples[0].tolist(), counted.counts.tolist(), strict=True)))
            joint[outcome] += mass * float(beta) ** sum(kept) * (1 - float(beta)) ** (len(kept) - sum(kept))
    return trees, joint


def divergence(p, q, epsilon):
    return sum(max(0.0, mass - math.exp(epsilon) * q.get(x, 0.0)) for x, mass in p.items())


@pytest.mark.slow
def test_the_exact_joint_law_keeps_the_promise(monkeypatch):
    k, beta, paid, reach = 2, "0.5", "1.5", 7
    small, large = ["a", "a", "b"], ["a", "a", "b", "b"]
    (tree_s, joint_s), (tree_l, joint_l) = (laws(v, monkeypatch, k, beta, paid, reach) for v in (small, large))
    assert len(tree_s) > 1  # the noise decides
    cut = max(1 - sum(tree_s.values()), 1 - sum(tree_l.values()))
    assert cut < 0.06
    for one, other in ((tree_s, tree_l), (tree_l, tree_s)):
        assert divergence(one, other, float(paid)) <= cut
    for epsilon in (0.1, 0.5, 1.0):
        delta = delta_tight(k, Fraction(beta), epsilon)
        for one, other in ((joint_s, joint_l), (joint_l, joint_s)):
            assert divergence(one, other, float(paid) + epsilon) <= delta + cut
            # the enumeration can tell: without the recoding's share the same laws break the promise
        assert divergence(joint_l, joint_s, 0.0) > 0.2


PAIR = (
    HEAD
    + """
  v: {role: quasi, type: category, domain: [a, b], missing: refuse}
  y: {role: quasi, type: category, domain: [n, p], missing: refuse}
"""
)


def laws_of_trees(rows, monkeypatch, paid, reach):
    """The exact law of the boxes of a tree with a target, by running every noise that decides anything.

    The noisy histogram of the target plays no part in the boxes, because every box is divided by it; it is left as it is.
    """
    parameters = TreeParameters(
        measurement_shares=(Fraction(1),), expected_count_error=0.01, count_shares=(Fraction(1, 2),)
    )
    columns = {name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate("vy")}
    plan = SafeTree(schema(PAIR), Fraction(paid), 1, Fraction(1, 2), parameters=parameters, target="y")
    tuples = model.CellCounts.of(
        opened(columns, PAIR, "oracle").recode(plan.levels).count_by(plan.columns), plan.pieces
    )
    (measurement,) = plan.measurements
    count, cell = (noise(float(each), reach)[0] for each in (measurement.count, measurement.histogram))
    true = [[row[0] for row in rows].count(value) for value in "ab"]
    found = defaultdict(float)
    for draws in itertools.product(range(-reach, reach + 1), repeat=3):
        noisy = np.array([own + more for own, more in zip(true, draws[1:], strict=True)])
        script = [np.array([len(rows) + draws[0]]), noisy, np.array([1, 1])]
        monkeypatch.setattr(growing, "add_noise", lambda *_, script=script: script.pop(0))
        mass = count[draws[0]] * math.prod(cell[each] for each in draws[1:])
        found[BoxRecoding(plan.grow(tuples, Source.seeded(1))).listing()] += mass
    return found


@pytest.mark.slow
def test_the_law_of_trees_with_a_target_keeps_the_promise(monkeypatch):
    """Every neighbour of a small table, each law by every noise; at a smaller price the same laws would break the promise."""
    rows, paid, reach = [("a", "n"), ("a", "p"), ("b", "n"), ("b", "p")], "4", 3
    base = laws_of_trees(rows, monkeypatch, paid, reach)
    cut, apart = 1 - sum(base.values()), []
    for more in itertools.product("ab", "np"):
        other = laws_of_trees([*rows, more], monkeypatch, paid, reach)
        lost = max(cut, 1 - sum(other.values()))
        for one, two in ((base, other), (other, base)):
            assert divergence(one, two, float(paid)) <= lost
            apart.append(divergence(one, two, 1.0))
    assert len(base) > 1  # the noise decides
    assert cut < 0.06
    assert max(apart) > 0.5  # a tree at a quarter of the price would be caught


# --- the boxes ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_a_target_all_labels_of_it_have_the_same_boxes():
    made = grown(people(6000), target="kind", k=5)
    boxes = list(zip(*made.labels, strict=True))
    kinds = {box[2] for box in boxes}
    assert kinds == {"p", "q", "r", "s", "t", "u", "(missing)"}
    by_kind = [{box[:2] for box in boxes if box[2] == kind} for kind in kinds]
    assert all(own == by_kind[0] for own in by_kind)
    assert len(by_kind[0]) > 2
    found, whole = pieces(made)
    assert divides(found, whole)
    plain = grown(people(6000), k=5)
    assert {box[2] for box in zip(*plain.labels, strict=True)} != kinds


def test_a_target_is_a_published_attribute_with_few_labels():
    with pytest.raises(ParameterError, match="no published attribute beside others"):
        SafeTree(schema(WIDE), Fraction(1), 10, Fraction(1, 2), target="town")
    with pytest.raises(ParameterError, match="no published attribute beside others"):
        SafeTree(schema(TWO), Fraction(1), 10, Fraction(1, 2), target="v")
    with pytest.raises(ParameterError, match="too many labels to predict"):
        SafeTree(schema(WIDE), Fraction(1), 10, Fraction(1, 2), target="age")
    assert SafeTree(schema(WIDE), Fraction(1), 10, Fraction(1, 2), target="age", finest={"age": 1}).target_labels == 20
    assert (
        "every box shows one label of 'sex'"
        in SafeTree(schema(WIDE), Fraction(1), 10, Fraction(1, 2), target="sex").words()
    )


def pieces(boxes):
    """Boxes as sets of cells, as the verifier reads them."""
    rules = boxes.rules()
    sides = [
        dict(zip(rule["labels"], (sum(2 ** (b + 1) - 2**a for a, b in m) for m in rule["members"]), strict=True))
        for rule in rules.values()
    ]
    whole = tuple(2 ** len(rule["cells"]) - 1 for rule in rules.values())
    return [
        tuple(side[label] for side, label in zip(sides, box, strict=True)) for box in zip(*boxes.labels, strict=True)
    ], whole


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_boxes_divide_the_domain(seed):
    found = grown(people(3000), seed=seed)
    assert len(found) > 10
    assert divides(*pieces(found))
    broken, whole = pieces(found)
    assert not divides(broken[1:], whole)
    assert not divides([*broken, broken[0]], whole)


@pytest.mark.slow
def test_every_record_shows_its_own_box():
    columns = people(500)
    table = opened(columns, WIDE)
    found = grown(columns)
    shown = found.apply(table)
    assert shown.rows() == 500
    assert set(zip(*(column.tolist() for column in shown.count_by(shown.columns).tuples), strict=True)) <= set(
        zip(*found.labels, strict=True)
    )
    rules, cells = found.rules(), {name: rule["cells"] for name, rule in found.rules().items()}
    for name in ("age", "kind"):
        members = dict(zip(rules[name]["labels"], rules[name]["members"], strict=True))
        values = ["(missing)" if v is None else str(v) for v in columns[name].to_pylist()]
        counts = dict.fromkeys(members, 0)
        for box in zip(*found.labels, strict=True):
            label = box[list(rules).index(name)]
            counts[label] = sum(any(a <= cells[name].index(v) <= b for a, b in members[label]) for v in values)
        got = shown.count_by([name])
        for label, count in zip(got.tuples[0].tolist(), got.counts.tolist(), strict=True):
            assert count <= counts[label]


@pytest.mark.slow
def test_engines_row_order_and_compilation_do_not_matter(monkeypatch):
    columns = people(3000)
    turned = {name: own.take(pa.array(np.random.default_rng(3).permutation(3000))) for name, own in columns.items()}
    first = grown(columns)
    assert grown(columns, name="oracle").listing() == first.listing()
    assert grown(turned).listing() == first.listing()
    monkeypatch.setattr("shoal.anonymize.kernel.grow.MUCH", 0)  # everything compiled
    assert grown(columns).listing() == first.listing()
    for loop in (growing.grow.expand, growing.grow.refine, growing.grow.regroup):
        assert len(compile_kernel(loop).signatures) == 1  # the types that were declared: nothing is compiled by a call
    table = opened(columns, WIDE)
    by_levels = first.apply(table)
    assert by_levels.digest() == grown(columns, name="oracle").apply(opened(columns, WIDE, "oracle")).digest()


def traced_peak(work):
    """The most memory that some work holds beside what was there before."""
    tracemalloc.start()
    try:
        made = work()
        return made, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_looking_records_up_takes_no_copy_of_them():
    """What is held follows the records by a few bytes each, however many attributes they have."""
    columns = people(3000)
    tree = grown(columns, paid="1").tree
    count, rng = 4 * AT_ONCE, np.random.default_rng(2)
    cells = [rng.integers(0, len(side.cells), count).astype(np.uint8) for side in tree.layout.sides]
    found, most = traced_peak(lambda: tree.find_nodes(cells))
    assert most < found.nbytes + 40 * AT_ONCE * len(cells)
    some = rng.integers(0, count, 100)
    assert tree.find_nodes([own[some] for own in cells]).tolist() == found[some].tolist()


def test_cells_take_no_more_bytes_than_their_numbers_need():
    table = opened(people(300), WIDE)
    tree = SafeTree(table.schema, Fraction(1), 20, Fraction(3, 10))
    tuples = model.CellCounts.of(table.recode(tree.levels).count_by(tree.columns), tree.pieces)
    assert [own.dtype for own in tuples.cells] == [np.uint8] * 3


def test_a_tree_of_counted_tuples_is_that_of_the_table():
    columns = people(3000)
    plan = SafeTree(schema(WIDE), Fraction(1), 10, Fraction(1, 2))
    table = opened(columns, WIDE)
    grown_on_table = plan.settle(table, Source.seeded(4)).tree
    grown_on_counts = plan.decide(table.recode(plan.levels).count_by(plan.columns), Source.seeded(4)).tree
    assert len(grown_on_table.leaves) > 10
    assert grown_on_table.faces.tolist() == grown_on_counts.faces.tolist()
    assert grown_on_table.below.tolist() == grown_on_counts.below.tolist()


def test_what_a_tree_compiles_is_known_from_the_number_of_rows(monkeypatch):
    monkeypatch.setattr(growing, "load_kernels", lambda loops: tuple(loop.__name__ for loop in loops))
    tree = SafeTree(schema(WIDE), Fraction(1), 20, Fraction(3, 10))
    assert tree.load_kernels(1000) == ()
    assert tree.load_kernels(10_000_000) == ("expand", "regroup", "route")
    many = SafeTree(schema(WIDE.replace("[0, 99]", "[0, 99999]")), Fraction(1), 20, Fraction(3, 10))
    assert many.load_kernels(1000) == ("refine",)


@pytest.mark.slow
def test_detail_where_records_are_dense():
    columns = people(20_000)
    found = grown(columns, paid="1")
    coarse = grown(people(200), paid="1")
    assert len(found) > 5 * len(coarse)
    labels = found.apply(opened(columns, WIDE)).count_by(["age"])
    losses = found.losses("age")
    mean = (
        sum(losses[label] * n for label, n in zip(labels.tuples[0].tolist(), labels.counts.tolist(), strict=True))
        / 20_000
    )
    assert mean < 0.15


@pytest.mark.slow
def test_boxes_that_turn_out_small_are_put_back(monkeypatch):
    """Told that every box is all but empty, the second survey's counts undo what was divided; noisy the truth, they do not."""
    columns = people(20_000)
    usual = grown(columns, paid="1")
    asked = []

    def empty(counts, epsilon, source):
        asked.append(len(counts))
        noisy = counts + source.discrete_laplace(1 / epsilon, len(counts))
        return np.ones_like(noisy) if len(counts) > 1 and len(asked) == 1 + 3 + 3 + 1 else noisy

    monkeypatch.setattr(growing, "add_noise", empty)
    found = grown(columns, paid="1", parameters=TreeParameters(prior_count_error=1e3))
    assert len(asked) == 8  # the table, its three histograms; those of the frontier; the boxes that grew
    assert len(found) < len(usual) / 5
    assert divides(*pieces(found))
    kept = grown(columns, paid="1", parameters=TreeParameters(prior_count_error=1e3), coarsest={"age": 1})
    assert "*" not in kept.labels[0]  # what had to be divided stays divided


def test_a_wide_attribute_with_little_behind_it_stays_even():
    text = HEAD + "  n: {role: quasi, type: integer, domain: [0, 999], missing: refuse}\n"
    (piece,) = SafeTree(schema(text), Fraction(1), 5, Fraction(1, 2)).pieces
    noisy = Source.seeded(1).discrete_laplace(100, 1000)
    even = model.smooth(piece, noisy, 200.0, Fraction(1, 100), 5.0)
    assert even.sum() == pytest.approx(1)
    assert even.max() < 0.1 < model.project(noisy, 200.0).max() / 200  # noise alone would make a few look common
    heavy = np.zeros(1000, dtype=np.int64)
    heavy[7] = 100_000
    assert model.smooth(piece, heavy + noisy, 100_000.0, Fraction(1, 100), 5.0)[7] > 0.9


@pytest.mark.slow
def test_weights_ranges_and_depth():
    columns = people(5000)
    kept = grown(columns, weights={"age": Fraction(0), "sex": Fraction(0)})
    assert set(kept.labels[0]) == {"*"}  # nothing is gained by dividing what counts for nothing
    fine = grown(columns, coarsest={"age": 2})
    assert "*" not in fine.labels[0]
    assert all(
        label in ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 100)", "(missing)") or fine.losses("age")[label] < 0.25
        for label in fine.labels[0]
    )
    floor = grown(columns, finest={"age": 1})
    assert all(not label.isdigit() for label in floor.labels[0])
    assert len(grown(columns, parameters=TreeParameters(max_depth=1))) <= 3


def test_what_cannot_grow():
    with pytest.raises(ParameterError, match="depth"):
        SafeTree(schema(WIDE), Fraction(1), 5, Fraction(1, 2), parameters=TreeParameters(max_depth=0))
    with pytest.raises(ParameterError, match="weight zero"):
        SafeTree(schema(TWO), Fraction(1), 5, Fraction(1, 2), weights={"v": Fraction(0)})
    one = HEAD + "  v: {role: quasi, type: category, domain: [a], missing: refuse}\n"
    single = grown({"v": pa.array(["a"] * 50)}, one)
    assert single.labels == (("a",),)


@pytest.mark.slow
def test_many_attributes():
    names = [f"x{i}" for i in range(60)]
    text = HEAD + "".join(f"  {name}: {{role: quasi, type: integer, domain: [0, 9]}}\n" for name in names)
    chance = np.random.default_rng(1)
    columns = {name: pa.array(chance.integers(0, 10, 2000)) for name in names}
    found = grown(columns, text, k=5, paid="2")
    assert divides(*pieces(found))
    assert found.apply(opened(columns, text)).rows() == 2000
