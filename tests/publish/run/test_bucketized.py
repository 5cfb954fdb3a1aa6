"""A release by groups, from the policy to a folder: what is written, noted and said, and what is refused before anything is."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from shoal.ledger.ledger import Ledger
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.cli.run import refused, shoal
from tests.publish.grouped_clinic import ATTRIBUTES, KINDS, policy, publish, write_table
from tests.publish.verify.group_forgery import grouped

__all__ = ["grouped"]

pytestmark = pytest.mark.slow


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_verified_by_both(grouped, kind, capsys):
    folder = grouped(kind)
    assert all(check.agrees for check in verify(folder))
    assert verifier.main([str(folder)]) == 0
    said = capsys.readouterr().out
    assert "no differential privacy" in said.lower()
    assert ("rests on the program" in said) == ("permuted" in kind)
    promised = json.loads((folder / "certificate.json").read_text())
    gain = any(claim["guarantee"]["kind"] == "knowledge-gain" for claim in promised["claims"])
    linked = promised["grouping"]["form"] == "linked"
    assert ("gains no more than this factor by a theorem" in said) == (gain and linked)
    assert ("who was near enough" in said) == (gain and linked and promised["grouping"]["name"] == "near")
    # What somebody finds likely is not counted, and the page does not say that it was.
    page = (folder / "certificate.html").read_text()
    assert ("What is said was counted" in page) == (promised["status"] == "checked" and not gain)


def test_linked_tables_say_how_many_records_of_a_group_have_what(grouped, tmp_path):
    folder = grouped("linked")
    records, held = rows_of(folder, "records.csv"), rows_of(folder, "confidential.csv")
    source = rows_of(tmp_path, write_table(tmp_path / "t.csv").name)
    assert list(records[0]) == ["group", "age", "sex", "ward"]
    assert list(held[0]) == ["group", "diag", "count"]
    assert Counter((r["age"], r["sex"], r["ward"]) for r in records) == Counter(
        (r["age"], r["sex"], r["ward"]) for r in source
    )
    sizes = Counter(row["group"] for row in records)
    counts: dict[str, Counter[str]] = {}
    for row in held:
        counts.setdefault(row["group"], Counter())[row["diag"]] += int(row["count"])
    assert {group: own.total() for group, own in counts.items()} == dict(sizes)
    assert min(sizes.values()) >= 8
    rule = json.loads((folder / "recoding" / "01-diag.json").read_text())
    shown = Counter(rule["table"].get(row["diag"], "(missing)") for row in source)
    assert sum(counts.values(), Counter()) == shown
    # The t that is stated, by its definition.
    ratios = [
        Fraction(own[label], own.total()) / Fraction(shown[label], shown.total())
        for own in counts.values()
        for label in shown
    ]
    reached = max(max(ratio, 1 / ratio) for ratio in ratios)
    assert Fraction(json.loads((folder / "certificate.json").read_text())["achieved_t"]) == reached <= 2


def test_anatomy_keeps_every_value_and_no_share_above_one_in_l(grouped, tmp_path):
    held = rows_of(grouped("anatomy"), "confidential.csv")
    source = rows_of(tmp_path, write_table(tmp_path / "t.csv").name)
    groups: dict[str, Counter[str]] = {}
    for row in held:
        groups.setdefault(row["group"], Counter())[row["diag"]] += int(row["count"])
    assert sum(groups.values(), Counter()) == Counter(row["diag"] for row in source)
    assert all(own.total() >= 5 and 2 * max(own.values()) <= own.total() for own in groups.values())


def test_a_permuted_table_keeps_every_column_and_shows_no_group(grouped, tmp_path):
    shown = rows_of(grouped("anatomy-permuted"), "table.csv")
    source = rows_of(tmp_path, write_table(tmp_path / "t.csv").name)
    for name in ("age", "sex", "ward", "diag"):
        assert Counter(row[name] for row in shown) == Counter(row[name] for row in source)
    assert list(shown[0]) == ["age", "sex", "ward", "diag"]


def test_names_that_are_taken_are_left_to_the_table(tmp_path):
    text = write_table(tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(text.replace("age,sex", "group,count", 1))
    old = policy("linked").dump().replace("age:", "group:").replace("sex:", "count:")
    (tmp_path / "policy.yaml").write_text(old)
    done = shoal("release", tmp_path / "policy.yaml", tmp_path / "table.csv", "--out", tmp_path / "out",
                 "--ledger", tmp_path / "l.sqlite", "--new-ledger")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "lies inside groups" in done.output
    assert "t reached: " in done.output
    assert list(rows_of(tmp_path / "out", "records.csv")[0]) == ["group_", "group", "count", "ward"]
    assert list(rows_of(tmp_path / "out", "confidential.csv")[0]) == ["group_", "diag", "count_"]


def test_one_row_of_each_person_takes_part_and_the_ledger_notes_it_once(tmp_path):
    lines = write_table(tmp_path / "table.csv").read_text().splitlines()
    people = [lines[0], *(f"q{number % 90},{line.partition(',')[2]}" for number, line in enumerate(lines[1:]))]
    (tmp_path / "people.csv").write_text("\n".join(people) + "\n")
    changes = {"unit": {"column": "patient", "max_rows": 1}}
    made = publish(tmp_path, "linked-parquet", changes, table=tmp_path / "people.csv")
    assert made.rows_published == 90
    assert made.charged is None
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        account = ledger.account("clinic")
        assert (account.unbounded, len(account.costs)) == (1, 0)


BAD = {
    # What is wrong with the policy, or with the policy and this table: the release, other roles, the exit code, what is said.
    "t below 1": ("{method: t-closeness, t: 0.5, k: 8}", {}, 2, "a ratio from 1 up"),
    "no t": ("{method: t-closeness, k: 8}", {}, 2, "the key 't' is missing"),
    "no l": ("{method: anatomy, k: 8}", {}, 2, "the key 'l' is missing"),
    "no k": ("{method: anatomy, grouping: confidential}", {}, 2, "the key 'k' is missing"),
    "a price": ("{method: anatomy, l: 2, epsilon: 1}", {}, 2, "no differential promise"),
    "another show": ("{method: t-closeness, t: 2, show: label}", {}, 2, "does not show it"),
    "another grouping": ("{method: anatomy, l: 2, grouping: near}", {}, 2, "not a grouping of method anatomy"),
    "nothing confidential": ("{method: t-closeness, t: 2, k: 8}", {"diag": "other"}, 2, "and there is none"),
    "no quasi-identifier": ("{method: t-closeness, t: 2, k: 8}", {"age": "other", "sex": "other"}, 2, "no quasi-identifier"),
    "two for l": ("{method: anatomy, l: 2}", {"grade": "confidential"}, 2, "one confidential attribute"),
    "k too large": ("{method: t-closeness, t: 2, k: 150}", {}, 3, "at least 2k records"),
    "t too small": ("{method: t-closeness, t: 1.01, k: 5}", {}, 3, "t"),
    "l too large": ("{method: anatomy, l: 4}", {}, 3, "l up to"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_leaves_no_trace(tmp_path, bad):
    release, roles, code, words = BAD[bad]
    text = ATTRIBUTES
    for name, role in roles.items():
        old = next(line for line in text.splitlines() if line.strip().startswith(f"{name}:"))
        text = text.replace(old, old.replace("quasi", role).replace("confidential", role).replace("drop", role))
    (tmp_path / "policy.yaml").write_text(f"{text}release: {release}\n")
    table, ledger = write_table(tmp_path / "table.csv"), tmp_path / "ledger.sqlite"
    with Ledger(str(ledger)):
        pass
    line = ("release", tmp_path / "policy.yaml", table, "--out", tmp_path / "out", "--ledger", ledger)
    done = shoal(*line)
    assert (done.exit_code, done.stdout) == (code, ""), done.output
    assert "\nerror: " in "\n" + done.stderr  # a note may come first: another run on this machine may have been killed
    assert words in done.stderr
    left = {path.name for path in tmp_path.iterdir()} - {"ledger.sqlite-wal", "ledger.sqlite-shm"}
    assert left == {"policy.yaml", "table.csv", "ledger.sqlite"}
    with Ledger(str(ledger)) as noted:
        assert noted.account("clinic").unbounded == 0


def test_what_all_share_is_nothing_to_hide(tmp_path):
    head, *rows = write_table(tmp_path / "table.csv").read_text().splitlines()
    (tmp_path / "table.csv").write_text("\n".join([head, *(f"{row.rpartition(',')[0]},flu" for row in rows)]) + "\n")
    (tmp_path / "policy.yaml").write_text(policy("linked").dump())
    line = ("release", tmp_path / "policy.yaml", tmp_path / "table.csv", "--out", tmp_path / "out")
    error = refused(*line, "--ledger", tmp_path / "l.sqlite", "--new-ledger", code=3)
    assert "every record has the same 'diag'" in error["wrong"]
    assert not (tmp_path / "out").exists()
