"""Attacks that once passed a verifier, each with the check that refuses it now."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest

from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.clinic import planned
from tests.publish.verify.forgery import certificate, write
from tests.publish.verify.freeze import FROZEN

MASK = {"kind": "masked", "labels": None, "side": "right", "kept": 2, "letter": "*"}
KEEP = {"kind": "keep", "labels": None, "low": None, "high": None, "pattern": None}


@pytest.mark.parametrize(
    ("rule", "kind", "honest", "forged"),
    [
        (MASK, "text", "12***", "12345"),
        (MASK, "text", "12***", "Anna Smith"),
        (MASK | {"side": "left"}, "text", "***45", "12345"),
        (MASK | {"letter": ""}, "text", "12", "123"),
        (KEEP | {"pattern": "[0-9]{5}"}, "text", "34999", "Anna Smith"),
        (KEEP | {"low": "0", "high": "20"}, "integer", "10", "1_0"),
        (KEEP | {"low": "0", "high": "20"}, "integer", "10", " +010"),
        (KEEP | {"low": "0", "high": "20"}, "integer", 20, 20.9),
        (KEEP | {"low": "0", "high": "20"}, "decimal", "5", "10/2"),
        (KEEP, "date", "2024-01-08", "20240108"),
        (KEEP, "boolean", "false", "False"),
    ],
)
def test_a_label_that_its_rule_or_its_spelling_does_not_allow_is_refused(rule, kind, honest, forged):
    assert verifier.can_show(rule, kind, {honest})
    assert not verifier.can_show(rule, kind, {honest, forged})


def lock(kind: str) -> str:
    return (FROZEN / kind / "policy.lock.yaml").read_text()


@pytest.mark.parametrize("kind", sorted(path.name for path in FROZEN.iterdir() if path.is_dir()))
def test_the_locks_of_genuine_releases_are_allowed(kind):
    assert verifier.is_allowed(verifier.read_lock(lock(kind)))


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("published-bound", 'unit: "row"\n', 'unit:\n  column: "patient"\n  max_rows: 4\n'),
        ("repeat", 'beta: "0.3"', 'already: "0.3"'),
        ("views", 'beta: "0.3"', 'already: "0.3"'),
        ("choose", 'beta: "0.3"', 'already: "0.3"'),
        ("tree", 'beta: "0.3"', 'already: "0.3"'),
        ("several-rows", 'beta: "0.3"', 'already: "0.3"'),
        ("several-rows", 'column: "patient"', 'column: "household"'),
        ("microaggregation", 'unit: "row"\n', 'unit:\n  column: "patient"\n  max_rows: 3\n'),
        ("levels", 'domain: "declared"', 'domain: "profiled "'),
    ],
)
def test_a_lock_to_which_no_theorem_applies_is_refused(kind, old, new):
    text = lock(kind)
    assert old in text
    assert not verifier.is_allowed(verifier.read_lock(text.replace(old, new, 1)))


def test_a_number_of_records_without_noise_is_allowed_where_one_row_is_replaced_alone():
    locked = planned({"neighbours": "replace_one", "release.epsilon": "2", "release.total": {"epsilon": "0"}}).lock.text
    assert verifier.is_allowed(verifier.read_lock(locked))
    for old, new in (
        ('neighbours: "replace_one"', 'neighbours: "add_remove"'),
        ('unit: "row"\n', 'unit:\n  column: "patient"\n  max_rows: 1\n'),
    ):
        assert old in locked
        assert not verifier.is_allowed(verifier.read_lock(locked.replace(old, new, 1)))


def test_bytes_between_the_columns_of_a_parquet_file_are_found(tmp_path):
    table = Path(shutil.copy(FROZEN / "tree-on-sample" / "table.parquet", tmp_path))
    assert verifier.has_no_notes(tmp_path, table.name)
    body = table.read_bytes()
    cut = len(body) - 8 - struct.unpack("<I", body[-8:-4])[0]
    table.write_bytes(body[:cut] + b"Anna Smith,47,f\n" * 20 + body[cut:])
    assert not verifier.has_no_notes(tmp_path, table.name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda folder, content: content["software"].update(shoal="0.1.0 (certified by the regulator)"), "keys"),
        (lambda folder, content: (folder / "epsilon is 0.01, proved").mkdir(), "no-other-files"),
    ],
)
def test_text_that_nobody_compares_has_no_place(tmp_path, change, check):
    folder = Path(shutil.copytree(FROZEN / "levels", tmp_path / "levels"))
    content = certificate(folder)
    change(folder, content)
    write(folder, content)
    assert check in {each.id for each in verifier.verify(folder) if each.agrees is False}
    assert {each.id for each in verify(folder) if each.agrees is False} & {check, "model"}


@pytest.mark.slow
def test_a_premise_that_is_listed_twice_or_renamed_under_another_wording_does_not_pass_as_met(tmp_path):
    for name, change in {
        "twice": lambda premises: premises.insert(0, {**premises[-1], "how": "checked by the program"}),
        "renamed": lambda premises: [each.update(id="all-is-well") for each in premises],
        "left-out": lambda premises: premises.pop(),
    }.items():
        folder = Path(shutil.copytree(FROZEN / "levels", tmp_path / name))
        content = json.loads((folder / "certificate.json").read_text())
        change(content["theorems"][0]["premises"])
        content["wording"]["version"] += 1
        write(folder, content)
        found = [each.agrees for each in verify(folder) if each.id == "premises"]
        assert True not in found, name
