"""The JSON Schema that is shipped is the one that the model gives, and it accepts what the reader accepts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from jsonschema import Draft7Validator

from shoal.policy.text.keys import DRAFT, SCHEMA_FILE, json_schema, json_schema_text, table_of_keys, with_table
from shoal.policy.text.reading import read_yaml
from tests.policy.text.test_problem import ANSWER
from tests.policy.written import BASE, edited
from tests.policy.yaml_values import as_an_editor_reads

VALIDATOR = Draft7Validator(json_schema())


def test_the_shipped_schema_is_fresh():
    assert SCHEMA_FILE.read_text("utf-8") == json_schema_text(), (
        "python -m shoal.policy.text.keys docs/reference/policy.md"
    )


def test_it_is_a_schema_of_draft_7():
    schema = json.loads(SCHEMA_FILE.read_text("utf-8"))
    assert schema["$schema"] == DRAFT
    Draft7Validator.check_schema(schema)
    assert "$defs" not in SCHEMA_FILE.read_text("utf-8")


def test_a_good_policy_is_accepted_both_as_an_editor_reads_it_and_as_we_do():
    assert not list(VALIDATOR.iter_errors(as_an_editor_reads(BASE)))
    unquoted = edited(("[no, yes]", "[no, null, 01234, 1.5, true, ~]"), ("delta: 1e-6", "delta: '1e-6'"))
    assert not list(VALIDATOR.iter_errors(as_an_editor_reads(unquoted)))
    assert isinstance(read_yaml(BASE).tree, dict)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("dataset: visits", "dataset: visits\nsurprise: 1", "$"),
        ("version: 1", "version: 2", "$.version"),
        ("unit: row", "unit: person", "$.unit"),
        ("unit: row", "unit: {column: id, rows: 3}", "$.unit"),
        ("neighbours: add_remove", "neighbours: add", "$.neighbours"),
        ("role: identifier", "role: id", "$.attributes.id.role"),
        ("type: integer", "type: int", "$.attributes.age.type"),
        ("method: safe-k", "method: safe", "$.release.method"),
        ("epsilon: 1.0", "epsilon: -1", "$.release.epsilon"),
        ("epsilon: 1.0", "epsilon: one", "$.release.epsilon"),
        ("{beta: auto}", "{beta: 2}", "$.release.sampling.beta"),
        ("{tree: {epsilon: 0.2}}", "{tree: {epsilon: 0}}", "$.release.recoding"),
        (ANSWER, ANSWER[:-1] + ", provenance: guessed}", "$.attributes.answer.provenance"),
    ],
)
def test_an_editor_shows_what_is_wrong(old, new, path):
    found = {error.json_path for error in VALIDATOR.iter_errors(as_an_editor_reads(edited((old, new))))}
    assert path in found


def test_the_table_of_a_page_is_written_again():
    page = with_table("# Title\n\n% keys\nSTALE\n% keys\n\nend\n")
    assert table_of_keys() in page
    assert page.startswith("# Title\n")
    assert page.endswith("\nend\n")
    assert "STALE" not in page
    assert with_table(page) == page


def test_shoal_stays_lazy():
    code = "import sys, shoal; assert not {'pydantic', 'ruamel.yaml'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
