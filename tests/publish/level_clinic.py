"""The clinic's table released with labels of levels that are searched for."""

from __future__ import annotations

from pathlib import Path

from shoal.engine.base import open_engine
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.k_anonymity import FullDomainPlan
from shoal.publish.run.release import Release, release
from tests.publish.clinic import POLICY as CLINIC
from tests.publish.clinic import write_table

ATTRIBUTES = CLINIC.partition("release:")[0].replace("domain: [f, m]", "domain: [f, m], hierarchy: auto")
"""The clinic's, with a hierarchy of its sexes."""
CRITERIA = {
    "entropy_l": "1.2",
    "recursive": {"c": "3", "l": 2},
    "distance": "hierarchical",
    "alpha": "0.8",
    "beta": {"enhanced": "2"},
    "k_map": {"k": 20, "population": "people.csv", "count": "people", "public": True},
}
METHODS: dict[str, dict[str, object]] = {
    "searched": {"k": 5, "suppression": "0.1"},
    "fixed": {"k": 5, "recoding": {"levels": {"age": 1}}, "suppression": "0.2"},
    "local": {"k": 8, "l": 2, "suppression": "0.1", "recoding": {"search": {"local": True}}},
    "every": {"k": 5, "l": 2, "t": "0.3", "suppression": "0.5", "criteria": CRITERIA},
    "delta": {"k": 5, "t": "0.5", "criteria": {"delta": "3", "beta": {"basic": "3"}}, "suppression": "0.5"},
}


def policy(folder: Path, which: str, changes: dict[str, object] | None = None) -> Policy:
    """One of the policies, with some keys changed; the population of the table is in the folder."""
    write_people(folder)
    (folder / "policy.yaml").write_text(ATTRIBUTES + "release: {method: k-anonymity, k: 5, output: csv}\n")
    keys = {f"release.{key}": value for key, value in METHODS[which].items()}
    return Policy.load(folder / "policy.yaml").with_changes({**keys, **(changes or {})})


def write_people(folder: Path) -> Path:
    """A population that holds the clinic's patients, whoever they are: five of every age and sex."""
    lines = [f"{age},{sex},5" for age in range(100) for sex in "fm"]
    (folder / "people.csv").write_text("\n".join(["age,sex,people", *lines]) + "\n")
    return folder / "people.csv"


def planned(folder: Path, which: str, changes: dict[str, object] | None = None) -> FullDomainPlan:
    """The plan of one of the policies."""
    return FullDomainPlan.of(policy(folder, which, changes))


def publish(
    folder: Path, which: str, changes: dict[str, object] | None = None, *, name: str = "out", rows: int = 200, **options
) -> Release:
    """Plan and release the clinic's table into a folder, with a ledger beside it; without a report unless it is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    table = options.pop("table", None) or write_table(folder / "table.csv", rows)
    options = {"again": True, "report": False} | options
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        made = planned(folder, which, changes)
        return release(made, table, folder / name, ledger=ledger, engine=open_engine("duckdb"), **options)
