"""Every key of the policy file is read, and the reference describes it."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path

import pytest

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import KINDS
from shoal.data.hierarchy.intervals import CALENDAR_PARTS
from shoal.data.schema import Missing, Outside, Role, Type
from shoal.guarantee.unit import Unit
from shoal.policy.model.attribute import DATE_PARTS, HierarchyModel
from shoal.policy.model.method import METHODS
from shoal.policy.model.release import METHOD_NAMES, ReleaseModel
from shoal.policy.policy import Policy
from shoal.policy.text.keys import every_key, known_at, table_of_keys
from tests.policy.written import BASE, base, edited

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "policy.md"


def attribute(words: str, method: str = "safe-k"):
    """One attribute of a policy, as the schema has it."""
    text = edited(
        ("  answer: {role: confidential, type: category, domain: [no, yes], hierarchy: auto}", f"  it: {{{words}}}")
    )
    return Policy.parse(text).schema["it"]


# --- the whole ----------------------------------------------------------------------------------------------------


def test_the_policy_of_the_design():
    policy = Policy.parse(BASE)
    assert policy.dataset == "visits"
    assert policy.unit == Unit.row("add_remove")
    assert policy.schema.names == ("id", "age", "zip", "visit", "answer")
    assert [a.role for a in policy.schema.attributes][:2] == [Role.IDENTIFIER, Role.QUASI]
    assert policy.schema["id"].type is Type.TEXT
    assert policy.schema["age"].domain == Interval(0, 110)
    assert policy.schema["visit"].domain == Interval(dt.date(2024, 1, 1), dt.date(2026, 12, 31))
    assert policy.schema["zip"].domain == Pattern("[0-9]{5}")
    assert len(policy.schema["age"].hierarchy) == 6
    assert policy.release.epsilon == 1
    assert policy.release.delta == Fraction(1, 10**6)
    assert policy.budget.epsilon == 3
    assert policy.attributes["age"].role is Role.QUASI


def test_a_person_with_several_rows():
    policy = Policy.parse(edited(("unit: row", "unit: {column: id, max_rows: 3}")))
    assert policy.unit == Unit.person("id", 3, "add_remove")


def test_defaults_are_written_out_in_the_release():
    release = Policy.parse(base(recoding=None, sampling=None)).release
    assert release.bound == "tight"
    assert release.sampling.beta == "auto"
    assert release.sampling.prefer == "balance"
    assert release.recoding.tree.epsilon == Fraction(3, 20)  # of 1
    assert release.recoding.tree.depth == 64
    assert release.output.format == "parquet"
    assert release.repeat == 1
    assert Policy.parse(base()).model.release.bound is None


def test_a_policy_without_a_release_needs_no_domains():
    text = "version: 1\ndataset: d\nunit: row\nneighbours: replace_one\nattributes: {a: {role: quasi, type: integer}}\n"
    policy = Policy.parse(text)
    assert policy.release is None
    assert policy.budget is None
    assert policy.schema["a"].domain is None


# --- attributes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "domain"),
    [
        ("role: quasi, type: integer, domain: [-5, 1_000]", Interval(-5, 1000)),
        ("role: quasi, type: integer, domain: {interval: [1, 2]}", Interval(1, 2)),
        ("role: quasi, type: integer, domain: {values: [3, 1]}", Values(("3", "1"))),
        ("role: quasi, type: decimal, domain: [.5, 1e3]", Interval(0.5, 1000.0)),
        ("role: quasi, type: date, domain: {values: [2024-01-01]}", Values(("2024-01-01",))),
        (
            "role: quasi, type: datetime, domain: [2024-01-01, 2024-01-02 10:30]",
            Interval(dt.datetime.fromisoformat("2024-01-01"), dt.datetime.fromisoformat("2024-01-02 10:30")),
        ),
        ("role: quasi, type: category, domain: {values: [a, b]}", Values(("a", "b"))),
        ("role: quasi, type: ordinal, domain: [low, high]", Values(("low", "high"))),
        ("role: quasi, type: text, domain: [01, 02]", Values(("01", "02"))),
        ("role: quasi, type: text, domain: {pattern: 'a|bc', length: 2}", Pattern("a|bc", 2)),
        ("role: quasi, type: boolean", Values(("false", "true"))),
        ("role: quasi, type: category, hierarchy: {groups: {x: [a, b], y: [c]}}", Values(("a", "b", "c"))),
    ],
)  # fmt: skip
def test_domains(words, domain):
    assert attribute(words).domain == domain


@pytest.mark.parametrize(
    ("words", "kind", "levels"),
    [
        ("type: integer, domain: [0, 99], hierarchy: {intervals: 10}", "intervals", 3),
        ("type: integer, domain: [0, 99], hierarchy: {intervals: [10, 20], origin: 5, below: 10, above: 80}", "intervals", 4),
        ("type: integer, domain: [0, 99], hierarchy: {cuts: [18, 65], labels: [child, adult, old]}", "cuts", 3),
        ("type: integer, domain: [0, 99], hierarchy: {cuts: [[18, 40, 65], [40]]}", "cuts", 4),
        ("type: decimal, domain: [0, 99], hierarchy: {rounding: [0.5, 10]}", "rounding", 4),
        ("type: text, domain: {pattern: '[0-9]{5}'}, hierarchy: {mask: left}", "mask", 6),
        ("type: text, domain: {pattern: '[0-9]{5}'}, hierarchy: {mask: {side: right, keep: [3, 1]}}", "mask", 4),
        ("type: text, domain: {pattern: '[0-9]{5}'}, hierarchy: {mask: {prefix: 2, length: 5}}", "mask", 3),
        ("type: date, domain: [2024-01-01, 2025-01-01], hierarchy: {date: year}", "date", 3),
        ("type: category, domain: [a, b, c], hierarchy: {groups: {x: [a]}, rest: y}", "groups", 3),
        ("type: category, hierarchy: {taxonomy: {all: {x: [a, b], y: [c]}}}", "taxonomy", 3),
        ("type: integer, domain: [0, 99], hierarchy: auto", "intervals", 6),
        ("type: boolean, hierarchy: auto", "groups", 2),
    ],
)  # fmt: skip
def test_hierarchies(words, kind, levels):
    found = attribute(f"role: quasi, {words}").hierarchy
    assert (found.kind, len(found)) == (kind, levels)


def test_hierarchies_in_files_lie_beside_the_policy(tmp_path):
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "a.csv").write_text("no,*\nyes,*\n")
    (tmp_path / "h" / "a.yaml").write_text("all: [no, yes]\n")
    for words in ("file: h/a.csv, delimiter: ','", "file: h/a.csv", "taxonomy: h/a.yaml"):
        text = edited(("domain: [no, yes], hierarchy: auto", f"hierarchy: {{{words}}}"))
        assert Policy.parse(text, tmp_path).schema["answer"].domain == Values(("no", "yes"))


def test_what_does_not_fit():
    one = attribute("role: other, type: integer, domain: [1, 2], missing: refuse, outside: clamp, weight: 0.5")
    assert (one.missing, one.outside) == (Missing.REFUSE, Outside.CLAMP)
    assert attribute("role: weight, type: decimal, domain: [0, 9], outside: suppress").outside is Outside.SUPPRESS
    text = edited(("type: integer,", "type: integer, weight: 2.5,"))
    assert Policy.parse(text).weight("age") == Fraction(5, 2)
    assert Policy.parse(text).weight("zip") == 1


def test_provenance():
    policy = Policy.parse(
        edited(
            ("hierarchy: {mask: right}", "hierarchy: {mask: right}, provenance: profiled"),
            ("hierarchy: auto", "hierarchy: auto, provenance: {hierarchy: profiled}"),
            ("role: identifier", "role: identifier, provenance: profiled"),
        )
    )
    assert policy.profiled_keys() == (
        "attributes.answer.hierarchy",
        "attributes.zip.domain",
        "attributes.zip.hierarchy",
    )
    assert Policy.parse(BASE).profiled_keys() == ()


NO_SAMPLE = {"recoding": None, "sampling": None}

# --- releases -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "check"),
    [
        ({"k": 20}, lambda r: r.k == 20),
        ({"bound": "published"}, lambda r: r.bound == "published"),
        ({"repeat": 12}, lambda r: r.repeat == 12),
        ({"output": "csv"}, lambda r: r.output.format == "csv"),
        ({"output": {"format": "csv"}}, lambda r: r.output.format == "csv"),
        ({"recoding": {"choose": {"epsilon": "0.1"}}}, lambda r: r.recoding.epsilon == Fraction(1, 10)),
        ({"recoding": "tree", "epsilon": "2"}, lambda r: r.recoding.tree.epsilon == Fraction(3, 10)),
        ({"recoding": "choose"}, lambda r: r.recoding.choose.score == "ramp" and r.chosen == Fraction(1, 20)),
        ({"recoding": {"tree": {"finest": {"age": 1}, "depth": 9}}}, lambda r: r.recoding.tree.depth == 9),
        ({"recoding": {"levels": {"age": 2, "zip": 5}}}, lambda r: r.recoding.levels["age"] == 2),
        ({"views": "pairs"}, lambda r: r.views.every == "pairs"),
        ({"views": "triples"}, lambda r: r.views.every == "triples"),
        ({"views": {"groups": [["age", "zip"], ["visit", "answer"]]}}, lambda r: len(r.views.groups) == 2),
        ({"views": {"workload": [["age", "zip"], ["age"]]}}, lambda r: r.views.workload[1] == ("age",)),
        ({"views": {"choose": {"epsilon": "0.1", "count": 3}}}, lambda r: r.chosen == Fraction(3, 10)),
        ({"views": {"show": "counts", "every": "pairs"}, **NO_SAMPLE}, lambda r: r.views.cells == "merged"),
        ({"views": {"show": "counts", "choose": {}}, **NO_SAMPLE}, lambda r: r.views.choose.width == 2),
        ({"views": {"show": "counts", "adapt": {"width": 3}}, **NO_SAMPLE}, lambda r: len(r.views.candidates("abcd")) == 10),
        ({"views": {"show": "rows", "every": "pairs"}}, lambda r: r.views.show is None and r.has_rows),
        ({"counts": "pairs"}, lambda r: (r.counts.share, r.counts.cells, r.has_rows) == (Fraction(1, 2), "merged", True)),
        ({"sampling": {"beta": "0.25"}}, lambda r: r.sampling.beta == Fraction(1, 4)),
        ({"sampling": {"prefer": "detail"}}, lambda r: (r.sampling.beta, r.sampling.prefer) == ("auto", "detail")),
        ({"sampling": {"already": "0.01"}, "recoding": None}, lambda r: r.sampling.already == Fraction(1, 100)),
    ],
)  # fmt: skip
def test_releases(keys, check):
    assert check(Policy.parse(base(**keys)).release)


@pytest.mark.parametrize(
    ("method", "keys"),
    [
        ("sample", "epsilon: 0.3, delta: 0.01, bound: published, rare: drop, rare_below: 9, sampling: {beta: auto}"),
        ("k-anonymity", "k: 5, l: 2, t: 0.5, suppression: 0.1, recoding: {levels: {age: 1}}"),
        ("microaggregation", "k: 5, grouping: vmdav"),
        ("probabilistic-k", "k: 5, grouping: ranking"),
        ("t-closeness", "t: 2.5, k: 4"),
        ("anatomy", "l: 3, k: 4, form: permuted"),
        ("synthetic", "epsilon: 1, delta: 0.01, synthetic: {rows: 500, never: [{age: [0, 15], answer: yes}]}"),
    ],
)
def test_every_other_method_has_its_keys(method, keys):
    head, _, _ = BASE.partition("release:")
    text = head.replace("add_remove", "replace_one") + f"release: {{method: {method}, {keys}}}\n"
    release = Policy.parse(text).release
    assert release.method == method
    assert set(METHODS[method].defaults) <= set(release.given_keys())


def test_noisy_centroids_have_their_keys():
    keys = "k: 50, epsilon: 1, rows: 500, delta: 0, grouping: insensitive, corners: 2, noise: auto, calibration: per_record"
    text = f"""\
version: 1
dataset: ages
unit: row
neighbours: replace_one
attributes: {{age: {{role: other, type: integer, domain: [0, 110], missing: refuse}}}}
release: {{method: dp-microaggregation, {keys}}}
"""
    assert set(METHODS["dp-microaggregation"].keys) <= set(Policy.parse(text).release.given_keys())


def test_the_closed_lists_agree():
    assert set(METHODS) == set(METHOD_NAMES)
    keys = set(ReleaseModel.model_fields)
    assert all({*method.required, *method.optional, *method.defaults} <= keys for method in METHODS.values())
    used = {key for method in METHODS.values() for key in (*method.required, *method.optional)}
    assert used | {"method", "repeat", "output"} == keys
    options = {option for kind in KINDS.values() for option in kind.options}
    assert set(HierarchyModel.model_fields) == set(KINDS) | options
    assert set(DATE_PARTS) == set(CALENDAR_PARTS)


# --- the reference ------------------------------------------------------------------------------------------------


def test_every_key_has_words_and_a_row_in_the_reference():
    page = REFERENCE.read_text("utf-8")
    for key in every_key():
        assert key.words.endswith("."), key.path
    assert table_of_keys() in page, "docs/reference/policy.md is stale: python -m shoal.policy.text.keys"


def test_keys_are_found_by_place():
    assert list(known_at(["attributes", "age", "provenance"])) == ["domain", "hierarchy"]
    assert known_at(["release", "views", "groups", 0, 0]) == {}
    assert known_at(["nowhere", "below"]) == {}
