"""The certificate's page says all that the certificate says, for ever in the same bytes; its schema lets nothing else in."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import shoal.publish
from shoal.guarantee.claim import Status
from shoal.publish.certificate.page import MOST_ENTRIES, STATUS
from tests.publish.made import KINDS, page_of, planned, sealed
from tests.publish.reading import Page

SCHEMA = json.loads(
    (Path(shoal.publish.__file__).parent / "certificate" / "safe_k.schema.json").read_text(encoding="utf-8")
)
CHECK = jsonschema.Draft7Validator(SCHEMA)


@pytest.fixture(scope="module", params=KINDS)
def made(request):
    return sealed(planned(request.param))


def texts(value):
    """Every text that a certificate holds, but for exact numbers, which a page rounds."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for entry in value.values() for text in texts(entry)]
    return [text for entry in value for text in texts(entry)] if isinstance(value, list) else []


def test_everything_is_on_the_page(made):
    page = Page(page_of(made))
    said = [made[name] for name in ("dataset", "date", "sentence", "status", "bound", "seal", "plan_sha256")]
    rules = made["tables"][0]["recoding"]
    said += texts([made["explanation"], made["theorems"], made["not_promised"], rules, made["files"]])
    said += [*rules, *made["files"], *(table["file"] for table in made["tables"])]
    assert [text for text in said if text not in page.text] == []


def test_the_page_is_sound_and_cannot_act(made):
    page = page_of(made)
    assert Page(page).faults == []
    assert "http" not in page
    assert "javascript" not in page


def test_every_status_has_its_words():
    assert set(STATUS) == {status.value for status in Status}


def test_the_numbers_of_the_promise():
    text = Page(page_of(sealed(planned("row")))).text
    assert "epsilon1the factor in the promise above is e to this power, 2.719" in text
    assert "delta0.000001" in text
    assert "k12the minimum class size: no class of fewer equal rows is shown" in text
    assert "beta0.2" in text


def test_where_the_published_theorem_is_silent():
    assert "Theorem 5 of Li, Qardaji and Su (2011) says nothing at this epsilon" in page_of(sealed(planned("silent")))


def test_a_unit_of_several_rows_has_its_own_delta():
    text = Page(page_of(sealed(planned("person")))).text
    assert "delta for this unit" in text
    assert "all rows (at most 2) of one 'name'" in text


def test_tables_with_the_same_columns_are_listed_once():
    text = Page(page_of(sealed(planned("repeat")))).text
    assert "table-1.csv, table-2.csv, table-3.csv: classes of at least" in text
    assert text.count("recoding/01.json") == 2  # the column's rule, and its hash


def test_long_fractions_are_rounded_up():
    made = sealed(planned("repeat"))
    assert made["samples"][0]["delta"] == "1/3000000"
    made["guarantee"]["delta"] = "1/3000000"
    assert "3.334e-07" in page_of(made)


def test_other_releases_and_warnings():
    made = planned("row")
    assert "No other release" in page_of(sealed(made))
    page = page_of(sealed(made, charges=2, unbounded=1))
    assert "1 earlier charge of this dataset was in" in page
    assert "charge 2: this release" in page
    assert "1 other release of this dataset carries a guarantee that does not add up" in page


def test_very_many_charges_are_added_up():
    text = Page(page_of(sealed(planned("row"), charges=MOST_ENTRIES + 10))).text
    assert "charges 1 to 10, added up10" in text
    assert f"charge {MOST_ENTRIES + 10}: this release" in text
    assert "charge 10 " not in text


def test_names_are_words_and_nothing_more():
    attributes = '  "<b>&\\"שם": {role: quasi, type: category, domain: ["<script>", ok], hierarchy: auto}\n'
    page = page_of(sealed(planned(attributes=attributes, levels="", dataset="a <i>name")))
    assert "<bdi>&lt;b&gt;&amp;&#34;שם</bdi>" in page
    assert "<bdi>a &lt;i&gt;name</bdi>" in page
    assert Page(page).faults == []


PROGRAM = """
import json, sys
from shoal.publish.certificate.model import SafeKCertificate
from shoal.publish.certificate.page import certificate_page
sys.stdout.buffer.write(certificate_page(SafeKCertificate.read(json.load(sys.stdin.buffer))).encode())
assert not {"matplotlib", "pyarrow", "duckdb"} & set(sys.modules)
"""


def test_the_same_bytes_again(made):
    assert page_of(made) == page_of(copy.deepcopy(made))


@pytest.mark.slow
def test_the_same_bytes_in_another_process_without_a_plotting_library():
    made = sealed(planned("row"))
    sent = json.dumps(made).encode()
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=sent, capture_output=True, check=True)
    assert done.stdout.decode() == page_of(made)


# --- the schema ---------------------------------------------------------------------------------------------------


def objects(value, path=()):
    """Every object inside a certificate whose names the schema fixes."""
    if isinstance(value, dict):
        if not path or path[-1] not in ("files", "recoding"):
            yield path
        for name, entry in value.items():
            yield from objects(entry, (*path, name))
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from objects(entry, (*path, place))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def test_the_schema_is_sound():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_certificates_are_as_the_schema_says(made):
    assert [error.message for error in CHECK.iter_errors(made)] == []


@pytest.mark.slow
def test_the_schema_lets_nothing_more_and_nothing_less_in(made):
    assert len(list(objects(made))) > 20
    for path in objects(made):
        more = copy.deepcopy(made)
        at(more, path)["surprise"] = 1
        assert not CHECK.is_valid(more), path
        for name in at(made, path):
            less = copy.deepcopy(made)
            del at(less, path)[name]
            assert not CHECK.is_valid(less), (*path, name)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("guarantee", "epsilon"), 1.0),
        (("guarantee", "epsilon"), "-1"),
        (("guarantee", "delta"), "1e"),
        (("status",), "certain"),
        (("seal",), "AB" * 32),
        (("files", "policy.lock.yaml"), "short"),
        (("tables", 0, "file"), "../elsewhere.csv"),
        (("tables", 0, "file"), "/elsewhere.csv"),
        (("samples", 0, "k"), 0),
        (("ledger", "entries"), []),
        (("claims", 0, "guarantee", "kind"), "magic"),
    ],
)
def test_the_schema_refuses_other_values(path, value):
    made = sealed(planned("row"))
    at(made, path[:-1])[path[-1]] = value
    assert not CHECK.is_valid(made)
