"""What the text of a column means is the policy's word: labels, missing codes, date formats, decimal marks."""

from __future__ import annotations

import pytest

from shoal.data.date_format import DateFormat
from shoal.policy.policy import Policy
from shoal.policy.text import editing
from shoal.publish.verify.lock import policy_of_lock
from shoal.publish.verify.standalone import lock_key_check, read_lock
from tests.policy.written import BASE, edited, the_problem

AGE, VISIT, ANSWER = "attributes.age", "attributes.visit", "attributes.answer"
DESCRIBED = {
    f"{AGE}.label": "age in years: at the visit",
    f"{AGE}.missing_values": ["-9", "-8"],
    f"{AGE}.value_labels": {"-9": "refused", "0": "below one", "110": "and above"},
    f"{VISIT}.format": "%d.%m.%Y",
    f"{ANSWER}.value_labels": {"yes": "smokes", "no": "does not"},
    "file.table": "visits",
}


def changed(changes):
    return Policy.parse(BASE).with_changes(changes)


def test_every_key_reaches_the_reader():
    policy = changed({**DESCRIBED, f"{AGE}.type": "decimal", f"{AGE}.decimal": ","})
    age, visit = policy.schema["age"], policy.schema["visit"]
    assert (age.missing_values, age.decimal, age.format) == (("-8", "-9"), ",", None)
    assert visit.format == DateFormat("%d.%m.%Y")
    assert policy.attributes["age"].label == "age in years: at the visit"
    assert policy.attributes["answer"].value_labels == {"yes": "smokes", "no": "does not"}
    assert policy.schema.file.table == "visits"


def test_a_policy_that_says_none_of_it_has_the_lock_that_it_had():
    text = Policy.parse(BASE).lock().text
    for key in ("label", "value_labels", "missing_values", "format:", "sheet", "table", "query"):
        assert f"\n    {key}" not in text.replace('\n    format: "parquet"', "")
    assert text.count("decimal:") == 1
    assert changed({f"{AGE}.missing_values": [], f"{AGE}.value_labels": {}}).lock().text == text


@pytest.mark.slow
def test_it_is_part_of_the_lock_and_read_back_from_it():
    locks = {
        changed({key: value} | ({f"{AGE}.missing_values": ["-9"]} if "age.value" in key else {})).lock().sha256
        for key, value in DESCRIBED.items()
    }
    assert len(locks | {Policy.parse(BASE).lock().sha256}) == len(DESCRIBED) + 1
    policy = changed(DESCRIBED)
    text = policy.lock().text
    assert (
        '\n    label: "age in years: at the visit"\n    value_labels:\n      "-9": "refused"\n      "0": "below one"\n'
        in text
    )
    assert '\n    missing_values: ["-8", "-9"]\n' in text
    assert '\n    format: "%d.%m.%Y"\n' in text
    again = policy_of_lock(text)
    assert again.lock() == policy.lock()
    assert again.attributes["answer"].value_labels == {"no": "does not", "yes": "smokes"}
    assert lock_key_check(read_lock(text)).agrees


def test_the_same_meaning_has_the_same_lock():
    codes = changed({f"{AGE}.missing_values": ["-8", "-9"]}).lock()
    assert codes == changed({f"{AGE}.missing_values": ["-9", "-8"]}).lock()
    labels = changed({f"{AGE}.value_labels": {"1_0": "ten", "+2": "two"}}).lock()
    assert labels == changed({f"{AGE}.value_labels": {"2": "two", "10": "ten"}}).lock()


def test_names_like_the_new_keys_are_names():
    """An attribute called `label` is a name of the person's own: its lock has it in quotes, as it always had."""
    for name in ("label", "value_labels", "missing_values", "sheet", "table", "query"):
        text = Policy.parse(edited(("  zip: {", f"  {name}: {{"))).lock().text
        assert f'\n  "{name}":\n' in text
    grouped = edited(("hierarchy: auto", "hierarchy: {groups: {label: [no], table: [yes]}}"))
    assert '\n        "label": ["no"]\n' in Policy.parse(grouped).lock().text


WRONG = [
    (f"{AGE}.format", "%d.%m.%Y", f"{AGE}.format", "without dates", None),
    (f"{AGE}.decimal", ",", f"{AGE}.decimal", "without decimals", None),
    (f"{AGE}.decimal", ";", f"{AGE}.decimal", "not one of the words", None),
    (f"{VISIT}.format", "%d.%m.%Y %H:%M", f"{VISIT}.format", "no time of day", "datetime"),
    (f"{VISIT}.format", "%d.%m", f"{VISIT}.format", "the year is not told once", None),
    (f"{VISIT}.format", "%d.%m.%C", f"{VISIT}.format", "not known here", None),
    (f"{ANSWER}.missing_values", ["no"], f"{ANSWER}.missing_values", "a declared value of attribute 'answer'", None),
    (f"{ANSWER}.missing_values", ["a", "a"], ANSWER, "listed twice", None),
    (f"{ANSWER}.missing_values", [""], f"{ANSWER}.missing_values[0]", "an empty value", None),
    (f"{ANSWER}.value_labels", {"maybe": "x"}, f"{ANSWER}.value_labels.maybe", "outside the domain", "missing_values"),
    (f"{AGE}.value_labels", {"111": "x"}, f"{AGE}.value_labels.111", "outside the domain", None),
    (f"{AGE}.value_labels", {"old": "x"}, f"{AGE}.value_labels.old", "outside the domain", None),
    (f"{AGE}.value_labels", {"1": "x", "+1": "y"}, f"{AGE}.value_labels", "two labels", None),
    (f"{VISIT}.value_labels", {"2020-01-01": "x"}, f"{VISIT}.value_labels.2020-01-01", "outside the domain", None),
    ("attributes.zip.value_labels", {"123": "x"}, "attributes.zip.value_labels.123", "outside the domain", None),
    (f"{ANSWER}.label", "x" * 501, f"{ANSWER}.label", "does not fit on a line", None),
    (f"{ANSWER}.label", "", f"{ANSWER}.label", "no value", None),
    ("file", {"sheet": "a", "table": "b"}, "file", "one place", None),
    ("file", {"table": "a", "query": "select 1"}, "file", "one place", None),
]


@pytest.mark.parametrize(("key", "value", "path", "match", "fix"), WRONG, ids=[f"{k}={v}"[:60] for k, v, *_ in WRONG])
def test_what_cannot_be_meant_is_refused(key, value, path, match, fix):
    found = the_problem(editing.change_text(BASE, {key: value}), path)
    assert match in found.wrong
    assert fix is None or fix in (found.fix or "")


def test_labels_of_booleans_patterns_and_missing_codes():
    policy = changed(
        {
            ANSWER: {"role": "confidential", "type": "boolean", "value_labels": {"true": "a", "false": "b"}},
            "attributes.zip.value_labels": {"01234": "the south", "NA": "not given"},
            "file.missing": ["NA"],
        }
    )
    assert policy.attributes["zip"].value_labels == {"01234": "the south", "NA": "not given"}
