"""Whether a release or an answer appears does not depend on one row: tables of no row, of one and of two are all the same."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from shoal.errors import DataError, InfeasibleError, PolicyError
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify.release import require, verify
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import Quantile
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.questions.workload import Workload
from shoal.query.session import session
from tests.engine.oracle import engine_named
from tests.publish.clinic import planned, policy

HEADER = ["patient", "age", "sex", "diag"]
ROWS = [("p1", 30, "f", "flu"), ("p2", 60, "m", "rare")]
KINDS = {
    "fixed": {},
    "parquet": {"release.output": "parquet"},
    "repeat": {"release.repeat": 2, "release.epsilon": 2},
    "drawn": {"release.recoding": {"choose": {"epsilon": "0.3"}}},
    "drawn by records": {"release.recoding": {"choose": {"epsilon": "0.3", "score": "records"}}},
    "drawn for a target": {"release.recoding": {"choose": {"epsilon": "0.3", "score": "target", "target": "sex"}}},
    "tree": {"release.recoding": {"tree": {"epsilon": "0.3"}}},
    "sampled tree": {"release.recoding": {"tree": {"epsilon": "0.3", "sample": "0.25"}}},
    "views": {"release.views": "pairs", "release.delta": "1e-4"},
    "views of trees": {
        "release.views": "pairs",
        "release.delta": "1e-4",
        "release.recoding": {"tree": {"epsilon": "0.3"}},
    },
    "chosen views": {"release.views": {"choose": {"epsilon": "0.2", "count": 2}}, "release.delta": "1e-4"},
    "people": {"unit": {"column": "patient", "max_rows": 1}},
    "a sample": {"release.sampling": {"already": "0.1"}, "budget": None},
}


def table(rows):
    columns = list(zip(*ROWS[:rows], strict=True)) or [()] * 4
    kinds = [pa.string(), pa.int64(), pa.string(), pa.string()]
    return pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], names=HEADER)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_appears(tmp_path, kind, rows):
    made = planned(KINDS[kind])
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        done = release(made, table(rows), tmp_path / "out", ledger=ledger, engine=engine_named("duckdb"))
        assert len(ledger.account("clinic").costs) == 1
    assert done.rows_published == 0
    require(verify(done.folder))
    assert done.custodian_folder is not None, done.notes
    assert json.loads((done.custodian_folder / "report.json").read_text(), parse_constant=pytest.fail)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "views", "people"])
def test_the_reference_lets_no_rows_through_as_well(tmp_path, kind):
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        done = release(planned(KINDS[kind]), table(0), tmp_path / "out", ledger=ledger, engine=engine_named("oracle"))
    assert done.rows_published == 0
    require(verify(done.folder))


def _csv(path):
    path = path / "t.csv"
    path.write_text(",".join(HEADER) + "\n")
    return path


def _unfinished(path):
    path = path / "t.csv"
    path.write_text(",".join(HEADER))
    return path


def _parquet(path):
    parquet.write_table(table(0), path / "t.parquet")
    return path / "t.parquet"


def _folder(path):
    (path / "t").mkdir()
    for place in (1, 2):
        parquet.write_table(table(0), path / "t" / f"{place}.parquet")
    return path / "t"


def _feather(path):
    feather.write_feather(table(0), path / "t.arrow")
    return path / "t.arrow"


SOURCES = {
    "CSV": _csv,
    "CSV without a last line end": _unfinished,
    "Parquet": _parquet,
    "a folder": _folder,
    "Arrow": _feather,
    "pandas": lambda _: table(0).to_pandas(),
    "pandas from lists": lambda _: pd.DataFrame({name: [] for name in HEADER}),
    "pandas without types": lambda _: pd.DataFrame({name: [] for name in HEADER}, dtype=object),
}


@pytest.mark.parametrize("name", ["duckdb", "oracle"])
@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_may_have_no_rows(tmp_path, kind, name):
    found = engine_named(name).scan(SOURCES[kind](tmp_path), policy().schema)
    assert (found.rows(), found.columns) == (0, tuple(HEADER))
    assert len(found.distinct("age")) == 0
    assert found.count_by(["age", "sex"]).counts.sum() == 0
    assert found.digest() == engine_named("oracle").scan(table(0), policy().schema).digest()


def test_a_file_without_a_header_is_no_table(tmp_path):
    (tmp_path / "t.csv").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "t.csv", tmp_path / "folder"):
        with pytest.raises(DataError):
            engine_named("duckdb").scan(path, policy().schema)


QUESTIONS = [
    Count(),
    Count("age >= 65"),
    Sum("age"),
    Mean("age"),
    Variance("age"),
    Quantile("age", "1/2"),
    Histogram("sex"),
    Contingency(["sex", "diag"]),
    Workload([Count(), Sum("age")]),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["duckdb", "oracle"])
@pytest.mark.parametrize("rows", [0, 1])
def test_every_question_is_answered(tmp_path, rows, name):
    asked = policy({"budget": {"epsilon": 100, "delta": "0.01"}})
    with session(
        asked, table(rows), ledger=str(tmp_path / "ledger.sqlite"), new_ledger=True, engine=engine_named(name)
    ) as asking:
        for question in QUESTIONS:
            assert asking.ask(question, 1).value is not None
        assert asking.spent.epsilon == len(QUESTIONS)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_person_who_is_not_there_is_asked_about(tmp_path, rows):
    asked = policy({"unit": {"column": "patient", "max_rows": 1}, "budget": {"epsilon": 9, "delta": "0.01"}})
    with session(asked, table(rows), ledger=str(tmp_path / "ledger.sqlite"), new_ledger=True) as asking:
        assert asking.ask(ValueOf("p1", "diag"), 1, prior="uniform").value in ("flu", "cold", "rare")


@pytest.mark.slow
def test_counted_methods_refuse_by_count(tmp_path):
    """They promise a count, not that one row is hidden; the guide says so."""
    asked = policy({"release": {"method": "microaggregation", "k": 2}, "budget": None})
    for rows in (0, 1, 2):
        with (
            Ledger(str(tmp_path / "ledger.sqlite")) as ledger,
            pytest.raises(InfeasibleError, match="too few records"),
        ):
            release(plan(asked), table(rows), tmp_path / f"out{rows}", ledger=ledger, engine=engine_named("duckdb"))


def test_a_hierarchy_covers_its_domain_by_the_policy_alone():
    """Else whether a release appears would depend on whether a row holds the value that is left out."""
    text = policy().text.replace("domain: [flu, cold, rare], hierarchy", "domain: [flu, cold, rare, new], hierarchy")
    with pytest.raises(PolicyError):
        Policy.parse(text)
