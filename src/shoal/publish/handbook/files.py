"""The files of the handbook: written before a release is sealed, and made again by whoever verifies it.

README.md, README.html        how to use the release
codebook.csv, codebook.html   every column, every label and what it stands for
datapackage.json              the tables and their columns as a Frictionless Data Package
read_release.py               a reader for Python alone; the same file in every release

All of them follow from the certificate, the locked plan and the rules of the labels. Nothing in them comes from the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.policy.policy import Policy
from shoal.progress import Stage, each_of, silent
from shoal.publish.handbook.codebook import codebook_page, codebook_text
from shoal.publish.handbook.content import Concepts, Handbook, make_handbook, rules_of
from shoal.publish.handbook.data_package import data_package_text
from shoal.publish.handbook.readme import readme_page, readme_text
from shoal.publish.verify.lock import read_locked_policy
from shoal.publish.verify.standalone import HANDBOOK, Check, read_bytes, read_json, read_lock, read_text

READER = "read_release.py"


def handbook_of(folder: Path, certificate: Mapping[str, Any], lock: str) -> Handbook:
    """The handbook of a release folder, from its certificate as plain values, the text of its lock, and its rules."""
    names = drawn_columns(certificate)
    concepts = concepts_of(read_locked_policy(folder)[0], names) if names else None
    return make_handbook(certificate, read_lock(lock), lambda name: read_json(folder, name), concepts)


def drawn_columns(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose cells may be concepts of a hierarchy, drawn for a cluster."""
    shows = [entry.get("shows", {}) for entry in certificate["tables"]]
    return tuple(name for own in shows for name, what in own.items() if what == "drawn concept")


def concepts_of(policy: Policy, names: Iterable[str]) -> Concepts:
    """For each of these columns every concept of its declared hierarchy with the values below it."""
    from shoal.anonymize.cluster.lattice import ConceptLattice

    found = {}
    for name in names:
        tree = ConceptLattice.of(policy.schema[name]).taxonomy
        below: dict[str, list[str]] = {}
        for value in tree.values:
            for concept in tree.ancestors(value):
                below.setdefault(concept, []).append(value)
        found[name] = {concept: tuple(values) for concept, values in below.items()}
    return found


@cache
def reader_text() -> str:
    """The one-file reader."""
    return resources("shoal.publish.handbook").joinpath(READER).read_text(encoding="utf-8")


_MAKERS: Mapping[str, Callable[[Handbook], str]] = {
    "README.html": readme_page,
    "README.md": readme_text,
    "codebook.csv": codebook_text,
    "codebook.html": codebook_page,
    "datapackage.json": data_package_text,
    READER: lambda _: reader_text(),
}


def handbook_files(handbook: Handbook, stage: Stage = silent, name: str = "writing the pages") -> dict[str, str]:
    """The text of every file of the handbook; `stage` is told under this name how many are made."""
    return {file: make(handbook) for file, make in each_of(tuple(_MAKERS.items()), stage, name)}


def try_handbook(certificate: Mapping[str, Any], lock: str, concepts: Concepts | None = None) -> None:
    """Make the handbook of a release to come, with one label for each column: what fails, fails before the charge."""
    plan = read_lock(lock)
    entries = [*certificate["tables"], *certificate.get("counts", ())]
    names = {file: name for entry in entries for name, files in rules_of(entry).items() for file in files}

    def one_label(file: str) -> dict[str, Any]:
        name = names[file]
        return {"kind": "whole", "attribute": name, "type": plan["attributes"][name]["type"], "labels": ["*"]}

    handbook_files(make_handbook(certificate, plan, one_label, concepts))


def handbook_checks(
    folder: Path, certificate: Mapping[str, Any], stage: Stage = silent, name: str = "the pages"
) -> list[Check]:
    """Whether the handbook is what this version makes of the release; None for one of another version, nothing for none."""
    if not certificate["files"].keys() >= HANDBOOK:
        return []
    made_by = certificate["software"]["shoal"]
    if made_by != __version__:
        detail = f"made by version {made_by}, and this is {__version__}: hashes are compared, the words are not"
        return [Check("handbook", None, detail)]
    handbook = handbook_of(folder, certificate, read_text(folder, "policy.lock.yaml"))
    return [
        Check("handbook", read_bytes(folder, file) == text.encode("utf-8"), "to the letter", about=file)
        for file, text in handbook_files(handbook, stage, name).items()
    ]
