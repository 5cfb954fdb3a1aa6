"""Estimates from noisy counts: the truth lies in the interval as often as it says, and what is said about the source is true."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from shoal.assess.release.answers.mean import FIRST
from shoal.assess.release.answers.noise_bounds import noise_bound
from shoal.assess.release.answers.noisy import ACROSS, CHOSEN, MEAN, SUM, UNCHOSEN, noisy_count
from shoal.assess.release.condition import condition
from shoal.assess.release.load import load
from shoal.errors import UsageError, VerificationError
from tests.assess.release.released import add_counts, categories, cuts, discrete_gaussian, keep, unions, write_release

SIZES = (4, 3, 5)
TRUTH = np.random.default_rng(7).integers(0, 400, SIZES)
SIGMA = 12


def margin(truth, names):
    """The true counts of some attributes a0, a1, …"""
    kept = [int(name[1:]) for name in names]
    return truth.sum(tuple(j for j in range(truth.ndim) if j not in kept))


def counted(truth=TRUTH, sizes=SIZES):
    """True tables: the singles, then the pairs."""
    rules = categories(sizes)
    names = [(name,) for name in rules] + list(combinations(rules, 2))
    return {"-".join(own): ([rules[name] for name in own], margin(truth, own)) for own in names}


def noised(tables, rng, sigma=SIGMA):
    return {name: (rules, true + discrete_gaussian(sigma, true.shape, rng)) for name, (rules, true) in tables.items()}


def release(folder, rng, *, stated=SIGMA, drawn=SIGMA, **other):
    return add_counts(folder, noised(counted(), rng, drawn), str(stated), **{"singles": 3, **other})


def replaced(loaded, rng, sigma=SIGMA):
    """The same release with fresh noise."""
    tables = counted()
    for table in loaded.counts:
        true = tables[table.name][1]
        table.__dict__["values"] = true + discrete_gaussian(sigma, true.shape, rng)
    return loaded


QUESTIONS = {
    "one cell": ({"a0": "v01"}, TRUTH[1].sum()),
    "several": ({"a2": {"v00", "v01", "v02", "v03"}}, TRUTH[:, :, :4].sum()),
    "a pair": ({"a0": "v01", "a1": "v02"}, TRUTH[1, 2].sum()),
    "nearly all of a pair": ([{"a0": {"v00", "v01", "v02"}}, {"a1": {"v00", "v01"}}], TRUTH.sum() - TRUTH[3, 2].sum()),
    "all": ({}, TRUTH.sum()),
}


def misses(loaded, rng, runs, level, drawn=SIGMA):
    """How often each question's interval does not hold the truth."""
    found = dict.fromkeys([*QUESTIONS, "marginal", "share"], 0)
    for _ in range(runs):
        replaced(loaded, rng, drawn)
        for name, (where, true) in QUESTIONS.items():
            estimate = loaded.count(where, level=level)
            found[name] += not estimate.low <= true <= estimate.high
        cell = list(loaded.marginal("a0", "a1", level=level))[5]
        found["marginal"] += not cell.low <= TRUTH[1, 2].sum() <= cell.high
        share = loaded.share({"a0": "v01"}, level=level)
        found["share"] += not share.low <= TRUTH[1].sum() / TRUTH.sum() <= share.high
    return found


RUNS, LEVEL = 60, 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{}, {"merged": False}, {"singles": 0}, {"kind": "rounds"}], ids=["merged", "declared", "pairs", "rounds"]
)
def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path, how, effort):
    rng = np.random.default_rng(1)
    loaded = load(release(tmp_path / "r", rng, **how))
    runs = RUNS * effort
    for name, many in misses(loaded, rng, runs, LEVEL).items():
        assert binom.sf(many - 1, runs, 1 - LEVEL) > 1e-4, name


@pytest.mark.slow
def test_an_impostor_that_understates_sigma_is_caught(tmp_path):
    rng = np.random.default_rng(2)
    loaded = load(release(tmp_path / "r", rng, stated=SIGMA * 0.4))
    found = misses(loaded, rng, RUNS, LEVEL, drawn=SIGMA)
    for name in ("one cell", "several", "a pair", "nearly all of a pair", "all", "marginal"):
        assert binom.sf(found[name] - 1, RUNS, 1 - LEVEL) < 1e-4, name


def test_the_answer_says_what_it_comes_from(tmp_path):
    loaded = load(release(tmp_path / "r", np.random.default_rng(3)))
    assert repr(loaded) == f"<LoadedRelease {loaded.folder}: 6 tables of noisy counts of a0, a1, a2>"
    one = loaded.count({"a0": "v01"})
    assert one.source == "a0 and 2 other tables"
    assert one.method == MEAN
    pair = loaded.count({"a0": "v01", "a1": "v02"})
    assert (pair.source, pair.method) == ("a0-a1", SUM)
    assert pair.high - pair.low == 2 * np.ceil(1.96 * SIGMA * np.sqrt(1) - 0.5)
    assert loaded.total().source == "a1 and 2 other tables" or loaded.total().method == MEAN
    wide = loaded.marginal("a1", "a2")
    assert (wide.view, wide.published.all(), wide.covered.any()) == ("a1-a2", True, False)
    assert "noisy" in wide.method
    assert loaded.records in pair.words()


@pytest.mark.parametrize(
    ("how", "together"),
    [({}, False), ({"merged": False}, True), ({"merged": False, "kind": "once"}, False), ({"first": 3, "kind": "rounds"}, False),
     ({"first": 3, "kind": "rounds", "merged": False}, True)],
    ids=["merged", "declared", "chosen", "merged before rounds", "declared before rounds"],
)  # fmt: skip
def test_tables_that_are_fixed_before_anything_is_measured_answer_together(tmp_path, how, together):
    """Three single tables and three pairs: how cells were merged, or which tables were chosen, may depend on the first."""
    loaded = load(release(tmp_path / "r", np.random.default_rng(3), **how))
    assert {table.stage for table in loaded.counts} == ({0} if together else {0, 1})
    one = loaded.count({"a0": "v01"})
    assert one.source == ("a0 and 5 other tables" if together else "a0 and 2 other tables")


def test_a_total_that_other_tables_know_helps_a_broad_condition(tmp_path):
    loaded = load(release(tmp_path / "r", np.random.default_rng(3)))
    broad = loaded.count([{"a0": {"v00", "v01", "v02"}}, {"a1": {"v00", "v01"}}])
    alone = 2 * np.ceil(1.96 * SIGMA * np.sqrt(11))
    assert broad.high - broad.low < 0.8 * alone
    assert broad.source == "a0-a1 and 2 other tables"


def test_tables_of_rounds_answer_one_by_one(tmp_path):
    """A later table may have been chosen because of the noise of an earlier one, so the two are not averaged."""
    loaded = load(release(tmp_path / "r", np.random.default_rng(3), kind="rounds"))
    assert [table.stage for table in loaded.counts] == [0, 0, 0, 1, 2, 3]
    assert loaded.count({"a0": "v01", "a1": "v02"}).source == "a0-a1"
    declared = load(release(tmp_path / "d", np.random.default_rng(3), singles=0))
    assert {table.stage for table in declared.counts} == {1}
    assert declared.count({"a0": "v01"}).source == "a0 and 5 other tables"


def test_tables_that_were_named_before_the_rounds_are_averaged(tmp_path):
    """No choice had been made when they were counted, so they are one stage; each table of a round is another."""
    loaded = load(release(tmp_path / "r", np.random.default_rng(3), singles=0, first=4, kind="rounds"))
    assert [table.stage for table in loaded.counts] == [1, 1, 1, 1, 2, 3]
    assert loaded.count({"a0": "v01"}).source == "a0 and 3 other tables"
    after = load(release(tmp_path / "s", np.random.default_rng(3), first=2, kind="rounds"))
    assert [table.stage for table in after.counts] == [0, 0, 0, 1, 1, 2]
    more = release(tmp_path / "t", np.random.default_rng(3), first=4, kind="rounds")
    with pytest.raises(VerificationError, match="before the rounds than it has"):
        load(more)


# --- conditions that cut bins ---------------------------------------------------------------------------------------

AGES = cuts("age", [10, 20, 30, 40], 0, 49)
MERGED = unions(AGES, {"[0, 20)": [0, 1], "[20, 50)": [2, 3, 4]})
SEXES = keep("sex", ["f", "m"])
BY_AGE = np.array([[300, 100], [50, 50], [10, 30], [400, 5], [0, 7]])


def binned(folder, sigma="3", rng=None):
    noise = (lambda shape: discrete_gaussian(3, shape, rng)) if rng is not None else (lambda _: 0)
    pair = np.stack([BY_AGE[:2].sum(0), BY_AGE[2:].sum(0)])
    tables = {
        "age": ([AGES], BY_AGE.sum(1) + noise((5,))),
        "sex": ([SEXES], BY_AGE.sum(0) + noise((2,))),
        "age-sex": ([MERGED, SEXES], pair + noise((2, 2))),
    }
    return load(add_counts(folder, tables, sigma, singles=2))


def test_a_bin_across_the_condition_counts_from_none_to_all(tmp_path):
    loaded = binned(tmp_path / "r")
    found = loaded.count({"age": (0, 10), "sex": "f"})
    assert found.method == ACROSS
    assert found.low == 0
    assert 350 <= found.high <= 350 + 6
    # The singles say that four fifths of the bin are below 10.
    assert found.value == pytest.approx(350 * 400 / 500)
    more = loaded.count({"age": (10, 50), "sex": "f"})
    assert 410 - 6 <= more.low <= 410
    assert more.value == pytest.approx(410 + 350 * 100 / 500)


def test_a_cell_across_the_condition_is_split_evenly(tmp_path):
    found = binned(tmp_path / "r").count({"age": (0, 5)})
    assert found.value == pytest.approx(200)
    assert found.low == 0
    assert found.method == ACROSS


@pytest.mark.slow
def test_intervals_of_cut_bins_hold_the_truth(tmp_path, effort):
    rng, failed, runs = np.random.default_rng(4), 0, 60 * effort
    for number in range(runs):
        found = binned(tmp_path / str(number), rng=rng).count({"age": (10, 50), "sex": "f"}, level=0.8)
        failed += not found.low <= 510 - 50 <= found.high
    assert binom.sf(failed - 1, runs, 0.2) > 1e-4


# --- rows and counts ------------------------------------------------------------------------------------------------


def mixed(folder, k=20, beta="0.5", sigma="5", rows=None):
    rng = np.random.default_rng(5)
    rules = categories(SIZES)
    pair = margin(TRUTH, ("a0", "a1"))
    drawn = rng.binomial(pair, float(beta))
    write_release(folder, {"a0-a1": ([rules["a0"], rules["a1"]], np.where(drawn >= k, drawn, 0))}, k=k, beta=beta)
    return load(add_counts(folder, noised(rows or counted(), rng, float(sigma)), sigma, singles=3))


def test_rows_and_counts_answer_together(tmp_path):
    loaded = mixed(tmp_path / "r")
    assert "one table and 6 tables of noisy counts" in repr(loaded)
    assert loaded.names == ("a0-a1", "a0", "a1", "a2", "counts/a0-a1", "a0-a2", "a1-a2")
    found = loaded.count({"a0": "v01", "a1": "v02"})
    assert found.low <= TRUTH[1, 2].sum() <= found.high
    assert found.source == "counts/a0-a1, with a0-a1"
    assert "half the risk" in found.method
    assert loaded.published("a0-a1").k == 20
    only = loaded.count({"a2": "v01"})
    assert only.source.startswith("a2")


def test_the_narrower_of_the_two_gives_the_estimate(tmp_path):
    loaded = mixed(tmp_path / "r", beta="0.99", sigma="500")
    found = loaded.count({"a0": "v01", "a1": "v02"})
    assert found.source == "a0-a1, with counts/a0-a1"
    assert found.high - found.low < 200


def test_attributes_that_no_rows_hold_are_counted(tmp_path):
    loaded = mixed(tmp_path / "r")
    assert loaded.marginal("a0", "a2").view == "a0-a2"
    with pytest.raises(UsageError, match="no published attribute"):
        loaded.count({"a9": "v01"})


# --- tables that are chosen ---------------------------------------------------------------------------------------------


def half_width(found):
    return (found.high - found.low) / 2


def test_a_table_that_was_chosen_and_the_bounds_in_its_place_divide_the_risk(tmp_path):
    """Whether it was chosen depends on earlier noise, on which the bounds rest too, so the misses of both add up."""
    rng = np.random.default_rng(3)
    fixed, rounds = (load(release(tmp_path / kind, rng, kind=kind)) for kind in ("fixed", "rounds"))
    assert [table.is_chosen for table in rounds.counts] == [False] * 3 + [True] * 3
    assert not any(table.is_chosen for table in fixed.counts)
    pair = {"a0": "v01", "a1": "v02"}
    assert half_width(fixed.count(pair)) == noise_bound(Fraction(SIGMA), 1, 0.025)
    assert half_width(rounds.count(pair)) == noise_bound(Fraction(SIGMA), 1, 0.025 * CHOSEN)
    cell = rounds.marginal("a0", "a1")
    assert cell.high[1, 2] - cell.value[1, 2] == noise_bound(Fraction(SIGMA), 1, 0.025 * CHOSEN)
    named = load(release(tmp_path / "named", rng, first=3, kind="rounds"))
    assert half_width(named.count(pair)) == noise_bound(Fraction(SIGMA), 1, 0.025), "it was counted in any case"


@pytest.mark.parametrize(("kind", "singles"), [("rounds", 3), ("once", 3), ("fixed", 3)])
def test_bounds_in_the_place_of_a_table_that_might_have_been_chosen(tmp_path, kind, singles):
    """They have what is left of the risk, a part for each set of attributes that a table may hold."""
    tables = {name: table for name, table in noised(counted(), np.random.default_rng(3)).items() if name != "a0-a1"}
    loaded = load(add_counts(tmp_path / "r", tables, str(SIGMA), singles=singles, kind=kind))
    found = loaded.count({"a0": "v01", "a1": "v02"})
    each = 0.05 / 5 if kind == "fixed" else 0.05 * UNCHOSEN / (1 + 3)
    alone = {name: loaded.counts[number] for number, name in enumerate(("a0", "a1"))}
    highs = [noisy_count(loaded, [{name: condition_label(loaded, name)}], [alone[name]], each).high for name in alone]
    assert found.high == min(highs)
    three = loaded.count({"a0": "v01", "a1": "v02", "a2": "v03"})
    assert three.low <= TRUTH[1, 2, 3] <= three.high


def condition_label(loaded, name):
    """The label of the value that the question names."""
    ((_, label),) = condition(loaded, {name: {"a0": "v01", "a1": "v02"}[name]})[0].items()
    return label


@pytest.mark.parametrize("kind", ["fixed", "once", "rounds"])
def test_a_chosen_table_of_more_than_three_attributes_is_refused(tmp_path, kind):
    """What bounds have of the risk rests on there being none; a policy may name such a table."""
    rules = categories((2, 2, 2, 2))
    folder = add_counts(
        tmp_path / "r", {"a": (list(rules.values()), np.full((2, 2, 2, 2), 50))}, str(SIGMA), singles=0, kind=kind
    )
    if kind == "fixed":
        assert load(folder).counts[0].columns == tuple(rules)
        return
    with pytest.raises(VerificationError, match="chosen by noise has more than 3 attributes"):
        load(folder)


def test_a_mean_of_one_stage_leaves_risk_for_a_table_that_was_not_chosen(tmp_path):
    tables = noised(stays(range(1, 10), last=9), np.random.default_rng(5))
    one = {"stay": tables["stay"]}
    fixed, once = (
        load(add_counts(tmp_path / kind, one, str(SIGMA), singles=1, kind=kind)).mean("stay", level=0.9)
        for kind in ("fixed", "once")
    )
    wider = load(tmp_path / "fixed").mean("stay", level=1 - 0.1 * FIRST)
    assert (once.low, once.high, once.level) == (wider.low, wider.high, fixed.level)
    assert once.high - once.low > fixed.high - fixed.low


# --- means from two stages ----------------------------------------------------------------------------------------------

STAYS = np.concatenate([np.arange(0, 10).repeat([300, 500, 400, 250, 150, 80, 60, 40, 20, 10]), [14, 19, 33]])
"""Days of 1,813 people, of whom hardly anyone stays ten."""


def stays(edges, last=365):
    """Days alone in declared cells, and with two attributes in intervals, as counts put together by the first would be."""
    who = np.arange(len(STAYS)) % 2
    bins = np.digitize(np.minimum(STAYS, last), edges)
    pair = np.stack([np.bincount(bins[who == one], minlength=len(edges) + 1) for one in (0, 1)], axis=1)
    alone = cuts("stay", range(1, last + 1), 0, last)
    wide = cuts("stay", edges, 0, last)
    return {
        "stay": ([alone], np.bincount(np.minimum(STAYS, last), minlength=last + 1)),
        "stay-a": ([wide, keep("a", ["x", "y"])], pair),
        "stay-b": ([wide, keep("b", ["x", "y"])], pair[:, ::-1]),
    }


def mean_of(folder, tables, singles):
    return load(add_counts(folder, tables, str(SIGMA), singles=singles)).mean("stay")


def test_means_join_a_stage_of_many_cells_with_the_next(tmp_path):
    """The mean of 366 noisy cells says hardly anything; tables in few intervals, averaged, do."""
    tables = noised(stays([1, 2, 3, 4, 6, 10, 30]), np.random.default_rng(3))
    found = mean_of(tmp_path / "out", tables, 1)
    alone = mean_of(tmp_path / "first", {"stay": tables["stay"]}, 1)
    assert found.high - found.low < (alone.high - alone.low) / 2
    assert found.source == "stay-a and 1 other table"
    assert "what the intervals of stay and stay-a and 1 other table have in common" in found.method
    one = mean_of(tmp_path / "one", {"stay-a": tables["stay-a"]}, 0)
    both = mean_of(tmp_path / "both", {name: table for name, table in tables.items() if name != "stay"}, 0)
    assert both.high - both.low < one.high - one.low, "two tables have less noise than one"
    assert one.high - one.low > 2, (
        "the noise of this table excludes every number at this level: a wider interval keeps some"
    )


@pytest.mark.slow
@pytest.mark.parametrize("understated", [False, True])
def test_means_of_two_stages_cover_as_often_as_they_say(tmp_path, effort, understated):
    """Each label is one number, so nothing but the noise is uncertain; an impostor that understates sigma is caught."""
    tables, rng = stays(range(1, 10), last=9), np.random.default_rng(5)
    truth, runs = np.minimum(STAYS, 9).mean(), RUNS * (1 if understated else effort)
    loaded = load(add_counts(tmp_path / "out", tables, str(SIGMA * (0.4 if understated else 1)), singles=1))
    missed = 0
    for _ in range(runs):
        for table in loaded.counts:
            true = tables[table.name][1]
            table.__dict__["values"] = true + discrete_gaussian(SIGMA, true.shape, rng)
        found = loaded.mean("stay", level=LEVEL)
        missed += not found.low <= truth <= found.high
    assert (binom.sf(missed - 1, runs, 1 - LEVEL) < 1e-4) == understated
