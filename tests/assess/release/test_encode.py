"""New records take the labels of a release by its published rules alone, with its types; errors quote no value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.assess.release.load import load
from shoal.datasets.visits import visits, write_policy
from shoal.errors import UsageError
from tests.assess.release.released import add_counts, cuts, keep, write_release

TWO = {"method": "safe-k", "epsilon": 1, "delta": "1e-5"}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Releases of generated visits: labels of levels, and boxes of a tree."""
    place = tmp_path_factory.mktemp("encode")
    policy = shoal.Policy.load(write_policy(place))
    kept = ("patient_id", "age", "sex", "insurance", "stay", "zip")
    drop = {f"attributes.{name}.role": "drop" for name in policy.schema.by_name if name not in kept}
    asked = {"levels": {"levels": {"age": 2, "stay": 1}}, "tree": {"tree": {"epsilon": "0.5"}}}
    people, found = visits(12_000, seed=5), {}
    for name, recoding in asked.items():
        drop |= {"attributes.zip.role": "drop" if name == "levels" else "quasi"}
        plan = shoal.plan(policy.with_changes({**drop, "release": {**TWO, "recoding": recoding}}))
        options = {"ledger": str(place / f"{name}.sqlite"), "new_ledger": True, "report": False}
        found[name] = load(shoal.release(plan, people, place / name, **options).folder)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["levels", "tree"])
def test_records_get_the_labels_and_types_of_the_table(release, kind):
    loaded, fresh = release[kind], visits(800, seed=99).to_pandas()
    made, table = loaded.encode(fresh), loaded.published().to_pandas()
    assert list(made.columns) == list(table.columns)
    assert (made.dtypes == table.dtypes).all()
    assert (made.index == fresh.index).all()
    ends = loaded.encode(fresh, intervals="columns")
    assert (ends["age_low"].dropna() <= fresh["age"][ends["age_low"].notna()]).all()
    meaning = loaded.published().meanings["age"]
    for label, age in zip(made["age"], fresh["age"], strict=True):
        if pd.isna(age):
            continue
        low, high = meaning.stands_for(label)
        assert low <= age < high
    if kind == "tree":  # every record lies in a box that the release lists
        boxes = {tuple(box) for box in loaded.published().box_tuples.tolist()}
        places = [{text: i for i, text in enumerate(loaded.published().meanings[name].texts)} for name in made.columns]
        rows = made.astype(object).where(made.notna(), "(missing)").itertuples(index=False)
        assert {tuple(own[text] for own, text in zip(places, row, strict=True)) for row in rows} <= boxes


@pytest.mark.slow
def test_a_model_that_is_trained_on_the_release_can_be_tested_on_new_records(release):
    ensemble = pytest.importorskip("sklearn.ensemble")
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    loaded = release["levels"]
    train = loaded.published().to_pandas().astype(str)
    test = loaded.encode(visits(3000, seed=77).to_pandas()).astype(str)
    model = pipeline.make_pipeline(
        preprocessing.OneHotEncoder(handle_unknown="ignore"),
        ensemble.RandomForestClassifier(n_estimators=20, random_state=0),
    )
    columns = ["age", "sex", "stay"]
    model.fit(train[columns], train["insurance"])
    right = (model.predict(test[columns]) == test["insurance"]).mean()
    assert right >= test["insurance"].value_counts(normalize=True).max() - 0.05


def simple(folder, missing="error"):
    """One table of rows, one of counts."""
    rules = [cuts("age", [40], 16, 99), keep("sex", ["f", "m"])]
    write_release(folder, {"rows": (rules, np.full((2, 2), 40))}, missing=missing)
    return load(add_counts(folder, {"counted": (rules, np.full((2, 2), 50))}, "3"))


def test_every_kind_of_frame_comes_back_as_it_came(tmp_path):
    loaded = simple(tmp_path / "r")
    records = {"age": [16, 39, 40, 99], "sex": ["f", "m", "m", "f"], "other": [1, 2, 3, 4]}
    expected = ["[16, 40)", "[16, 40)", "[40, 100)", "[40, 100)"]
    for frame in (pd.DataFrame(records), pl.DataFrame(records), pa.table(records)):
        for name in ("rows", "counted"):
            made = loaded.encode(frame, name)
            assert type(made) is type(frame)
            found = made["age"].to_pylist() if isinstance(made, pa.Table) else list(made["age"])
            assert found == expected
    assert len(loaded.encode(pd.DataFrame({"age": [], "sex": []}), "rows")) == 0


def test_what_no_label_stands_for_is_refused_without_a_word_about_it_or_left_empty(tmp_path):
    loaded = simple(tmp_path / "r")
    bad = pd.DataFrame({"age": [15, 20, None, 123456], "sex": ["f", "x", "m", "m"]})
    with pytest.raises(UsageError, match="3 of 4 records") as caught:
        loaded.encode(bad, "rows")
    assert "123456" not in str(caught.value)
    assert "15" not in str(caught.value)
    made = loaded.encode(bad, "rows", outside="missing")
    assert made["age"].isna().tolist() == [True, False, True, True]
    assert made["sex"].isna().tolist() == [False, True, False, False]
    mixed = pd.DataFrame({"age": [1, "secret-7"], "sex": ["f", "m"]})
    with pytest.raises(UsageError) as caught:
        loaded.encode(mixed, "rows")
    assert "secret-7" not in f"{caught.value}{caught.value.__cause__}"
    allowed = simple(tmp_path / "loose", missing="value")
    assert allowed.encode(pd.DataFrame({"age": [None], "sex": ["f"]}), "rows")["age"].isna().all()


def test_other_mistakes_are_named(tmp_path):
    loaded = simple(tmp_path / "r")
    with pytest.raises(UsageError, match="lack a column"):
        loaded.encode(pd.DataFrame({"age": [20]}), "rows")
    with pytest.raises(UsageError, match="outside is none"):
        loaded.encode(pd.DataFrame({"age": [20], "sex": ["f"]}), "rows", outside="drop")
    with pytest.raises(UsageError, match="needs a name"):
        loaded.encode(pd.DataFrame({"age": [20], "sex": ["f"]}))
    with pytest.raises(UsageError, match="not known here"):
        loaded.encode(3, "rows")
