"""The models of certificates: they hold what they say and nothing else, and the schemas that ship are made from them."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest
from pydantic import ValidationError

from shoal.publish.certificate.model import (
    MODELS,
    SCHEMA_FILES,
    Certificate,
    Entry,
    SafeKCertificate,
    schema_text,
)
from shoal.publish.verify import standalone as verifier
from tests.publish.verify.freeze import FROZEN, KINDS

OTHERS = [
    None, True, False, 0, -5, 1, 2.5, "", "x", "-1", "1/3", "1e-6", "ab" * 32, "AB" * 32, [], {}, ["x", "x"], {"k": 1}, "a\n",
]  # fmt: skip


def content(kind: str) -> dict:
    return json.loads((FROZEN / kind / "certificate.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("place", SCHEMA_FILES, ids=lambda place: place.name)
def test_the_schema_that_ships_is_made_from_the_model(place):
    """`python -m shoal.publish.certificate.model` writes both again."""
    assert place.read_text(encoding="utf-8") == schema_text(SCHEMA_FILES[place])
    jsonschema.Draft7Validator.check_schema(json.loads(place.read_text(encoding="utf-8")))


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_the_dump_of_the_model(kind):
    told = content(kind)
    model = MODELS[told["method"]].read(told)
    assert model.to_json() == told
    assert list(model.to_json()) == list(told)
    assert model.text() == (FROZEN / kind / "certificate.json").read_text(encoding="utf-8")


def test_nothing_in_a_certificate_changes():
    model = SafeKCertificate.read(content("levels"))
    with pytest.raises(ValidationError, match="frozen"):
        model.status = "none"
    with pytest.raises(ValidationError, match="frozen"):
        model.samples[0].k = 1


def every_model(model: type[Entry] = Entry) -> list[type[Entry]]:
    return [found for own in model.__subclasses__() for found in (own, *every_model(own))]


LATER = {"LedgerEntry": {"looks"}, "CountedLedgerEntry": {"looks"}, "NoiseEntry": {"first"}}
LATER |= {model.__name__: {"treatments"} for model in {Certificate, *MODELS.values()}}
LATER["SafeKCertificate"] = {"treatments", "noisy_total"}
"""Keys that came after the first certificates: those do not have them, and no other key may be left out."""


def test_every_key_is_typed_and_has_no_default():
    assert len(every_model()) > 30
    for model in every_model():
        assert model.model_config["frozen"]
        assert model.model_config["extra"] == "forbid"
        later = {name for name, field in model.model_fields.items() if not field.is_required()}
        assert later == LATER.get(model.__name__, set())
        assert "Any" not in str([field.annotation for field in model.model_fields.values()])


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
@pytest.mark.parametrize("kind", ["levels", "views-chosen", "several-rows", "microaggregation", "ranking"])
def test_model_schema_and_the_reading_of_the_one_file_verifier_agree_whatever_is_changed(kind):
    """What the schema refuses, the model refuses; what the one-file verifier reads, the schema allows."""
    honest = content(kind)
    model = MODELS[honest["method"]]
    schema = jsonschema.Draft7Validator(json.loads(schema_text(model)))
    seen = set()
    for number, path in enumerate(path for path in places(honest) if path and path[0] != "method"):
        for other in (OTHERS[number % len(OTHERS)],):
            for change in (
                lambda place, last, other=other: place.__setitem__(last, other),
                lambda place, last: place.__delitem__(last),
                lambda place, last: place[last].update(surprise=1) if isinstance(place[last], dict) else None,
            ):
                made = changed(honest, path, change)
                fits = schema.is_valid(made)
                seen.add(fits)
                try:
                    model.read(made)
                    read = True
                except ValidationError:
                    read = False
                assert read == fits, (path, other)
                if fits:
                    assert verifier.key_check(made).agrees, (path, other)
    assert seen == {True, False}


def test_the_one_file_verifier_names_the_key_that_is_wrong():
    told = content("views")
    del told["samples"][0]["beta"]
    assert verifier.key_check(told).detail == "certificate.samples[0] has no key 'beta'"
    told = content("views")
    told["ledger"]["entries"][0]["note"] = "trust us"
    assert verifier.key_check(told).detail == (
        "certificate.ledger.entries[0] has the key 'note', which it must not have"
    )
    told = content("views")
    told["curve"][1]["epsilon"] = 0.5
    assert verifier.key_check(told).detail == "certificate.curve[1].epsilon is not written as it must be"


def test_the_forms_of_the_one_file_verifier_have_the_keys_of_the_models():
    for method, form in verifier.CERTIFICATES.items():
        assert set(form) == set(MODELS[method].model_fields)
    assert set(MODELS.values()) == set(SCHEMA_FILES.values())
    assert all(issubclass(model, Certificate) for model in MODELS.values())
