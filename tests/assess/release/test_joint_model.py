"""One model of all tables: it agrees with the truth and with itself, and says where it alone speaks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shoal.assess.release.joint_model import AGREED, JOINED
from shoal.assess.release.load import load
from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError, VerificationError
from tests.assess.release.released import (
    add_counts,
    categories,
    cuts,
    discrete_gaussian,
    keep,
    reseal,
    unions,
    write_release,
)

SIZES = (4, 3, 5)
SIGMA = 6


def truth():
    """A population whose attributes follow a hidden kind."""
    rng = np.random.default_rng(11)
    kinds = [rng.dirichlet(np.ones(size) * 0.6, 3) for size in SIZES]
    table = sum(w * np.einsum("i,j,k->ijk", *(own[z] for own in kinds)) for z, w in enumerate((0.5, 0.3, 0.2)))
    return rng.multinomial(20_000, table.ravel()).reshape(SIZES)


TRUTH = truth()


def margin(names):
    kept = [int(name[1:]) for name in names]
    return TRUTH.sum(tuple(j for j in range(3) if j not in kept))


def tables(sigma=SIGMA, pairs=None):
    rng, rules = np.random.default_rng(3), categories(SIZES)
    names = [(name,) for name in rules] + list(combinations(rules, 2) if pairs is None else pairs)
    return {
        "-".join(own): ([rules[name] for name in own], margin(own) + discrete_gaussian(sigma, margin(own).shape, rng))
        for own in names
    }


def distance(found, true):
    return float(np.abs(found / found.sum() - true / true.sum()).sum() / 2)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return load(add_counts(tmp_path_factory.mktemp("counts") / "r", tables(), str(SIGMA), singles=3))


@pytest.mark.slow
def test_estimates_agree_with_each_other_and_with_the_truth(loaded):
    model = loaded.consistent()
    assert repr(model).startswith("<Consistent counts of ")
    assert model.total == pytest.approx(20_000, abs=100)
    found = {own: model.marginal(*own) for own in [("a0",), ("a1",), ("a0", "a1"), ("a1", "a2"), ("a0", "a1", "a2")]}
    assert all((each.value >= 0).all() for each in found.values())
    assert np.allclose(found["a0", "a1"].value.sum(0), found["a1",].value, atol=1)
    assert np.allclose(found["a1", "a2"].value.sum(1), found["a1",].value, atol=1)
    for own, each in found.items():
        assert distance(each.value, margin(own)) < (0.1 if len(own) == 3 else 0.03)  # pairs do not tell all of three
        assert (each.low <= each.value).all()
        assert (each.value <= each.high).all()
    assert found["a0", "a1"].method == AGREED
    assert "a0-a1" in found["a0", "a1"].view


@pytest.mark.slow
def test_attributes_that_no_table_holds_together_are_told_by_the_model(loaded):
    found = loaded.marginal("a0", "a1", "a2")
    assert found.method == JOINED
    assert "model" in found.view
    assert set(found.status.ravel()) == {"covered"}
    assert f"{len(found):,} cells by a model, because no table holds these attributes together" in repr(found)
    assert ((found.low <= TRUTH) & (found.high >= TRUTH)).all()
    where = {"a0": "v01", "a1": {"v00", "v02"}, "a2": {"v00", "v01", "v02"}}
    true = TRUTH[1][[0, 2]][:, :3].sum()
    one = loaded.count(where)
    assert one.method == JOINED
    assert one.low <= true <= one.high
    assert one.low <= one.value <= one.high
    assert one.value == pytest.approx(true, rel=0.5, abs=50)
    assert one.source.startswith("model of all tables; bounds from a0-a1, a0-a2, a1-a2")
    share = loaded.share(where)
    assert share.low <= true / 20_000 <= share.high


@pytest.mark.slow
def test_bounds_without_a_table_hold_from_below_as_well(loaded):
    where = {"a0": {"v00", "v01", "v02"}, "a1": {"v00", "v01", "v02"}, "a2": {"v00", "v01", "v02", "v03"}}
    true = TRUTH[:3, :, :4].sum()
    found = loaded.count(where)
    assert 0 < found.low <= true <= found.high
    either = loaded.count([where, {"a0": "v03"}])
    assert either.low <= true + TRUTH[3].sum() <= either.high


@pytest.mark.slow
def test_a_count_of_the_model_has_the_interval_of_the_table(loaded):
    model, where = loaded.consistent(), {"a0": "v01", "a1": "v02"}
    found, own = model.count(where), loaded.count(where)
    assert (found.low, found.high) == (min(own.low, found.value), max(own.high, found.value))
    assert found.method == AGREED
    assert model.count({}).value == pytest.approx(model.total)
    with pytest.raises(UsageError, match="no published attribute"):
        model.marginal("a9")


@pytest.mark.slow
def test_synthetic_rows_are_drawn_from_the_model(loaded):
    made = loaded.synthetic(5_000, source=Source.seeded(1))
    assert len(made) == 5_000
    assert made.to_arrow().column_names == ["a0", "a1", "a2"]
    counts = np.zeros(SIZES)
    np.add.at(counts, tuple(made.codes.T), 1)
    assert distance(counts.sum(2), TRUTH.sum(2)) < 0.04
    assert "model" in made.method
    assert len(loaded.synthetic(source=Source.seeded(1))) == round(loaded.consistent().total)
    with pytest.raises(ParameterError, match="number of rows"):
        loaded.synthetic(0)


@pytest.mark.slow
def test_no_drawn_row_is_one_that_the_plan_rules_out(tmp_path):
    folder = add_counts(tmp_path / "r", tables(), str(SIGMA), singles=3)
    lock = folder / "policy.lock.yaml"
    rule = "release:\n  synthetic:\n    never:\n    - a0: [v00, v01]\n      a2: [v01]\n"
    lock.write_text(lock.read_text() + rule)
    made = load(reseal(folder)).synthetic(2_000, source=Source.seeded(1))
    assert not ((made.codes[:, 0] < 2) & (made.codes[:, 2] == 1)).any()
    assert ((made.codes[:, 0] < 2) & (made.codes[:, 2] == 0)).any()


# --- rows and counts ------------------------------------------------------------------------------------------------


def rows(folder, beta=0.5, k=10):
    rng, rules = np.random.default_rng(5), categories(SIZES)
    drawn = rng.binomial(TRUTH, beta)
    write_release(folder, {"wide": (list(rules.values()), np.where(drawn >= k, drawn, 0))}, k=k, beta=str(beta))
    return folder


@pytest.mark.slow
def test_rows_make_the_model_better_where_counts_are_noisy(tmp_path):
    noisy = tables(sigma=150)
    alone = load(add_counts(tmp_path / "counts", noisy, "150", singles=3)).consistent()
    both = load(add_counts(rows(tmp_path / "both"), noisy, "150", singles=3)).consistent()
    assert list(both.axes) == ["a0", "a1", "a2"]
    pairs = list(combinations(("a0", "a1", "a2"), 2))
    before, after = (np.mean([distance(m.marginal(*p).value, margin(p)) for p in pairs]) for m in (alone, both))
    assert after < 0.6 * before


@pytest.mark.slow
def test_counts_of_pairs_narrow_what_rows_say_about_three(tmp_path):
    loaded = load(add_counts(rows(tmp_path / "r", beta=0.02, k=30), tables(), str(SIGMA), singles=3))
    where = {"a0": "v03", "a1": "v01", "a2": "v02"}
    found = loaded.count(where)
    assert found.low <= TRUTH[3, 1, 2] <= found.high
    assert found.high < 300
    assert found.source == "model of all tables; bounds from a0-a1, a0-a2, a1-a2, with wide"
    assert "half the risk" in found.method
    either = loaded.count([where, {"a0": "v01"}])
    assert either.low <= TRUTH[3, 1, 2] + TRUTH[1].sum() <= either.high


@pytest.mark.slow
def test_an_attribute_that_rows_alone_hold_is_in_the_model(tmp_path):
    own = {name: each for name, each in tables(pairs=[("a0", "a1")]).items() if "a2" not in name}
    model = load(add_counts(rows(tmp_path / "r"), own, str(SIGMA), singles=2)).consistent()
    assert list(model.axes) == ["a0", "a1", "a2"]
    assert distance(model.marginal("a0", "a2").value, margin(("a0", "a2"))) < 0.1


def test_labels_that_overlap_are_refused(tmp_path):
    ages, sexes = cuts("age", [10, 20], 0, 29), keep("sex", ["f", "m"])
    twice = unions(ages, {"young": [0, 1], "old": [1, 2]})
    bad = {"age": ([ages], np.array([5, 3, 8])), "pair": ([twice, sexes], np.array([[1, 2], [3, 4]]))}
    with pytest.raises(VerificationError, match="two labels"):
        load(add_counts(tmp_path / "r", bad, "2", singles=1)).consistent()
