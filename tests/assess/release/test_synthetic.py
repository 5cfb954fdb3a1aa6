"""The synthetic table agrees with the views, and says everywhere that it is synthetic."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.assess.release.load import load
from shoal.assess.release.synthetic import PublishedSyntheticTable, SyntheticTable
from shoal.chance.source import Source
from shoal.engine.write import write_file
from shoal.errors import ParameterError, UsageError, VerificationError
from tests.assess.release.released import (
    add_counts,
    all_pairs,
    categories,
    cuts,
    keep,
    reseal,
    write_pairs,
    write_release,
)
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
    assert (np.diff(made.codes[:, 0]) < 0).any()  # the first rows are like the others


def test_it_says_that_it_is_synthetic(loaded, tmp_path):
    made = loaded.synthetic(100, source=Source.seeded(3))
    assert isinstance(made, SyntheticTable)
    assert made.__synthetic__
    table = made.to_arrow()
    assert tuple(table.column_names) == loaded.attributes
    assert table.schema.metadata[b"synthetic"] == b"true"
    assert made.to_pandas().attrs["synthetic"]
    with pytest.raises(UsageError, match="has to say so"):
        made.write(tmp_path / "table.parquet")
    with pytest.raises(UsageError, match="has to say so"):
        made.write(tmp_path / "synthetic.xlsx")
    written = made.write(tmp_path / "clinic-synthetic.parquet")
    assert parquet.read_table(written).schema.metadata[b"synthetic"] == b"true"
    assert (tmp_path / "synthetic.csv") == made.write(tmp_path / "synthetic.csv")
    assert (tmp_path / "synthetic.csv").read_text().startswith('"a0"')
    with pytest.raises(UsageError, match="exists"):
        made.write(tmp_path / "synthetic.csv")


def test_a_seed_gives_the_same_rows_again(loaded):
    made = loaded.synthetic(200, seed=7)
    assert (made.codes == loaded.synthetic(200, seed=7).codes).all()
    assert (made.codes == loaded.synthetic(200, source=Source.seeded(7)).codes).all()
    assert not (made.codes == loaded.synthetic(200, seed="other").codes).all()
    with pytest.raises(UsageError, match="both a seed"):
        loaded.synthetic(10, seed=7, source=Source.seeded(1))


def test_no_row_lies_outside_the_declared_domain_or_lacks_what_it_must_have(tmp_path):
    """A hierarchy lists more than the domain does: people under 16, a region that was given up, and missing values."""
    age = cuts("age", [16, 40], 0, 99)
    views = {
        "age-sex": ([age, keep("sex", ["f", "m"])], np.array([[0, 0], [60, 70], [80, 90]])),
        "age-place": ([age, keep("place", ["n", "s", "old"])], np.array([[0, 0, 0], [60, 70, 0], [80, 90, 0]])),
    }
    lock = """attributes:
  age: {type: integer, domain: ["16", "99"], missing: error}
  place: {type: category, domain: {values: [n, s]}, missing: error}
  sex: {type: category, domain: {values: [f, m]}, missing: value}
"""

    def drawn_from(text):
        folder = write_release(tmp_path / str(len(text)), views)
        (folder / "policy.lock.yaml").write_text(text)
        return load(reseal(folder)).synthetic(4000, seed=1).to_pandas()

    made = drawn_from(lock)
    assert set(made["age"]) == {"[16, 40)", "[40, 100)"}
    assert set(made["place"]) == {"n", "s"}
    assert set(made["sex"]) <= {"f", "m", "(missing)"}
    loose = drawn_from(lock.replace('"16"', '"0"').replace("[n, s]", "[n, s, old]"))  # where they may be, some are
    assert "[0, 16)" in set(loose["age"])
    assert "old" in set(loose["place"])


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


# --- published synthetic rows ---------------------------------------------------------------------------------------

ROWS = pa.table(
    {
        "age": pa.array([31, None, 7]),
        "zip": pa.array(["03117", "00001", None]),
        "note": pa.array(["a,b", "", None]),
        "since": pa.array([dt.date(2025, 3, 1), None, dt.date(2024, 1, 1)]),
        "ill": pa.array([True, False, None]),
        "pay": pa.array([1.5, None, 2.0]),
    }
)
TYPES = {"age": "integer", "zip": "text", "note": "category", "since": "date", "ill": "boolean", "pay": "decimal"}


def published(folder, suffix="parquet", **entry):
    """A release of counts with a file of synthetic rows."""
    rules = {"zip": keep("zip", ["03117", "00001"])}
    add_counts(folder, {"zip": ([rules["zip"]], np.array([4, 6]))}, "2", singles=1, method="synthetic")
    lock = "".join(f"  {name}:\n    type: {kind}\n    missing: value\n" for name, kind in TYPES.items())
    (folder / "policy.lock.yaml").write_text(f"attributes:\n{lock}")
    write_file(folder / f"synthetic.{suffix}", ROWS.schema, iter(ROWS.to_batches()), lambda: None)
    said = {"file": f"synthetic.{suffix}", "rows": 3, "columns": ROWS.column_names, "note": "rows of nobody", **entry}
    return reseal(folder, synthetic=said)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_published_file_is_given_with_its_types(tmp_path, suffix):
    loaded = load(published(tmp_path / "r", suffix))
    assert "a file of synthetic rows" in repr(loaded)
    made = loaded.synthetic()
    assert isinstance(made, PublishedSyntheticTable)
    assert (len(made), made.columns) == (3, tuple(ROWS.column_names))
    assert made.to_arrow().cast(ROWS.schema).equals(ROWS)
    assert made.to_arrow().schema.metadata[b"synthetic"] == b"true"
    assert "synthetic" in repr(made)
    assert made.to_pandas().attrs["synthetic"] is True
    assert made.to_polars().height == 3


@pytest.mark.parametrize(
    "entry",
    [{"rows": 4}, {"columns": ["age"]}, {"columns": [1]}, {"columns": None}, {"file": "certificate.html"}, {"file": None},
     {"file": "recoding/zip-zip.json"}],
)  # fmt: skip
def test_a_synthetic_file_that_does_not_fit_is_refused(tmp_path, entry):
    with pytest.raises(VerificationError):
        load(published(tmp_path / "r", **entry)).synthetic()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_that_are_asked_for_are_rows_of_the_published_file(tmp_path, suffix):
    loaded = load(published(tmp_path / "r", suffix))
    whole, made = loaded.synthetic().to_arrow(), loaded.synthetic(2, source=Source.seeded(2))
    assert isinstance(made, PublishedSyntheticTable)
    assert (len(made), made.columns) == (2, tuple(ROWS.column_names))
    assert made.to_arrow().schema.equals(whole.schema, check_metadata=True)
    listed = whole.to_pylist()
    taken = [listed.index(row) for row in made.to_arrow().to_pylist()]
    assert len(set(taken)) == 2
    assert made.to_arrow().equals(loaded.synthetic(2, source=Source.seeded(2)).to_arrow())
    assert sorted(map(str, loaded.synthetic(3).to_arrow().to_pylist())) == sorted(map(str, listed))


@pytest.mark.parametrize("rows", [0, 4, -1, True, 2.0])
def test_a_published_file_does_not_give_more_rows_than_it_has(tmp_path, rows):
    with pytest.raises(ParameterError, match="from 1 to 3"):
        load(published(tmp_path / "r")).synthetic(rows)
