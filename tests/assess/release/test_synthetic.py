"""The synthetic table agrees with the views, and says everywhere that it is synthetic."""

from __future__ import annotations

import numpy as np
import pytest
from pyarrow import parquet

from shoal.assess.release.load import load
from shoal.assess.release.synthetic import SyntheticTable
from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError
from tests.assess.release.released import all_pairs, categories, write_pairs, write_release
from tests.assess.release.test_consistency import SIZES, columns, distance


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    rng = np.random.default_rng(5)
    truth = all_pairs(SIZES, columns(rng))
    return load(write_pairs(tmp_path_factory.mktemp("r") / "pairs", SIZES, truth, 20, "0.15", rng))


@pytest.mark.slow
def test_it_keeps_the_views_within_sampling_error(loaded):
    fitted = loaded.consistent()
    made = loaded.synthetic(20_000, source=Source.seeded(1))
    assert len(made) == 20_000
    rng = np.random.default_rng(1)
    for view in loaded.views:
        table = fitted.tables[view.name]
        i, j = (made.columns.index(name) for name in view.columns)
        found = np.bincount(made.codes[:, i] * table.shape[1] + made.codes[:, j], minlength=table.size).astype(float)
        shares = table.ravel() / table.sum()
        chance = np.mean([distance(rng.multinomial(20_000, shares).astype(float), shares) for _ in range(20)])
        assert distance(found, shares) < 1.5 * chance
        apart = np.outer(table.sum(1), table.sum(0)).ravel()
        if distance(apart, shares) > 0.1:  # the impostor: attributes that know nothing of each other
            assert distance(rng.multinomial(20_000, apart / apart.sum()).astype(float), shares) > 1.5 * chance


@pytest.mark.slow
def test_it_has_as_many_rows_as_there_are_records_and_repeats_for_a_seed(loaded):
    made = loaded.synthetic(source=Source.seeded(2))
    assert len(made) == round(loaded.consistent().total)
    again = loaded.synthetic(source=Source.seeded(2))
    assert (made.codes == again.codes).all()
    other = loaded.synthetic()
    assert other.codes.shape == made.codes.shape
    assert not (other.codes == made.codes).all()


def test_it_says_that_it_is_synthetic(loaded, tmp_path):
    made = loaded.synthetic(100, source=Source.seeded(3))
    assert isinstance(made, SyntheticTable)
    assert made.__synthetic__
    table = made.to_arrow()
    assert all(name.startswith("synthetic ") for name in table.column_names)
    assert table.schema.metadata[b"synthetic"] == b"true"
    assert made.to_pandas().attrs["synthetic"]
    with pytest.raises(UsageError, match="has to say so"):
        made.write(tmp_path / "table.parquet")
    with pytest.raises(UsageError, match="has to say so"):
        made.write(tmp_path / "synthetic.xlsx")
    written = made.write(tmp_path / "clinic-synthetic.parquet")
    assert parquet.read_table(written).schema.metadata[b"synthetic"] == b"true"
    assert (tmp_path / "synthetic.csv") == made.write(tmp_path / "synthetic.csv")
    assert (tmp_path / "synthetic.csv").read_text().startswith('"synthetic a0"')
    with pytest.raises(UsageError, match="exists"):
        made.write(tmp_path / "synthetic.csv")


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, 10**9])
def test_bad_numbers_of_rows_are_refused(loaded, rows):
    with pytest.raises(ParameterError, match="rows"):
        loaded.synthetic(rows)


def test_attributes_that_no_pair_joins_are_drawn_by_themselves(tmp_path):
    rules = categories([3, 4])
    views = {"one": ([rules["a0"]], np.array([100, 200, 300])), "two": ([rules["a1"]], np.array([150] * 4))}
    made = load(write_release(tmp_path / "r", views)).synthetic(6000, source=Source.seeded(4))
    assert made.tree == ()
    assert np.bincount(made.codes[:, 0]) == pytest.approx([1000, 2000, 3000], rel=0.1)
