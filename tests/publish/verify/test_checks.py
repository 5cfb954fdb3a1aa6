"""The checks of both verifiers are closed lists; every one of them fires, on a forgery that is made for it."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import CHECKS, OWN_CHECKS, verify
from tests.publish.clinic import TREATED, publish
from tests.publish.verify.box_forgery import BOX_FORGERIES, OTHER_BOX_FORGERIES
from tests.publish.verify.centroid_forgery import CENTROID_FORGERIES, centroids
from tests.publish.verify.forgery import certificate, redraw, write
from tests.publish.verify.freeze import FROZEN, KINDS
from tests.publish.verify.group_forgery import GROUP_FORGERIES, grouped
from tests.publish.verify.level_forgery import LEVEL_FORGERIES
from tests.publish.verify.noisy_forgery import NOISY_FORGERIES, NOISY_LEFT_OPEN, noisy

__all__ = ["centroids", "grouped", "noisy"]

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "certificates.md"
Change = Callable[[Path, dict[str, Any]], object]

LEFT_OPEN = {"handbook", "wording", "label-meaning", "recoding-lattice", "display", *NOISY_LEFT_OPEN}
"""What the one-file verifier does not compare."""


def lines(folder: Path, name: str = "table.csv") -> list[str]:
    return (folder / name).read_text().splitlines()


def put(folder: Path, rows: list[str], name: str = "table.csv") -> None:
    (folder / name).write_text("\n".join(rows) + "\n")


def replaced(name: str, old: str, new: str) -> Change:
    """A text replaced in a file, once."""

    def change(folder: Path, _: dict[str, Any]) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def noted(folder: Path, _: dict[str, Any]) -> None:
    table = folder / "table.parquet"
    pq.write_table(pq.read_table(table).replace_schema_metadata({"who": "John"}), table)


def part_removed(folder: Path, content: dict[str, Any]) -> None:
    del content["files"]["table.parquet/part-00001.parquet"]
    (folder / "table.parquet" / "part-00001.parquet").unlink()


def added(folder: Path, content: dict[str, Any]) -> None:
    (folder / "original.csv").write_text("name,age\nJohn,3\n")
    content["files"]["original.csv"] = "0" * 64


def reversed_rows(folder: Path, _: dict[str, Any]) -> None:
    head, *rows = lines(folder)
    put(folder, [head, *rows[::-1]])


def small_class(folder: Path, _: dict[str, Any]) -> None:
    head, *rows = lines(folder)
    put(folder, [head, *rows[: len(rows) - rows.count(rows[-1]) + 1]])


def rule_changed(folder: Path, _: dict[str, Any]) -> None:
    file = folder / "recoding" / "01-age.json"
    rule = json.loads(file.read_text())
    rule["labels"] = rule["labels"][::-1]
    file.write_text(json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def box_missing(folder: Path, _: dict[str, Any]) -> None:
    put(folder, lines(folder, "recoding/boxes.csv")[:-1], "recoding/boxes.csv")


def box_twice(folder: Path, _: dict[str, Any]) -> None:
    boxes = lines(folder, "recoding/boxes.csv")
    put(folder, [*boxes, boxes[-1]], "recoding/boxes.csv")


def one_value(folder: Path, _: dict[str, Any]) -> None:
    head, *rows = lines(folder)
    put(folder, [head, *sorted(f"{row.rpartition(',')[0]},flu" for row in rows)])


def of_a_class(folder: Path, _: dict[str, Any]) -> None:
    """The first class shows one confidential value throughout, and all others another."""
    head, *rows = lines(folder)
    first = rows[0].rpartition(",")[0]
    put(
        folder,
        [head, *sorted(f"{row.rpartition(',')[0]},{'rare' if row.startswith(first) else 'flu'}" for row in rows)],
    )


def renamed(folder: Path, content: dict[str, Any]) -> None:
    content["tables"][0]["file"] = content["tables"][0]["file"].replace("table", "tables")


def cheap_entry(_: Path, content: dict[str, Any]) -> None:
    """A charge before this one, which says that it cost less than its part."""
    last = content["ledger"]["entries"][0]
    part = {"guarantee": {"kind": "pure-dp", "epsilon": "5"}, "times": 1}
    content["ledger"]["entries"] = [
        {"number": 1, "epsilon": "0.1", "delta": "0", "parts": [part]},
        {**last, "number": 2},
    ]


def edit(*path: Any, value: Any) -> Change:
    """One place of the certificate."""

    def change(_: Path, content: dict[str, Any]) -> None:
        place: Any = content
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


FORGERIES: dict[str, tuple[str, Change]] = {
    # files and hashes
    "format": ("levels", edit("format", value=2)),
    "keys": ("levels", edit("note", value="trust us")),
    "readable": ("levels", lambda folder, _: (folder / "recoding" / "01-age.json").write_text("{")),
    "bounds": ("levels", lambda _, c: c["ledger"]["entries"].insert(0, {**c["ledger"]["entries"][0], "number": 10**50})),
    "plain-files": ("levels", lambda folder, _: (folder / "recoding" / "note").symlink_to("01-age.json")),
    "no-other-files": ("levels", lambda folder, _: (folder / "notes.txt").write_text("mine")),
    "no-idle-files": ("levels", added),
    "plan-hash": ("levels", edit("plan_sha256", value="0" * 64)),
    "handbook": ("new", replaced("README.md", "Do not read absence as zero", "Read absence as zero")),
    "wording": ("new", edit("sentence", value="Nobody can learn anything.")),
    # the locked plan
    "lock-text": ("levels", replaced("policy.lock.yaml", "unit:", "unit: ")),
    "lock-keys": ("levels", replaced("policy.lock.yaml", "budget:\n", 'note: "epsilon is 0.01"\nbudget:\n')),
    "lock-allowed": (
        "published-bound",
        replaced("policy.lock.yaml", 'unit: "row"\n', 'unit:\n  column: "patient"\n  max_rows: 4\n'),
    ),
    "lock-method": ("levels", replaced("policy.lock.yaml", 'method: "safe-k"', 'method: "microaggregation"')),
    # promise and claims
    "dataset": ("levels", edit("dataset", value="elsewhere")),
    "date": ("levels", edit("date", value="2026-13-01")),
    "method": ("microaggregation", edit("method", value="probabilistic-k")),
    "bound": ("levels", edit("bound", value="published")),
    "guarantee": ("levels", edit("guarantee", "epsilon", value="0.5")),
    "unit": ("several-rows", edit("guarantee", "unit", "max_rows", value=9)),
    "status": ("views-chosen", edit("status", value="proved")),
    "claims": ("levels", edit("claims", 1, "guarantee", "k", value=1000)),
    "conditions": ("already-sampled", edit("claims", 0, "conditions", value=[])),
    "theorems": ("levels", edit("theorems", 0, "name", value="post-processing")),
    # the numbers of samples
    "samples": ("repeat", edit("samples", 0, "times", value=3)),
    "locked-k": ("levels", replaced("policy.lock.yaml", '  delta: "0.001"', '  delta: "0.001"\n  k: 40')),
    "locked-beta": ("levels", edit("samples", 0, "beta", value="0.2")),
    "sample-delta": ("levels", edit("samples", 0, "delta", value="1e-9")),
    "delta-tight": ("levels", edit("samples", 0, "delta_tight", value="1e-9")),
    "delta-for-unit": ("replace-one", edit("samples", 0, "delta_for_unit", value="1e-9")),
    "delta-published": ("published-bound", edit("samples", 0, "delta_published", value="1e-9")),
    "promise": ("levels", lambda _, c: (c["samples"][0].update(k=2), c["tables"][0].update(k=2))),
    "curve-epsilons": ("levels", edit("curve", 0, "epsilon", value="0.01")),
    "curve-falls": ("levels", edit("curve", 0, "delta", value="1e-30")),
    "curve": ("views", lambda _, c: [point.update(delta="1e-9") for point in c["curve"]]),
    # treatments
    "treatments": ("treated", edit("treatments", 1, "parameters", "code", value="70")),
    "treated-values": ("treated", lambda folder, _: put(folder, [line.replace("60,", "61,") for line in lines(folder)])),
    # views
    "view-count": ("views", edit("views", "count", value=2)),
    "view-choice": ("views-chosen", edit("views", "choice", "epsilon", value="0.1")),
    "view-names": ("views", edit("tables", 0, "name", value="1-x")),
    "locked-views": ("views", replaced("policy.lock.yaml", 'every: "pairs"', 'every: "singles"')),
    "view-index": ("views", replaced("views.json", '"beta": "0.3"', '"beta": "0.9"')),
    "views-composed": ("views", edit("views", "epsilon_composed", value="0.1")),
    "views-added-up": ("views", edit("views", "epsilon_added_up", value="0.1")),
    # the ledger
    "ledger-order": ("levels", edit("ledger", "entries", 0, "number", value=2)),
    "ledger-charge": ("levels", edit("ledger", "entries", 0, "epsilon", value="0.5")),
    "ledger-total": ("levels", edit("ledger", "total", "epsilon", value="0.5")),
    "ledger-parts": ("levels", cheap_entry),
    "ledger-budget": ("levels", edit("ledger", "budget", "epsilon", value="9")),
    "ledger-composed": ("views", edit("ledger", "epsilon_composed", value="0.1")),
    "ledger-looks": ("new", edit("ledger", "looks", value=[{"kind": "init", "times": 1, "other_plan": 1}])),
    # the recoding
    "recoding-price": ("tree", edit("recoding_choice", "epsilon", value="0.1")),
    "recoding-noise": ("tree-on-sample", edit("recoding_choice", "sample_rate", value="0.1")),
    "recoding-lattice": ("choose", edit("recoding_choice", "schemes", value=1)),
    "recoding-levels": ("levels", replaced("policy.lock.yaml", '"age": 2', '"age": 1')),
    "label-meaning": ("levels", rule_changed),
    # tables
    "table-files": ("levels", renamed),
    "table-parts": ("parts", part_removed),
    "table-columns": ("levels", lambda folder, _: put(folder, [f"{line},x" for line in lines(folder)])),
    "table-text": ("levels", lambda folder, _: put(folder, [line.replace(",f,", ',"f",') for line in lines(folder)])),
    "table-notes": ("tree-on-sample", noted),
    "class-size": ("levels", small_class),
    "labels": ("levels", lambda folder, _: put(folder, [line.replace("cold", "plague") for line in lines(folder)])),
    "row-order": ("levels", reversed_rows),
    "boxes": ("tree", box_twice),
    "boxes-divide": ("tree", box_missing),
    # plain samples
    "sample-rate": ("sample", edit("samples", 0, "beta", value="0.123")),
    # counted guarantees
    "grouping": ("microaggregation", edit("grouping", "name", value="vmdav")),
    "single-table": ("microaggregation", added),
    "roles": ("microaggregation", lambda _, c: c["tables"][0]["quasi"].remove("sex")),
    "display": ("microaggregation", lambda _, c: c["tables"][0]["shows"].update(sex="ancestor")),
    "row-count": ("probabilistic-k", lambda folder, _: put(folder, lines(folder)[:7])),
    "distinct-values": ("microaggregation", one_value),
    "closeness": ("microaggregation", of_a_class),
    "prior-charges": ("microaggregation", edit("ledger", "epsilon", value="3")),
    # `shoal verify` alone
    "model": ("levels", lambda _, c: c["tables"][0]["columns"].append("age")),
    "lock-canonical": ("levels", replaced("policy.lock.yaml", 'beta: "0.3"', 'beta: "0.30"')),
    "numbers": ("levels", edit("samples", 0, "k", value=2)),
    "rebuilt": ("levels", edit("ledger", "entries", 0, "epsilon", value="0.5")),
    "premises": ("levels", edit("theorems", 0, "premises", value=[])),
    "table-rewritten": ("probabilistic-k", reversed_rows),
    **NOISY_FORGERIES,
    **GROUP_FORGERIES,
    **LEVEL_FORGERIES,
    **BOX_FORGERIES,
    **CENTROID_FORGERIES,
}  # fmt: skip
"""For each check a kind of release and a forgery that it must catch; hashes and seal are made anew by the forger."""
NOISY = {
    "sample",
    *(kind for kind, _ in (*NOISY_FORGERIES.values(), *LEVEL_FORGERIES.values(), *BOX_FORGERIES.values())),
}
"""Kinds of which no folder is frozen."""
GROUPED = {kind for kind, _ in GROUP_FORGERIES.values()}
CENTROIDS = {kind for kind, _ in CENTROID_FORGERIES.values()}
NOT_RESEALED: dict[str, tuple[str, Change]] = {
    "seal": ("levels", edit("sentence", value="Nobody can learn anything.")),
    "file-hash": ("levels", lambda folder, _: put(folder, lines(folder)[:-1])),
    "wording-hash": ("levels", edit("not_promised", value=["Nothing."])),
    "page-hash": ("levels", replaced("certificate.html", "Certificate", "Guarantee")),
    "page": ("new", replaced("certificate.html", "Certificate of a release", "Certificate of a great release")),
}
"""The same for what a forger who makes the hashes anew gets around."""


PACKED: dict[str, tuple[str, bytes]] = {"enclosure": ("verifier.py", b"print('VERIFIED')\n")}
"""The same for what lies beside a release in a zip file."""


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the present wording."""
    return publish(tmp_path_factory.mktemp("new"), report=False).folder


@pytest.fixture(scope="module")
def treated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose values were treated before the method."""
    return publish(tmp_path_factory.mktemp("treated"), TREATED, report=False).folder


def copy(kind: str, new: Path, tmp_path: Path, noisy: Callable[[str], Path] = lambda kind: FROZEN / kind) -> Path:
    return Path(
        shutil.copytree(
            new
            if kind in ("new", "treated")
            else noisy(kind)
            if kind in NOISY | GROUPED | CENTROIDS
            else FROZEN / kind,
            tmp_path / kind,
        )
    )


def failed(folder: Path) -> set[str]:
    return {check.id for check in verify(folder) if check.agrees is False}


def failed_alone(folder: Path) -> set[str]:
    return {check.id for check in verifier.verify(folder) if check.agrees is False}


@pytest.mark.parametrize("check", FORGERIES)
def test_every_check_fires(tmp_path, new, treated, noisy, grouped, centroids, check):
    kind, change = FORGERIES[check]
    made = grouped if kind in GROUPED else centroids if kind in CENTROIDS else noisy
    folder = copy(kind, treated if kind == "treated" else new, tmp_path, made)
    content = certificate(folder)
    change(folder, content)
    write(folder, content, rehash=check != "plan-hash")
    assert check in failed(folder)
    if check in verifier.CHECKS and check not in LEFT_OPEN:
        assert check in failed_alone(folder)


@pytest.mark.parametrize("check", OTHER_BOX_FORGERIES)
def test_checks_of_every_release_fire_on_rows_inside_boxes(tmp_path, new, noisy, check):
    kind, change = OTHER_BOX_FORGERIES[check]
    folder = copy(kind, new, tmp_path, noisy)
    content = certificate(folder)
    change(folder, content)
    write(folder, content)
    assert failed(folder)
    assert check in {each.name for each in verifier.verify(folder) if each.agrees is False}


@pytest.mark.parametrize("check", NOT_RESEALED)
def test_every_hash_fires(tmp_path, new, check):
    kind, change = NOT_RESEALED[check]
    folder = copy(kind, new, tmp_path)
    content = certificate(folder)
    change(folder, content)
    if check == "page":  # the hash of the page is made anew, and its text is not the one that this version draws
        text = (folder / "certificate.html").read_text()
        redraw(folder)
        content = certificate(folder)
        text = text.replace(json.loads((new / "certificate.json").read_text())["seal"], "0" * 64)
        content["wording"]["page_sha256"] = verifier.hashlib.sha256(text.encode()).hexdigest()
        content["seal"] = verifier.seal(content)
        (folder / "certificate.html").write_text(text.replace("0" * 64, content["seal"]))
    (folder / "certificate.json").write_text(json.dumps(content))
    assert check in failed(folder)
    if check in verifier.CHECKS:
        assert check in failed_alone(folder)


@pytest.mark.parametrize("check", PACKED)
def test_every_check_of_a_zip_file_fires(tmp_path, new, check):
    name, content = PACKED[check]
    honest, forged = pack(new, tmp_path / "honest.zip"), tmp_path / "forged.zip"
    with zipfile.ZipFile(honest) as archive, zipfile.ZipFile(forged, "w") as other:
        for entry in archive.infolist():
            other.writestr(entry, content if entry.filename == name else archive.read(entry))
    assert failed(honest) == set()
    assert failed(forged) == {check}


def test_no_check_is_without_a_forgery():
    assert {*FORGERIES, *NOT_RESEALED, *PACKED} == set(CHECKS)
    assert len(verifier.CHECKS) >= 58
    assert not set(OWN_CHECKS) & set(verifier.CHECKS)


def test_verifiers_make_no_check_that_is_not_on_the_list(treated, noisy, grouped, centroids):
    made, alone = set(), set()
    own = (*(noisy(kind) for kind in sorted(NOISY)), *(grouped(kind) for kind in sorted(GROUPED)))
    own = (*own, *(centroids(kind) for kind in sorted(CENTROIDS)))
    for folder in (treated, *(FROZEN / kind for kind in KINDS), *own):
        made |= {check.id for check in verify(folder)}
        alone |= {check.id for check in verifier.verify(folder)}
    assert made <= set(CHECKS)
    assert alone <= set(verifier.CHECKS)
    assert alone - {"wording"} <= made | LEFT_OPEN  # what the one file checks, `shoal verify` checks
    assert LEFT_OPEN - {"wording"} <= made
    assert set(verifier.CHECKS) - alone == {"format", "readable", "bounds"}  # made only where they fail


def test_the_guide_lists_every_check_with_its_meaning():
    listed = dict(
        re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", GUIDE.read_text().partition("## What is checked")[2], re.MULTILINE)
    )
    assert {id_: listed.get(id_) for id_ in CHECKS} == CHECKS
