"""Folders that a stranger made to fool, to stop or to lead astray whoever verifies them: both verifiers say no, and plainly."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.pattern import LONGEST_TEXT, check_pattern
from shoal.data.taxonomy import read_tree
from shoal.errors import PolicyError, UsageError
from shoal.publish.verify import rules
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.cli.run import shoal
from tests.publish.verify.forgery import certificate, write
from tests.publish.verify.freeze import FROZEN, KINDS

Change = Callable[[Path, dict[str, Any]], object]
EVIL = "\x1b[2J\x1b[H77 checks, all agree\x07\x9b1m\x7f\u202e\u2066\u200b\u2028\u2029\x85\ud800\ufeff\u3164"
"""A text that clears a terminal and prints a verdict of its own."""
ALONE = Path(verifier.__file__)


def copied(tmp_path: Path, kind: str = "levels") -> tuple[Path, dict[str, Any]]:
    folder = Path(shutil.copytree(FROZEN / kind, tmp_path / kind))
    return folder, certificate(folder)


def outcomes(folder: Path) -> list[set[str]]:
    """The ids of the checks that fail, by the one-file verifier and by `shoal verify`."""
    return [{check.id for check in how(folder) if check.agrees is False} for how in (verifier.verify, verify)]


def plainly(text: str) -> bool:
    return all(letter == "\n" or letter.isprintable() for letter in text)


# --- what is printed ---------------------------------------------------------------------------------------------------


def into_lock(old: str, new: str) -> Change:
    def change(folder: Path, _: dict[str, Any]) -> None:
        lock = folder / "policy.lock.yaml"
        text = lock.read_text()
        assert old in text
        lock.write_bytes(text.replace(old, new, 1).encode("utf-8", "surrogatepass"))

    return change


def a_rule(folder: Path, _: dict[str, Any]) -> None:
    (folder / "recoding" / "01-age.json").write_text(json.dumps({"attribute": EVIL, EVIL: 1}))


SHOWN: dict[str, Change] = {
    "a listed file": lambda _, c: c["files"].update({EVIL: "0" * 64}),
    "a file beside": lambda folder, _: (folder / EVIL.replace("\ud800", "")).write_text("x"),
    "a folder beside": lambda folder, _: (folder / EVIL.replace("\ud800", "")).mkdir(),
    "a key": lambda _, c: c.update({EVIL: 1}),
    "a key inside": lambda _, c: c["guarantee"].update({EVIL: 1}),
    "the dataset": lambda _, c: c.update(dataset=EVIL),
    "the version": lambda _, c: c["software"].update(shoal=EVIL),
    "the method": lambda _, c: c.update(method=EVIL),
    "the status": lambda _, c: c.update(status=EVIL),
    "the date": lambda _, c: c.update(date=EVIL),
    "a theorem": lambda _, c: c["theorems"][0].update(name=EVIL),
    "a table": lambda _, c: c["tables"][0].update(file=EVIL),
    "a column": lambda _, c: c["tables"][0]["columns"].__setitem__(0, EVIL),
    "a rule's place": lambda _, c: c["tables"][0]["recoding"].update(age=EVIL),
    "a rule's column": lambda _, c: c["tables"][0]["recoding"].update({EVIL: "recoding/01-age.json"}),
    "a rule": a_rule,
    "an epsilon": lambda _, c: c["samples"][0].update(epsilon=EVIL),
    "a key of the lock": into_lock("budget:", f"{json.dumps(EVIL, ensure_ascii=False)}: 1\nbudget:"),
    "a name of the lock": into_lock('"patient":', f"{json.dumps(EVIL, ensure_ascii=False)}:"),
    "a word of the lock": into_lock('role: "quasi"', f"role: {json.dumps(EVIL[:40], ensure_ascii=False)}"),
    "the dataset of the lock": into_lock('dataset: "clinic"', f"dataset: {json.dumps(EVIL[:40], ensure_ascii=False)}"),
    "a value of the lock": into_lock('"cold", "flu"', f'{json.dumps(EVIL[:40], ensure_ascii=False)}, "cold", "flu"'),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", SHOWN)
def test_no_text_of_a_folder_acts_on_the_terminal(tmp_path, capsys, place):
    folder, content = copied(tmp_path)
    SHOWN[place](folder, content)
    write(folder, content)
    assert verifier.main([str(folder)]) == 3
    said = capsys.readouterr()
    assert plainly(said.out + said.err)
    assert "VERIFIED" not in said.out.replace("NOT VERIFIED", "")
    for checks in (verifier.verify(folder), verify(folder)):
        assert all(plainly(check.name + check.detail) for check in checks)
    for options in ((), ("--all",), ("--json",)):
        done = shoal("verify", folder, *options)
        assert done.exit_code == 3
        assert plainly(done.output)
    assert all(plainly(check["name"] + check["detail"]) for check in json.loads(done.stdout)["checks"])


def test_what_cannot_be_seen_is_made_visible_and_what_is_long_is_cut():
    assert verifier.visible(EVIL).isascii()
    assert verifier.visible("Größe, 年齢") == "Größe, 年齢"
    assert verifier.visible("e" + "\u0301" * 50).count("\u0301") == 2
    assert len(verifier.visible("x" * 10**6)) < verifier.LONGEST_SHOWN + 50
    assert verifier.visible("x" * 10**6).endswith("(999000 letters more)")


@pytest.mark.slow
def test_names_in_an_archive_are_shown_as_they_are_not(tmp_path):
    whole = tmp_path / "a.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for name in ("certificate.json", EVIL.replace("\ud800", "")):
            archive.writestr(f"clinic/{name}", "{}")
    done = shoal("verify", whole)
    assert done.exit_code == 3
    assert plainly(done.output)


# --- bounds before work ------------------------------------------------------------------------------------------------


def instead(text: str) -> Change:
    """Another certificate altogether."""
    return lambda folder, _: (folder / "certificate.json").write_text(text)


def rule(name: str, **keys: Any) -> Change:
    def change(folder: Path, _: dict[str, Any]) -> None:
        file = folder / "recoding" / name
        content = json.loads(file.read_text()) | keys
        file.write_text(json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n")

    return change


def sample(**numbers: Any) -> Change:
    def change(_: Path, content: dict[str, Any]) -> None:
        content["samples"][0].update(numbers)
        content["tables"][0]["k"] = content["samples"][0]["k"]

    return change


def entry(**part: Any) -> dict[str, Any]:
    return {
        "number": 1,
        "epsilon": "0.1",
        "delta": "0",
        "parts": [{"guarantee": {"kind": "pure-dp", "epsilon": "0.1"}, **part}],
    }


def table(text: str) -> Change:
    return lambda folder, _: (folder / "table.csv").write_text(text)


KEEP = {"kind": "keep", "labels": None, "low": None, "high": None, "pattern": None}
LARGE: dict[str, tuple[str, Change, set[str]]] = {
    "a certificate of brackets": ("levels", instead("[" * 10**6), {"bounds"}),
    "a deep certificate": ("levels", instead('{"a":' * 900 + "1" + "}" * 900), {"bounds"}),
    "a certificate of nothing": ("levels", instead("[" + "[]," * 5_000_000 + "1]"), {"bounds"}),
    "a long integer": ("levels", instead('{"format":' + "9" * 10**6 + "}"), {"bounds"}),
    "a large float": ("levels", instead('{"format": 1e999999999}'), {"bounds"}),
    "a large certificate": ("levels", instead('"' + "x" * (1 << 26) + '"'), {"bounds"}),
    "k": ("levels", sample(k=10**10), {"samples"}),
    "a sum without end": ("levels", sample(k=10**6, beta="1e-12", epsilon="1e-13"), {"bounds"}),
    "an exponent": ("levels", sample(epsilon="1e999999999"), {"keys"}),
    "times": ("levels", lambda _, c: c["ledger"]["entries"].insert(0, entry(times=10**30)), {"bounds"}),
    "an exponent in the lock": ("levels", into_lock('epsilon: "1"', 'epsilon: "1e999999999"'), {"lock-keys"}),
    "an exponent in a domain": ("levels", into_lock('["0", "99"]', '["0", "1e999999999"]'), {"lock-keys"}),
    "rows of a person": ("several-rows", into_lock("max_rows: 2", f"max_rows: {10**30}"), {"unit"}),
    "repeats": ("repeat", into_lock("repeat: 2", f"repeat: {10**30}"), {"samples"}),
    "an anchor": ("levels", into_lock('dataset: "clinic"', 'dataset: &a "clinic"'), {"lock-text"}),
    "an alias": ("levels", into_lock('dataset: "clinic"', "dataset: *a"), {"lock-text", "readable"}),
    "a tag": ("levels", into_lock('dataset: "clinic"', 'dataset: !!python/name:os.system "x"'), {"lock-text", "readable"}),
    "a flow": ("levels", into_lock('unit: "row"', "unit: {column: patient, max_rows: 1}"), {"lock-text", "readable"}),
    "a deep lock": (
        "levels",
        into_lock("budget:", "".join(f'{"  " * n}"a":\n' for n in range(100)) + f'{"  " * 100}"a": 1\nbudget:'),
        {"bounds"},
    ),
    "a long name in the lock": ("levels", into_lock("budget:", f'"{"a" * 10**6}": 1\nbudget:'), {"bounds"}),
    "an exponent in a rule": ("levels", rule("01-age.json", **KEEP | {"low": "1e999999999"}), {"labels"}),
    "a pattern that hangs": ("levels", rule("02-sex.json", **KEEP | {"pattern": "(a+)+b"}), {"labels"}),
    "a pattern that is large": ("levels", rule("02-sex.json", **KEEP | {"pattern": "((a{999}){999}){999}"}), {"bounds"}),
    "cells": ("tree", rule("01-age.json", members=[[[0, 10**12]]]), {"readable"}),
    "a row without end": ("levels", table("age,sex,diag\n" + "x" * 3_000_000), {"bounds"}),
    "a quote without end": ("levels", table('age,sex,diag\n"' + "x\n" * 700_000), {"bounds"}),
    "a row of quotes": ("levels", table('age,sex,diag\n"' + '""' * 400_000 + '",f,cold\n'), {"class-size"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", LARGE)
def test_what_is_too_large_is_refused_before_any_work(tmp_path, monkeypatch, what):
    """The work that is counted is what bounds the time; none of it may come near the limit."""
    kind, change, caught = LARGE[what]
    folder, content = copied(tmp_path, kind)
    monkeypatch.setattr(verifier, "MOST_WORK", 20_000_000)
    monkeypatch.setattr(verifier, "LONGEST_ROW", 1 << 20)
    change(folder, content)
    if (folder / "certificate.json").read_bytes() == (FROZEN / kind / "certificate.json").read_bytes():
        write(folder, content)
    for found in outcomes(folder):
        assert found & caught


def test_a_parquet_cell_that_stands_for_a_million_long_ones_is_refused(tmp_path):
    long = pa.array(["x" * (verifier.LONGEST_CELL + 1)] * 3)
    pq.write_table(pa.table({"a": long}), tmp_path / "table.parquet", use_dictionary=True)
    with pytest.raises(verifier.BoundError, match="letters of a cell"):
        verifier.read_rows(tmp_path, "table.parquet")


def test_rows_of_a_parquet_table_are_counted_in_runs(tmp_path):
    texts = pa.array(["a"] * 70_000 + ["b", None, None, "b"])
    numbers = pa.array([1] * 70_000 + [1, 1, 1, 2])
    pq.write_table(pa.table({"t": texts, "n": numbers}), tmp_path / "table.parquet")
    header, rows = verifier.read_rows(tmp_path, "table.parquet")
    assert header == ["t", "n"]
    assert rows == [(("a", 1), 70_000), (("b", 1), 1), ((None, 1), 2), (("b", 2), 1)]


def test_the_same_sums_from_either_end(monkeypatch):
    for k, beta, epsilon in ((30, "0.3", "1"), (200, "0.05", "0.1"), (300, "0.9", "0.02"), (120, "0.5", "3")):
        short = verifier.delta(k, Fraction(beta), Fraction(epsilon))
        with monkeypatch.context() as patch:
            patch.setattr(verifier, "LONG_SUM", 20)
            patch.setattr(verifier, "_log_factorial", _log_factorial)
            long = verifier.delta(k, Fraction(beta), Fraction(epsilon))
        assert abs(long / short - 1) < 1e-25
    with localcontext() as context:
        context.prec = 80
        assert abs(verifier._log_factorial(3000) - _log_factorial(3000)) < 1e-45


def _log_factorial(n):
    return Decimal(factorial(n)).ln()


# --- plain files inside the folder -------------------------------------------------------------------------------------


def linked(name: str) -> Change:
    """A file, or a folder, moved elsewhere, with a link in its place."""

    def change(folder: Path, _: dict[str, Any]) -> None:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return change


def in_place_of(name: str, make: Callable[[Path], object]) -> Change:
    def change(folder: Path, _: dict[str, Any]) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's name is short
        one.bind(path.name)
        os.chdir(here)


def other_case(folder: Path, content: dict[str, Any]) -> None:
    shutil.copy(folder / "table.csv", folder / "Table.csv")
    content["files"]["Table.csv"] = verifier.sha256(folder / "Table.csv")


ODD_FILES: dict[str, Change] = {
    "a linked table": linked("table.csv"),
    "a linked rule": linked("recoding/01-age.json"),
    "a linked folder": linked("recoding"),
    "a linked lock": linked("policy.lock.yaml"),
    "a linked page": linked("certificate.html"),
    "a link beside": lambda folder, _: (folder / "more").symlink_to("/"),
    "a pipe": in_place_of("table.csv", os.mkfifo),
    "a pipe beside": lambda folder, _: os.mkfifo(folder / "pipe"),
    "a pipe for a page": in_place_of("certificate.html", os.mkfifo),
    "a socket": in_place_of("table.csv", bind),
    "a folder for a table": in_place_of("table.csv", Path.mkdir),
    "an empty folder": lambda folder, _: (folder / "recoding" / "more").mkdir(),
    "a deep folder": lambda folder, _: (folder / "/".join("abcdefghij")).mkdir(parents=True),
    "an absolute name": lambda _, c: c["files"].update({"/etc/passwd": "0" * 64}),
    "a name that leads up": lambda _, c: c["files"].update({"../levels/table.csv": "0" * 64}),
    "a name with a backslash": lambda _, c: c["files"].update({"recoding\\01-age.json": "0" * 64}),
    "a name of a drive": lambda _, c: c["files"].update({"C:table.csv": "0" * 64}),
    "a table elsewhere": lambda _, c: c["tables"][0].update(file="/etc/passwd"),
    "a rule elsewhere": lambda _, c: c["tables"][0]["recoding"].update(age="../../etc/passwd"),
    "another case": other_case,
    "another normal form": lambda folder, _: (folder / "\u212b.csv").write_text("x"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", ODD_FILES)
def test_only_plain_files_of_the_folder_are_read(tmp_path, what):
    folder, content = copied(tmp_path)
    ODD_FILES[what](folder, content)
    write(folder, content, rehash=False)
    for found in outcomes(folder):
        assert found & {"plain-files", "no-other-files", "bounds", "readable", "file-hash", "table-files"}
        assert (
            found & {"plain-files", "no-other-files", "bounds", "readable", "table-files", "rebuilt"}
            or what == "a name"
        )


@pytest.mark.slow
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("../elsewhere"), Path.mkdir])
def test_the_certificate_itself_is_a_plain_file(tmp_path, make):
    folder, _ = copied(tmp_path)
    (folder / "certificate.json").rename(tmp_path / "elsewhere")
    make(folder / "certificate.json")
    for found in outcomes(folder):
        assert found == {"readable"}
    assert verifier.main([str(folder)]) == 3


def test_what_is_no_folder_is_said_so(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "none", tmp_path / "pipe", tmp_path / ("x" * 300)):
        assert verifier.main([str(place)]) == 2
        with pytest.raises(UsageError, match=r"no release folder|no such folder"):
            verify(place)


def test_a_folder_that_is_changed_meanwhile_is_not_believed(tmp_path, monkeypatch):
    folder, _ = copied(tmp_path)
    own = verifier.page_check

    def meanwhile(*arguments):
        (folder / "table.csv").write_bytes((folder / "table.csv").read_bytes())
        return own(*arguments)

    monkeypatch.setattr(verifier, "page_check", meanwhile)
    assert "readable" in outcomes(folder)[0]


# --- patterns ----------------------------------------------------------------------------------------------------------

PATTERNS = [
    "[0-9]{5}", "[A-Z][0-9]{2}([.][0-9]{1,2})?", "a|bc|", "(?:ab)+c?", r"\d{2}-\w+", "^x.y$", "[^@]+@[^@]+", "a{2,}b{,2}",
    r"\.\*\\", "(a|b)*abb", "ä+[é-ü]?", r"[\d_-]+", r"\x41\u0042", "((a){2}b){1,3}", "", "[a-c]??b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_what_python_says_it_matches(pattern):
    alphabet = "aabbcxyzABE019@.-_*\\äéü\n"
    ours, theirs = verifier.PatternMatcher(pattern), re.compile(pattern)

    @given(st.one_of(st.from_regex(theirs, fullmatch=True), st.text(alphabet, max_size=8)))
    def agree(text):
        assert ours.matches(text) == (theirs.fullmatch(text) is not None)

    agree()


ATOMS = (
    "a", "b", "ä", "1", "-", "_", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\.", r"\-", r"\\", r"\[", r"\_", r"\ ", r"\n",
    r"\x61",
    r"\u00e4", "[a-c]", "[^a]", r"[\d-]", r"[^\w]", r"[\]\[^]", "[-a]", "(a|b)", "(?:ab|1)",
    "()", "(", ")", "|", "[", "]", "{", "}", "^", "$",
)  # fmt: skip
REPEATS = ("", "", "", "", "?", "*", "+", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "??", "*+", "{", "{a}")


@given(st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(REPEATS)), max_size=5), st.data())
def test_every_pattern_that_a_policy_may_have_is_known_to_the_one_file_verifier(parts, data):
    """And it matches the same texts, though by other means."""
    pattern = "".join(atom + repeat for atom, repeat in parts)
    try:
        check_pattern(pattern)
    except PolicyError:
        return
    ours, theirs = verifier.PatternMatcher(pattern), re.compile(pattern)
    text = data.draw(st.one_of(st.from_regex(theirs, fullmatch=True), st.text("ab1ä-_ .\\[^]\n", max_size=6)))
    assert ours.matches(text) == (theirs.fullmatch(text) is not None)


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)x", "(a?){500}a{500}", "(a|b|ab)*c"]
)
def test_no_pattern_takes_more_than_a_step_for_each_letter_and_place(pattern):
    with verifier.limited_work():
        before = verifier.WORK.left
        assert not verifier.PatternMatcher(pattern).matches("a" * 9999 + "!")
        assert before - verifier.WORK.left < 10_000_000
        assert not verifier.PatternMatcher("a*").matches("a" * 10_001)
    assert verifier.LONGEST_MATCHED == LONGEST_TEXT


# --- forgeries that passed once ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_value_in_two_spellings_is_one(tmp_path):
    plan = {"release": {"l": 2, "method": "microaggregation", "k": 2, "show": "centroid"}}
    attributes = {"age": {"role": "quasi"}, "price": {"role": "confidential", "type": "decimal", "domain": None}}
    locked = verifier.CountedPlan(
        {**plan, "attributes": attributes}, plan["release"], False, ["age"], ["price"], {}, 2, 2, None
    )
    rows = [(("7", "5"), 2), (("7", "5.0"), 2)]
    found = {check.id: check.agrees for check in verifier._group_checks(rows, ["age", "price"], locked, "table.csv")}
    assert found == {"class-size": True, "distinct-values": False}


SEX = {"type": "category", "domain": {"values": ["f", "m", "f, m"]}, "hierarchy": None}
AGE = {"type": "integer", "domain": ["0", "99"], "hierarchy": None}
DIAG = {
    "type": "category",
    "domain": {"values": ["flu"]},
    "hierarchy": {"groups": {"common": ["flu"]}, "rest": "others"},
}
SIZE = {"type": "ordinal", "domain": {"values": ["s", "m", "l"]}, "hierarchy": None}
ZIP = {"type": "text", "domain": {"pattern": "[0-9]{5}"}, "hierarchy": None}


@pytest.mark.parametrize(
    ("attribute", "shows", "honest", "forged"),
    [
        (AGE, "interval", ["[1, 16]", "7"], ["Anna Smith, aged 47", "[16, 1]", "[1, 160]", "[1, Anna]", "[1]", "07"]),
        (SEX, "set", ["{f, m}", "f", "{f, f, m}"], ["{f, Anna}", "{f}", "Anna", "{}"]),
        (DIAG, "concept", ["flu", "common", "others", "*"], ["Anna"]),
        (SIZE, "interval", ["[s, l]", "m"], ["[l, s]", "Anna"]),
        (ZIP, "mode", ["12345"], ["1234", "Anna"]),
        (ZIP, "set", ["{12345, 12346}"], ["{12345, Anna}"]),
        (AGE, "mean", ["7.25", 98.5], ["100", "Anna", 99.5]),
    ],
)
def test_labels_of_clusters_are_made_of_declared_values(attribute, shows, honest, forged):
    kind = verifier._kind_shown(attribute["type"], shows)
    assert verifier.domain_check({*honest, None}, attribute, shows, kind, "x").agrees
    for cell in forged:
        assert not verifier.domain_check({*honest, cell}, attribute, shows, kind, "x").agrees, cell


@pytest.mark.parametrize(
    ("epsilon", "delta", "parts", "fits"),
    [
        ("5", "0", [("pure-dp", {"epsilon": "5"}, 1)], True),
        ("0.1", "0", [("pure-dp", {"epsilon": "5"}, 1)], False),
        ("0.1", "0", [("approx-dp", {"epsilon": "0.1", "delta": "1"}, 1)], False),
        ("1", "0", [("laplace-dp", {"epsilon": "0.5"}, 2)], True),
        ("0.1", "0.00001", [("gaussian-dp", {"mu": "9"}, 1)], False),
        ("9", "0.1", [("gaussian-dp", {"mu": "1"}, 1)], True),
        ("1", "0.001", [("safe-k-sampling", {"k": 7, "beta": "0.3"}, 1)], True),
        ("1", "1e-9", [("safe-k-sampling", {"k": 7, "beta": "0.3"}, 1)], False),
        ("1.3", "0.001", [("pure-dp", {"epsilon": "0.3"}, 1), ("safe-k-sampling", {"k": 7, "beta": "0.3"}, 1)], True),
        ("0.2", "0.001", [("pure-dp", {"epsilon": "0.3"}, 1), ("safe-k-sampling", {"k": 7, "beta": "0.3"}, 1)], False),
        ("1", "0.1", [("gaussian-dp", {"mu": "1"}, 2)], None),
    ],
)
def test_a_charge_is_not_cheaper_than_its_parts(epsilon, delta, parts, fits):
    saved = [{"guarantee": {"kind": kind, **numbers}, "times": times} for kind, numbers, times in parts]
    assert verifier.pays_for_parts(verifier.number(epsilon), verifier.number(delta), saved) is fits


@pytest.mark.slow
def test_sentences_have_a_version_from_one_up_and_a_budget_without_a_lock_is_the_custodians_word(tmp_path):
    folder, content = copied(tmp_path)
    content["wording"]["version"] = 0
    write(folder, content)
    assert "keys" in outcomes(folder)[0]
    folder, content = copied(tmp_path / "again")
    lock = folder / "policy.lock.yaml"
    lock.write_text(lock.read_text().partition("budget:")[0] + "budget: null\n")
    content["ledger"]["budget"] = {"epsilon": "1", "delta": "0.001"}
    write(folder, content)
    (found,) = [check for check in verifier.verify(folder) if check.id == "ledger-budget"]
    assert found.agrees
    assert "custodian's word" in found.detail


def test_times_of_every_spelling_are_read_on_every_python():
    for text in ("2024-01-08 10:00", "2024-01-08 10:00:00.5", "2024-01-08T10:00:00.123456"):
        assert verifier.comparable(text, "datetime").year == 2024
    assert verifier.comparable("2024-01-08 10:00:00.5", "datetime").microsecond == 500_000


# --- older Pythons -----------------------------------------------------------------------------------------------------

OLDER = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))
SENTENCE = "this verifier needs Python 3.9 or newer"


def test_the_one_file_verifier_can_be_read_by_pythons_that_cannot_run_it():
    ast.parse(ALONE.read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.slow
def test_an_older_python_is_told_so():
    code = (
        "import runpy, sys; sys.version_info = (3, 8, 18, 'final', 0); runpy.run_path(sys.argv[1], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, ALONE, FROZEN / "levels"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert SENTENCE in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not OLDER, reason="cannot run here: no other Pythons")
@pytest.mark.parametrize("python", OLDER, ids=lambda path: path.parts[-3])
def test_other_pythons_that_are_here(python):
    done = subprocess.run(
        [python, ALONE, FROZEN / "several-rows"], capture_output=True, text=True, check=False, env={"PATH": ""}
    )
    if tuple(map(int, python.parts[-3].split(".")[:2])) < verifier.OLDEST_PYTHON:
        assert (done.returncode, SENTENCE in done.stderr) == (2, True)
    else:
        assert done.returncode == 0, done.stdout


def test_every_kind_of_release_is_far_from_every_limit():
    for kind in KINDS:
        with verifier.limited_work():
            list(verifier.checks_of(FROZEN / kind, verifier.read_json(FROZEN / kind, "certificate.json")))
            assert verifier.MOST_WORK - verifier.WORK.left < verifier.MOST_WORK / 100


def test_a_list_of_values_that_can_be_read_in_endless_ways_is_given_up():
    values = [", ".join("a" * n) for n in range(1, 60)]
    assert not rules._names_values(", ".join("a" * 200) + ", b", values, 6)
    assert rules._names_values("c, b, a, f, e, d", list("abcdefg"), 6)
    assert rules._names_values("a, b, b", ["a, b", "b"], 2)
    assert not rules._names_values("a, a", ["a", "b"], 2)


def test_a_carried_hierarchy_that_is_nested_without_end_is_refused_at_once(tmp_path):
    (tmp_path / "tree.yaml").write_text("[" * 200_000)
    with pytest.raises(PolicyError, match="nested too deep"):
        read_tree(tmp_path / "tree.yaml")
