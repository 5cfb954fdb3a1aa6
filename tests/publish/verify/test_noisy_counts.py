"""Noisy counts, rows with counts and synthetic rows: honest folders pass both verifiers, and what is altered is named."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.guarantee.noisy_counts import noise_half_width
from shoal.guarantee.rounding import exact_text
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.noisy_counts import in_told_order
from shoal.publish.verify.release import verify
from tests.publish.noisy_clinic import KINDS, policy
from tests.publish.verify.forgery import (
    MUST_FIRE,
    STRUCTURE,
    Edit,
    alone,
    certificate,
    edits,
    inherent,
    said_not_verified,
    suffices,
    write,
)
from tests.publish.verify.noisy_forgery import NOISY_FORGERIES, json_of, lines_of, noisy, put, rule_of_age

__all__ = ["noisy"]

pytestmark = pytest.mark.slow

LEFT_OPEN = {"handbook", "label-meaning", "count-bins", "count-choice", "wording", "recoding-lattice"}
"""What the one-file verifier leaves to `shoal verify`."""


def forged(noisy, tmp_path: Path, kind: str, change) -> Path:
    folder = Path(shutil.copytree(noisy(kind), tmp_path / kind))
    content = certificate(folder)
    change(folder, content)
    write(folder, content)
    return folder


def failed(folder: Path) -> set[str]:
    return {check.id for check in verify(folder) if check.agrees is False}


def failed_alone(folder: Path) -> set[str]:
    return {check.id for check in verifier.verify(folder) if check.agrees is False}


LONG = {"counts-beside-views", "counts-scored"}
"""Kinds that take long to plan."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.long) if kind in LONG else kind for kind in KINDS]
)
def test_an_honest_folder_is_verified_by_both(noisy, kind):
    folder = noisy(kind)
    assert [check.name for check in verify(folder) if check.agrees is not True] == []
    checks = verifier.verify(folder)
    assert {check.id for check in checks if check.agrees is not True} <= LEFT_OPEN
    lines, code = verifier.report(checks)
    assert code == 0, lines
    said = " ".join(verifier.statement(folder))
    assert ("nobody's" in said) == kind.startswith("synthetic")


# --- forgeries that are subtler than those of the list ---------------------------------------------------------------


def renamed_label(rule):
    rule["labels"][0] = f"{rule['labels'][0]} "


def less_noise(_, content):
    """A somewhat smaller sigma wherever it stands; the parts say it too, and the promise is not kept."""

    def smaller(sigma):
        return exact_text(Fraction(sigma) * 9 / 10)

    for table in content["counts"]:
        table["sigma"] = smaller(table["sigma"])
        table["half_width"] = noise_half_width(table["sigma"])
    (many, sigma), single = content["noise"]["tables"][0], content["noise"]["single_sigma"]
    content["noise"] |= {"single_sigma": smaller(single), "tables": [[many, smaller(sigma)]]}
    for part in (*content["parts"], *content["ledger"]["entries"][-1]["parts"]):
        part["guarantee"]["choices"] = [[many, smaller(own)] for many, own in part["guarantee"]["choices"]]


def less_noise_first(_, content):
    """A smaller sigma of the tables that come before the rounds, wherever it stands but in the parts."""
    many, sigma = content["noise"]["first"]
    smaller = exact_text(Fraction(sigma) * 9 / 10)
    content["noise"]["first"] = [many, smaller]
    for table in content["counts"][content["noise"]["singles"] :][:many]:
        table |= {"sigma": smaller, "half_width": noise_half_width(smaller)}


def exchanged_columns(_, content):
    """The columns of the last table that is named, and of the one that was chosen, exchanged."""
    named, chosen = content["counts"][-2:]
    for key in ("columns", "recoding", "cells"):
        named[key], chosen[key] = chosen[key], named[key]


def without_the_target(_, content):
    """The table that was chosen, of columns among which the target is not."""
    named, chosen = content["counts"][-2:]
    chosen["columns"] = ["sex", "diag"]
    chosen["recoding"] = {"sex": named["recoding"]["sex"], "diag": chosen["recoding"]["diag"]}


def as_text(rows):
    """The count is the last field but two; a label before it may hold the same digits."""
    fields = [row.rsplit(",", 3) for row in rows]
    return [",".join((labels, f"{count}.0", *ends)) for labels, count, *ends in fields]


SUBTLE = {
    "a label that its rule does not name": ("counts", lines_of("5", lambda rows: [f"x{rows[0]}", *rows[1:]]), "count-cells"),
    "two lines exchanged": ("counts", lines_of("3", lambda rows: [rows[1], rows[0], *rows[2:]]), "count-cells"),
    "a line twice": ("counts", lines_of("3", lambda rows: [rows[0], *rows]), "count-cells"),
    "a count that is no whole number": ("counts", lines_of("3", as_text), "count-numbers"),
    "a label that means something else": ("counts", json_of(rule_of_age, renamed_label), "label-meaning"),
    "less noise than is paid for": ("counts", less_noise, "promise"),
    "a table less": ("counts", lambda _, c: c["counts"].pop(), "noise"),
    "tables before the rounds that cost nothing": ("counts-first", lambda _, c: c["parts"].pop(1), "noise-parts"),
    "tables before the rounds that are not said": ("counts-first", lambda _, c: c["noise"].pop("first"), "noise"),
    "fewer tables before the rounds": ("counts-first", put("noise", "first", 0, value=2), "noise"),
    "less noise before the rounds": ("counts-first", less_noise_first, "noise-parts"),
    "a chosen table in the place of a named one": ("counts-first", exchanged_columns, "count-tables"),
    "a chosen table without the target": ("counts-target", without_the_target, "count-tables"),
    "more candidates than hold the target": ("counts-target", put("noise", "candidates", value=2), "noise"),
    "tables of single attributes that are not said": ("counts-singles", put("noise", "singles", value=0), "noise"),
    "tables of single attributes that the plan does not have": (
        "counts-declared",
        lambda _, c: c["noise"].update(singles=3, single_sigma=c["noise"]["tables"][0][1]),
        "noise",
    ),
    "less noise in tables of single attributes": (
        "counts-singles",
        put("noise", "single_sigma", value="1"),
        "noise-parts",
    ),
    "a null that should be absent": ("counts", put("noise", "first", value=None), "keys"),
    "a score that is no whole number": (
        "counts-chosen",
        json_of(lambda _: "counts.json", lambda index: index["scores"][0].update(score=0.5)),
        "count-index",
    ),
    "a candidate without a score": (
        "counts-chosen",
        json_of(lambda _: "counts.json", lambda index: index["scores"].pop()),
        "count-index",
    ),
    "rows that are said to be the table's": ("synthetic", put("synthetic", "of", value="rows of the table"), "keys"),
    "a synthetic value outside the domain": (
        "synthetic",
        lines_of("synthetic.csv", lambda rows: ["133,f,flu", *rows[1:]]),
        "synthetic-values",
    ),
    "synthetic rows of another number than is declared": (
        "synthetic-parquet",
        put("synthetic", "rows", value=299),
        "synthetic-file",
    ),
    "rows beside the counts with a smaller k": (
        "counts-beside-rows",
        lambda _, c: [place.update(k=place["k"] - 1) for place in (c["samples"][0], c["tables"][0], c["claims"][1]["guarantee"])],
        "delta-tight",
    ),
    "rows that are said to cost nothing": ("counts-beside-rows", lambda _, c: c["parts"].pop(), "noise-parts"),
    "counts alone with a sample": (
        "counts",
        lambda _, c: c.update(bound="tight"),
        "samples",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=pytest.mark.long) if "smaller k" in what else what for what in SUBTLE]
)
def test_a_subtle_forgery_is_named(noisy, tmp_path, what):
    kind, change, check = SUBTLE[what]
    folder = forged(noisy, tmp_path, kind, change)
    assert check in failed(folder)
    if check not in LEFT_OPEN:
        assert check in failed_alone(folder)


# --- every small change -----------------------------------------------------------------------------------------------

MUST_FIRE_ON_COUNTS = MUST_FIRE | {
    "noise": {"noise", "count-noise", "noise-parts", "rebuilt", "numbers"},
    "parts": {"noise-parts", "rebuilt"},
    "epsilon_composed": {"composed", "rebuilt"},
    "counts": {
        "noise",
        "count-tables",
        "count-files",
        "count-noise",
        "count-cells",
        "count-index",
        "readable",
        "rebuilt",
    },
    "synthetic": {"synthetic-file", "rebuilt"},
    "epsilon_recoding": {"samples", "recoding-price", "numbers", "rebuilt"},
    "bound": {"samples", "bound", "rebuilt"},
}
"""For an edit of an entry, the checks of which one must fire."""
EDITED = ("counts-chosen", "synthetic", "counts-beside-rows")
FEW = 12


def hold(folder: Path, kind: str, chosen: list[Edit]) -> None:
    """Each edit is caught by both verifiers, by a check that speaks of it, or is known to be beyond them."""
    wrong = []
    for edit in chosen:
        write(folder, edit.forged, rehash=False, reword=edit.path[0] != "wording")
        place = f"{edit.what} at {'.'.join(map(str, edit.path))}"
        found = failed(folder) - {"seal", "page"}
        found -= {"page-hash"} if edit.path[0] != "wording" else set()
        code, checks = alone(folder)
        if inherent(kind, edit) is not None:
            if found - {"page-hash"}:
                wrong.append(f"thought to be inherent, and caught: {place} ({found})")
        elif not suffices(kind, edit) and not found & (MUST_FIRE_ON_COUNTS.get(edit.path[0], set()) | STRUCTURE):
            wrong.append(f"not caught, or by another check: {place} ({found})")
        if code != 3 and not said_not_verified(kind, edit, checks):
            wrong.append(f"passed by the one-file verifier: {place}")
    assert not wrong, "\n".join(wrong)


def test_a_sample_of_all_small_edits_is_caught(noisy, tmp_path):
    folder = Path(shutil.copytree(noisy("counts-chosen"), tmp_path / "out"))
    every = [
        edit for edit in edits(certificate(folder)) if edit.path[0] in MUST_FIRE_ON_COUNTS.keys() - MUST_FIRE.keys()
    ]
    assert len(every) >= 100
    hold(folder, "counts-chosen", every[:: len(every) // FEW])


@pytest.mark.long
@pytest.mark.parametrize("kind", EDITED)
def test_every_small_edit_is_caught(noisy, tmp_path, kind):
    folder = Path(shutil.copytree(noisy(kind), tmp_path / "out"))
    hold(folder, kind, list(edits(certificate(folder))))


def test_the_readme_says_what_synthetic_rows_favour(noisy):
    said = {kind: (noisy(kind) / "README.md").read_text() for kind in ("synthetic", "synthetic-associations")}
    assert "favour associations" in said["synthetic-associations"].replace("\n", " ")
    assert "favour" not in said["synthetic"]


def test_a_synthetic_file_says_so_in_its_metadata(noisy, tmp_path):
    folder = Path(shutil.copytree(noisy("synthetic-parquet"), tmp_path / "out"))
    rows = pq.read_table(folder / "synthetic.parquet")
    assert pq.ParquetFile(folder / "synthetic.parquet").metadata.metadata == verifier.NOBODY
    with pq.ParquetWriter(folder / "synthetic.parquet", rows.schema, compression="zstd", store_schema=False) as file:
        file.write_table(rows.replace_schema_metadata(None))
    write(folder, certificate(folder))
    assert "table-notes" in failed(folder)
    assert "table-notes" in failed_alone(folder)


def test_bins_of_another_version_are_left_open(noisy, tmp_path):
    """A later version may merge cells otherwise: that is said, and is no forgery."""
    kind, change = NOISY_FORGERIES["count-bins"]

    def older(folder, content):
        change(folder, content)
        content["software"]["shoal"] = "0.0.1"

    folder = forged(noisy, tmp_path, kind, older)
    assert "count-bins" not in failed(folder)
    assert "count-bins" in {check.id for check in verify(folder) if check.agrees is None}


# --- hostile folders --------------------------------------------------------------------------------------------------


def wide_rule(rule):
    rule["cells"] = [str(number) for number in range(3_000)]
    rule["labels"], rule["members"] = list(rule["cells"]), [[[number, number]] for number in range(3_000)]


HOSTILE = {
    "a table of billions of cells": ("counts", json_of(rule_of_age, wide_rule)),
    "noise without end": ("counts", put("noise", "single_sigma", value="1e300")),
    "a million tables": ("counts", put("noise", "tables", 0, 0, value=10**6)),
    "a part that runs for ever": ("counts-rounds", put("parts", 1, "times", value=10**30)),
    "numbers that are texts": ("counts", put("noise", "tables", value=[["6", "1"]])),
    "nothing at all": ("counts", lambda _, c: c.update(counts=[], parts=[])),
    "members that never end": ("counts", json_of(rule_of_age, lambda rule: rule["members"][0].append([0, 10**30]))),
    "a rule without cells": ("counts", json_of(rule_of_age, lambda rule: rule.update(cells=[], labels=[], members=[]))),
    "an index of another kind": ("counts", lambda folder, _: (folder / "counts.json").write_text("[]\n")),
    "rules inside each other": (
        "counts",
        json_of(rule_of_age, lambda rule: rule.update(members=[[[[[[0, 1]]]]]], labels=["x"])),
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_folder_ends_in_a_verdict(noisy, tmp_path, what):
    kind, change = HOSTILE[what]
    folder = forged(noisy, tmp_path, kind, change)
    assert failed(folder)
    checks = verifier.verify(folder)
    assert {check.id for check in checks if check.agrees is False}
    assert verifier.report(checks)[1] == 3


# --- small parts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", ["0.3", "0.5", "1", "2.75", "10", "33.128", "1234.5", "250000"])
def test_the_half_width_is_the_one_of_the_noise(sigma):
    told = noise_half_width(sigma)
    assert verifier.half_width_fits(told, Fraction(sigma))
    assert not verifier.half_width_fits(told + 3, Fraction(sigma))
    if told:
        assert not verifier.half_width_fits(max(0, told - 3), Fraction(sigma))


def test_parts_follow_from_the_noise_for_every_unit(noisy):
    for kind in KINDS.keys() - LONG:
        content = certificate(noisy(kind))
        lock = verifier.read_lock((noisy(kind) / "policy.lock.yaml").read_text())
        plan = verifier.read_counts_plan(lock)
        told = [(verifier.read_part(part["guarantee"]), part["times"]) for part in content["parts"]]
        assert told[: len(verifier.noise_parts(content["noise"], plan))] == verifier.noise_parts(content["noise"], plan)


def test_cells_in_the_order_of_a_rule():
    from shoal.data.cells import cells_of

    locked = cells_of(policy("counts").schema["diag"])
    told = [*locked.labels[1:-1], locked.labels[0], locked.labels[-1]]
    turned = in_told_order(locked, told, unread=False)
    assert list(turned.labels) == told
    for level, other in zip(locked.groups, turned.groups, strict=True):
        names = [{locked.labels[cell] for cell in group.cells} for group in level]
        assert [{turned.labels[cell] for cell in group.cells} for group in other] == names
    assert turned.labels[turned.missing] == locked.labels[locked.missing]


def test_the_index_of_a_folder_names_every_table(noisy):
    folder = noisy("counts-chosen")
    index, content = json.loads((folder / "counts.json").read_text()), certificate(folder)
    assert [table["file"] for table in index["tables"]] == [table["file"] for table in content["counts"]]
    chosen = [each["attributes"] for each in index["scores"] if each["chosen"]]
    assert chosen == [table["columns"] for table in content["counts"][content["noise"]["singles"] :]]
    assert isinstance(pa.array([each["score"] for each in index["scores"]]), pa.Int64Array)


def test_the_verdict_of_the_one_file_verifier_names_what_it_takes_as_a_premise():
    checks = [
        verifier.Check("seal", True, "fits"),
        verifier.Check("count-bins", None, "not made again"),
        verifier.Check("wording", None, "another version"),
    ]
    *_, verdict = verifier.report(checks)[0]
    assert "wording; the promise does not rest on that. " in verdict
    assert "a premise of the promise" in verdict
    assert verdict.endswith("VERIFIED but for that premise: all that the promise rests on and a folder can show.")
