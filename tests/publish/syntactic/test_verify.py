"""Somebody changes something in a folder: the table, a number, a word, a role; resealed or not, it is seen."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path

import pytest

from shoal.publish.syntactic.paper import certificate_page
from shoal.publish.verifier import seal
from shoal.publish.verify import verify
from tests.publish.syntactic.clinic import publish

CHANGES = {
    "k": lambda c: c["guarantee"].update(k=9),
    "k everywhere": lambda c: (c["guarantee"].update(k=9), c["tables"][0].update(k=9), c["claims"][0]["guarantee"].update(k=9)),
    "status": lambda c: c.update(status="proved"),
    "l": lambda c: c["guarantee"].update(l=2),
    "words": lambda c: c["words"].__setitem__(0, "Nobody can learn anything."),
    "sentence": lambda c: c.update(sentence="Proved: everything."),
    "limits": lambda c: c["not_promised"].pop(),
    "theorem": lambda c: c["theorems"][0].update(statement="It is safe."),
    "premise": lambda c: c["theorems"][0]["premises"][0].update(checked="by prayer"),
    "quasi": lambda c: c["tables"][0]["quasi"].remove("sex"),
    "shows": lambda c: c["tables"][0]["shows"].update(diag="mean"),
    "grouping": lambda c: c["grouping"].update(name="vmdav"),
    "method": lambda c: c.update(method="probabilistic-k"),
    "dataset": lambda c: c.update(dataset="other"),
    "extra": lambda c: c.update(note="trust us"),
    "condition": lambda c: c["claims"][0]["conditions"].append("on Mondays"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("counted"), "microaggregation", report=False).folder


def failed(place: Path) -> set[str]:
    return {check.name for check in verify(place) if check.agrees is False}


def resealed(place: Path, content: dict) -> None:
    content["seal"] = seal({key: value for key, value in content.items() if key != "seal"})
    (place / "certificate.json").write_text(json.dumps(content))
    try:
        (place / "certificate.html").write_text(certificate_page(content))
    except (KeyError, TypeError):
        (place / "certificate.html").write_text("")


@pytest.mark.parametrize("name", CHANGES)
def test_a_resealed_change_is_seen(folder, name):
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    content = json.loads((folder / "certificate.json").read_text())
    before = copy.deepcopy(content)
    CHANGES[name](content)
    assert content != before
    try:
        resealed(folder, content)
        assert failed(folder)
    finally:
        for path, was in kept.items():
            path.write_bytes(was)
    assert failed(folder) == set()


def test_a_changed_table_is_seen_also_when_its_hash_is_too(folder):
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    lines = (folder / "table.csv").read_text().splitlines()
    lines[1] = "3.25,f,flu"
    try:
        (folder / "table.csv").write_text("\n".join(lines) + "\n")
        assert "file table.csv" in failed(folder)
        content = json.loads((folder / "certificate.json").read_text())
        content["files"]["table.csv"] = hashlib.sha256((folder / "table.csv").read_bytes()).hexdigest()
        resealed(folder, content)
        assert failed(folder) == {"groups of table.csv"}
    finally:
        for path, was in kept.items():
            path.write_bytes(was)
