"""A release of noisy centroids read as frames: types, tables of one column, and what it says of its noise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.assess.frame.centroids import read_centroids
from shoal.assess.release.load import load, load_any
from shoal.assess.release.sealed_folder import SealedFolder
from shoal.errors import UsageError, VerificationError
from tests.publish.centroid_clinic import KINDS, ROWS, publish

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """One release of whole records, one of ranks."""
    place = tmp_path_factory.mktemp("made")
    ranks = {**KINDS["ranking"], "release.output": "parquet"}
    return {"mixed": publish(place, name="mixed").folder, "ranking": publish(place, ranks, name="ranking").folder}


def test_columns_have_their_types(folders):
    made = shoal.load(folders["mixed"])
    frame = made.published().to_pandas()
    assert len(frame) == ROWS
    assert list(frame.columns) == ["pay", "rate", "grade", "hired", "town", "sex", "union"]
    assert frame["pay"].between(0, 1000).all()
    assert list(frame["grade"].cat.categories) == ["low", "mid", "high"]
    assert frame["grade"].cat.ordered
    assert str(frame["hired"].dtype).startswith("datetime64")
    assert set(frame["union"]) <= {True, False}
    assert made.published().to_polars().height == ROWS
    assert (
        repr(made)
        == f"<CentroidRelease {folders['mixed']}: <PublishedCentroidTable 'table': {', '.join(frame.columns)}>>"
    )


def test_ranks_are_tables_of_one_column_each(folders):
    made = load_any(folders["ranking"])
    assert made.names == ("pay", "rate", "grade", "hired")
    assert made.published("rate").to_arrow().num_rows == ROWS
    with pytest.raises(UsageError, match="needs a name; allowed: pay, rate"):
        made.published()
    with pytest.raises(UsageError, match="no table of this name; got sex"):
        made.published("sex")


def test_the_noise_of_a_column_is_a_share_of_its_domain(folders):
    made = load_any(folders["mixed"])
    assert 0 < made.noise_share("pay") < 1
    assert made.noise_share("town") is None
    with pytest.raises(UsageError, match="no column of this name"):
        made.noise_share("person")


def test_it_has_no_weights_and_says_how_to_read_it(folders):
    with pytest.raises(UsageError, match="no weights and no intervals"):
        load(folders["mixed"])


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["tables"].clear(),
        lambda content: content["tables"].append(content["tables"][0]),
        lambda content: content["tables"][0].__setitem__("file", "other.csv"),
        lambda content: content["tables"][0]["shows"].clear(),
        lambda content: content["attributes"].pop(),
        lambda content: content.pop("attributes"),
    ],
)
def test_a_certificate_that_makes_no_sense_is_refused(folders, change):
    sealed = SealedFolder.open(folders["mixed"])
    content = json.loads(json.dumps(sealed.certificate))
    change(content)
    odd = SealedFolder(sealed.path, content)
    with pytest.raises(VerificationError):
        read_centroids(folders["mixed"], odd, None)
