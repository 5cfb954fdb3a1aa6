"""How the table's file is written is the policy's word: read, locked, and held against the rest of the policy."""

from __future__ import annotations

import pytest

from shoal.data.schema import STANDARD, FileFormat
from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.publish.verify.lock import policy_of_lock
from tests.policy.written import BASE, edited

WRITTEN = "file: {encoding: windows-1252, delimiter: ';', quote: none, decimal: ',', missing: [NA, '-9']}\n"


def with_file(text):
    return Policy.parse(edited(("neighbours: add_remove", f"neighbours: add_remove\n{text}")))


def test_nothing_said_is_utf_8_and_rfc_4180():
    assert Policy.parse(BASE).schema.file == STANDARD == FileFormat("utf-8", None, '"', ".", ())


def test_every_key_reaches_the_reader():
    assert with_file(WRITTEN).schema.file == FileFormat("windows-1252", ";", None, ",", ("-9", "NA"))
    assert with_file("file: {delimiter: tab}\n").schema.file.delimiter == "\t"
    assert with_file('file: {delimiter: "\\t"}\n').lock() == with_file("file: {delimiter: tab}\n").lock()


@pytest.mark.slow
def test_it_is_part_of_the_lock():
    locks = {
        with_file(f"file: {{{keys}}}\n").lock().sha256
        for keys in ("", "encoding: iso-8859-1", "delimiter: ';'", "quote: none", "decimal: ','", "missing: [NA]")
    }
    assert len(locks) == 6
    assert with_file("file: {encoding: utf-8, missing: []}\n").lock() == Policy.parse(BASE).lock()
    assert with_file("file: {missing: [a, b]}\n").lock() == with_file("file: {missing: [b, a]}\n").lock()
    for policy in (Policy.parse(BASE), with_file(WRITTEN), with_file("file: {delimiter: tab}\n")):
        again = policy_of_lock(policy.lock().text)
        assert (again.lock(), again.schema.file) == (policy.lock(), policy.schema.file)


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ("encoding: ebcdic", "file.encoding .*not one of the words"),
        ("delimiter: ab", "file.delimiter .*not one sign"),
        ("delimiter: ' '", "file.delimiter .*not one sign"),
        ("quote: x", "file.quote .*not one sign.*none"),
        ("delimiter: '\"'", "delimiter and quote are the same"),
        ("decimal: ';'", "file.decimal"),
        ("missing: [NA, NA]", "listed twice"),
        ("missing: ['']", "an empty value"),
        ("missing: [yes]", "a missing code is a declared value of attribute 'answer'; got yes"),
        ("form: csv", "file"),
    ],
)
def test_what_cannot_be_meant_is_refused(keys, match):
    with pytest.raises(PolicyError, match=match):
        with_file(f"file: {{{keys}}}\n")


def test_changes_and_problems_elsewhere():
    changed = Policy.parse(BASE).with_changes({"file.encoding": "windows-1252"})
    assert changed.schema.file.encoding == "windows-1252"
    with pytest.raises(PolicyError, match=r"release\.epsilon(.|\n)*file\.quote"):
        changed.with_changes({"file.quote": "no", "release.epsilon": "one"})
