"""A lock is read back into the policy that it was written from, and written again to the same letter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shoal.engine.base import open_engine
from shoal.errors import PolicyError
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.folder import hierarchy_file, read_hierarchies
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify.lock import policy_of_lock
from shoal.publish.verify.release import verify
from tests.policy.written import BASE
from tests.publish.clinic import POLICY as PAID
from tests.publish.clinic import write_table
from tests.publish.counted_clinic import policy
from tests.publish.verify.counted_forgery import alone, failed, resealed
from tests.publish.verify.forgery import certificate, redraw, write


@pytest.fixture
def held(tmp_path):
    """A folder with two hierarchies in files."""
    ages = [f"{age};{10 * (age // 10)}+;all" for age in range(100)]
    (tmp_path / "ages.csv").write_text("\n".join(ages) + "\n")
    (tmp_path / "sexes.yaml").write_text("anybody: [f, m]\n")
    return tmp_path


def with_files(held, which: str) -> Policy:
    changes = {"attributes.sex.hierarchy": {"taxonomy": "sexes.yaml"}, "attributes.age.hierarchy": {"file": "ages.csv"}}
    changes["attributes.age.domain"] = {"values": list(range(100))}
    return Policy.parse(policy(which).with_changes({"dataset": "files"}).dump(), held).with_changes(changes)


LEVELS = {"age": 2, "zip": 1, "visit": 0, "answer": 0}
CHANGES = [
    {},
    {"release": None},
    {"budget": None},
    {"release.recoding": {"levels": LEVELS}, "release.k": 20},
    {"release.views": {"groups": [["age", "zip"], ["visit", "answer"]]}},
    {"release.sampling": {"already": "0.1"}, "release.recoding": {"levels": LEVELS}},
    {"unit": {"column": "id", "max_rows": 3}},
    {"neighbours": "replace_one", "release.bound": "published"},
    {"attributes.age.provenance": "profiled", "attributes.age.weight": 2, "attributes.age.outside": "clamp"},
    {"attributes.age.provenance": {"domain": "declared", "hierarchy": "profiled"}, "attributes.zip.missing": "refuse"},
    {"attributes.age.hierarchy": {"intervals": [5, 10], "below": 20, "above": 90}},
    {"attributes.age.hierarchy": {"cuts": [[18, 65], [65]]}},
    {"attributes.zip.hierarchy": {"mask": {"prefix": [3, 2]}}, "dataset": "né # : 'x'"},
    {"release": {"method": "microaggregation", "k": 3, "grouping": "vmdav", "gain": "0.50"}},
    {"release": {"method": "probabilistic-k", "k": 3, "l": 2, "t": "1/3"}},
]


@pytest.mark.slow
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_lock_comes_back_to_the_letter(changes):
    written = Policy.parse(BASE).with_changes(changes)
    back = policy_of_lock(written.lock().text)
    assert back.lock() == written.lock()
    assert {one.name: one.type for one in back.schema.attributes} == {
        one.name: one.type for one in written.schema.attributes
    }


@pytest.mark.parametrize("which", ["microaggregation", "swap"])
def test_of_a_hierarchy_in_a_file_the_hash_stays(held, which):
    written = with_files(held, which)
    back = policy_of_lock(written.lock().text)
    assert back.lock() == written.lock()
    assert back.hashes == written.hashes
    assert set(back.hashes) == {"age", "sex"}
    assert all(back.schema[name].hierarchy is not None for name in back.hashes)


def test_levels_of_a_file_are_not_asked_about(held):
    release = {"method": "safe-k", "epsilon": 1, "delta": "1e-3", "k": 5, "recoding": {"levels": {"age": 2, "sex": 0}}}
    written = with_files(held, "swap").with_changes({"release": release})
    assert policy_of_lock(written.lock().text).lock() == written.lock()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('method: "probabilistic-k"', 'method: "microaggregation"\n  epsilon: "1"'),
        ("attributes:", "note: 1\nattributes:"),
        ('role: "quasi"', 'role: "king"'),
    ],
)
def test_what_no_policy_says_no_lock_says(old, new):
    text = policy("swap").lock().text
    assert old in text
    with pytest.raises(PolicyError):
        policy_of_lock(text.replace(old, new, 1))


def released(held, policy: Policy):
    """The clinic's table under a policy that lies beside it."""
    table = held / "table.csv"
    with Ledger(str(held / "ledger.sqlite")) as ledger:
        source = table if table.exists() else write_table(table, 300)
        return release(plan(policy), source, held / policy.dataset, ledger=ledger, engine=open_engine(), report=False)


@pytest.mark.slow
@pytest.mark.parametrize("hierarchy", [{"groups": {"anybody": ["f", "m"]}}, {"taxonomy": "sexes.yaml"}], ids=str)
def test_what_a_hierarchy_decides_is_exact_also_when_it_is_a_file(held, hierarchy):
    """With a hierarchy a group shows a concept; a certificate that says mode is not the one that was made."""
    made = released(held, with_files(held, "microaggregation").with_changes({"attributes.sex.hierarchy": hierarchy}))
    assert failed(made.folder) == set()
    assert alone(made.folder) == 0
    assert made.certificate["tables"][0]["shows"]["sex"] == "concept"
    made.certificate["tables"][0]["shows"]["sex"] = "mode"
    assert failed(resealed(made.folder, made.certificate)) == {"display", "handbook"}  # its README says what is shown


def as_without_the_file(folder: Path) -> None:
    """The folder as versions have made it that did not let it carry the files of its hierarchies."""
    shutil.rmtree(folder / "hierarchies")
    content = certificate(folder)
    content["files"] = {name: sha256 for name, sha256 in content["files"].items() if "hierarchies" not in name}
    write(folder, content)
    redraw(folder)


def test_the_file_of_a_hierarchy_that_was_drafted_from_the_data_stays_with_the_custodian(held):
    asked = with_files(held, "microaggregation")
    drafted = asked.with_changes({"attributes.sex.provenance": {"domain": "declared", "hierarchy": "profiled"}})
    assert set(read_hierarchies(asked)) == {hierarchy_file(digest) for digest in asked.hashes.values()}
    assert set(read_hierarchies(drafted)) == {hierarchy_file(asked.hashes["age"])}


@pytest.mark.slow
def test_a_release_carries_the_files_of_its_hierarchies_and_its_rules_are_held_against_them(held):
    asked = Policy.parse(PAID, held).with_changes({"attributes.sex.hierarchy": {"taxonomy": "sexes.yaml"}})
    folder = released(held, asked).folder
    (carried,) = (folder / "hierarchies").iterdir()
    assert carried.read_bytes() == (held / "sexes.yaml").read_bytes()
    assert all(check.agrees for check in verify(folder))
    assert alone(folder) == 0
    honest = Path(shutil.copytree(folder, held / "honest"))
    (file,) = folder.glob("recoding/*-sex.json")
    rule = json.loads(file.read_text())
    file.write_text(json.dumps({**rule, "domain": "anybody"}, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    write(folder, certificate(folder))
    redraw(folder)
    assert failed(folder) == {"label-meaning"}
    carried = honest / "hierarchies" / carried.name
    carried.write_text("anybody: [f, m, x]\n")
    write(honest, certificate(honest))
    redraw(honest)
    assert "no-idle-files" in failed(honest)


@pytest.mark.slow
def test_a_hierarchy_that_changes_after_the_plan_is_refused_before_anything_is_charged(held):
    asked = Policy.parse(PAID, held).with_changes({"attributes.sex.hierarchy": {"taxonomy": "sexes.yaml"}})
    ready = plan(asked)
    (held / "sexes.yaml").write_text((held / "sexes.yaml").read_text() + "# another\n")
    with Ledger(str(held / "ledger.sqlite")) as ledger:
        with pytest.raises(PolicyError, match="changed since the policy was read"):
            release(ready, write_table(held / "table.csv", 300), held / "out", ledger=ledger, engine=open_engine())
        assert not ledger.account(asked.dataset).costs


@pytest.mark.slow
def test_the_page_is_looked_at_also_where_a_hierarchy_is_not_here(held):
    """What cannot be recomputed is no failure, and no reason to look away."""
    made = released(
        held, Policy.parse(PAID, held).with_changes({"attributes.sex.hierarchy": {"taxonomy": "sexes.yaml"}})
    )
    assert all(check.agrees for check in verify(made.folder))
    as_without_the_file(made.folder)
    assert any(check.agrees is None for check in verify(made.folder))
    assert failed(made.folder) == set()
    (made.folder / "certificate.html").write_text("All is safe.")
    assert failed(made.folder) == {"page-hash"}
