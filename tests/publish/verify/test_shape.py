"""Our own reader of schemas against the reference one: they refuse the same certificates, whatever is changed in them."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.publish.verify.counted import SCHEMA as COUNTED
from shoal.publish.verify.release import SCHEMA as PAID
from shoal.publish.verify.shape import faults
from tests.publish.clinic import publish as publish_paid
from tests.publish.counted_clinic import publish

SCHEMAS = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in (("paid", PAID), ("counted", COUNTED))}
OTHERS = [
    None, True, False, 0, -5, 1, 2.5, "", "x", "-1", "1/3", "ab" * 32, "AB" * 32, [], {}, ["x", "x"], {"k": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shape")
    return {
        "paid": publish_paid(folder, name="paid", report=False).certificate,
        "counted": publish(folder, "swap", name="counted", table=folder / "table.csv", report=False).certificate,
    }


def places(value, path=()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield from places(item, (*path, name))


def changed(certificate, path, change):
    """A copy in which something is done to the holder of the last step."""
    made = copy.deepcopy(certificate)
    place = made
    for step in path[:-1]:
        place = place[step]
    change(place, path[-1])
    return made


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCHEMAS)
def test_it_agrees_with_the_reference_whatever_is_changed(certificates, kind):
    schema, honest = SCHEMAS[kind], certificates[kind]
    reference = jsonschema.Draft7Validator(schema)
    assert faults(honest, schema) == []
    seen = set()
    for number, path in enumerate(path for path in places(honest) if path):
        other = OTHERS[number % len(OTHERS)]
        for change in (
            lambda place, last, other=other: place.__setitem__(last, other),
            lambda place, last: place.__delitem__(last),
            lambda place, last: place[last].update(surprise=1) if isinstance(place[last], dict) else None,
        ):
            made = changed(honest, path, change)
            fits = reference.is_valid(made)
            seen.add(fits)
            assert bool(faults(made, schema)) != fits, (path, other)
    assert seen == {True, False}


SMALL = {
    "definitions": {"word": {"type": "string", "pattern": "^[a-c]+$", "minLength": 2}},
    "type": ["object", "array", "null"],
    "required": ["a"],
    "minProperties": 1,
    "properties": {
        "a": {"anyOf": [{"$ref": "#/definitions/word"}, {"type": "integer", "minimum": 2}]},
        "b": {"oneOf": [{"enum": [1, "x"]}, {"const": True}, {"type": "number"}]},
        "c": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": True, "items": {"type": "boolean"}},
    },
    "additionalProperties": {"type": "null"},
    "items": {"type": "string"},
}
LEAVES = st.none() | st.booleans() | st.integers(-3, 4) | st.sampled_from(["", "a", "ab", "abd", "x", 0.5, 2.5])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner)
)


@pytest.mark.slow
@given(VALUES)
def test_it_agrees_with_the_reference_on_any_value(value):
    assert bool(faults(value, SMALL)) != jsonschema.Draft7Validator(SMALL).is_valid(value)


def test_the_end_of_a_text_is_its_end():
    """Python's `$` lets a last line end through."""
    assert faults("ab\n", {"pattern": "^ab$"})
    assert not faults("ab", {"pattern": "^ab$"})


def test_it_says_where_and_quotes_nothing():
    found = faults({"a": 1, "c": [True, True], "d": "secret"}, SMALL)
    assert len(found) == 3
    assert any("certificate.c" in fault for fault in found)
    assert "secret" not in " ".join(found)


def test_a_word_that_is_not_known_is_refused_and_not_skipped():
    with pytest.raises(UsageError, match="exclusiveMaximum"):
        faults(3, {"exclusiveMaximum": 2})
