"""What is made from the model and shipped with it: the JSON Schema for editors, and the table of keys.

python -m shoal.policy.text.schema_file        writes policy.schema.json again, after a change of the model
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from shoal.policy.model.file import Asked
from shoal.policy.text.keys import every_key

SCHEMA_FILE = Path(__file__).parents[1] / "policy.schema.json"
MARK = "% keys"
NAME = "urn:shoal:policy:1"
DRAFT = "http://json-schema.org/draft-07/schema#"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of the policy file.

    An editor reads YAML by its own rules, so a number may come as a number or as a text; what a text means in its
    place, and what keys say about each other, is checked when the policy is read.
    """
    schema = _draft_7(Asked.model_json_schema(mode="validation"))
    return {"$schema": DRAFT, "$id": NAME, **schema, "title": "Shoal policy"}


def json_schema_text() -> str:
    """The schema as it is shipped."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def table_of_keys() -> str:
    """Every key with its meaning and its default, as a table in Markdown."""
    rows = [f"| `{key.path}` | {key.words} | {key.default} |" for key in every_key()]
    return "\n".join(["| key | meaning | default |", "| --- | --- | --- |", *rows]) + "\n"


def _draft_7(value: Any) -> Any:
    """What later drafts call otherwise, in the words of draft 7; nulls, which a policy never holds, left out."""
    if isinstance(value, list):
        return [_draft_7(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "default" in value and value["default"] is None:
        value = {key: item for key, item in value.items() if key != "default"}
    options = value.get("anyOf")
    if options and {"type": "null"} in options:
        left = [option for option in options if option != {"type": "null"}]
        value = {key: item for key, item in value.items() if key != "anyOf"}
        value = {**value, **left[0]} if len(left) == 1 else {**value, "anyOf": left}
    if "$ref" in value:
        pointer = {"$ref": value["$ref"].replace("#/$defs/", "#/definitions/")}
        words = {key: item for key, item in value.items() if key != "$ref"}
        return {**words, "allOf": [pointer]} if words else pointer
    return {"definitions" if key == "$defs" else key: _draft_7(item) for key, item in value.items()}


def with_table(page: str) -> str:
    """A page with the table between its marks written again."""
    before, _, rest = page.partition(MARK)
    _, _, after = rest.partition(MARK)
    return f"{before}{MARK}\n\n{table_of_keys()}\n{MARK}{after}"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json_schema_text(), "utf-8")
    for name in sys.argv[1:]:
        Path(name).write_text(with_table(Path(name).read_text("utf-8")), "utf-8")
