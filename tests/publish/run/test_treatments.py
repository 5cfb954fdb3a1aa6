"""Treatments before every method: charged first, drawn once, verified by both verifiers, told to the custodian alone."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

import shoal
from shoal.engine.base import open_engine
from shoal.errors import PolicyError, PreconditionError
from shoal.guarantee.theorem import THEOREMS
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.base import RECORD_WISE
from shoal.publish.plan.methods import PLANS, plan
from shoal.publish.run.release import release
from shoal.publish.verify import standalone
from shoal.publish.verify.release import verify
from tests.publish import counted_clinic, sample_clinic
from tests.publish.clinic import POLICY as CLINIC
from tests.publish.clinic import policy, publish, write_table

ALONE = [
    {"top": {"age": 80}},
    {"bottom": {"age": 20}},
    {"random_round": {"age": 10}},
    {"pram": {"attribute": "sex", "keep": "0.75", "missing": "draw"}},
    {"population_threshold": {"attribute": "diag", "least": 10, "counts": {"flu": 99, "cold": 50, "rare": 3}}},
]
OTHERS = [
    {"swap": {"attributes": ["diag"], "rate": "0.3", "within": ["sex"]}},
    {"population_threshold": {"attribute": "diag", "least": 5}},
]
VALUES = {"release.recoding": {"levels": {"age": 0, "diag": 0}}}
PAID: dict[str, dict[str, object]] = {
    "values": VALUES,
    "intervals": {},
    "tree": {"release.recoding": {"tree": {"epsilon": "0.3"}}},
    "views": {"release.views": "pairs", "release.output": "parquet"},
    "repeat": {"release.repeat": 2, "release.epsilon": "2", "release.output": "parquet"},
    "people": {"unit": {"column": "patient", "max_rows": 2}, "release.epsilon": "4", "budget": None},
    "counts": {
        "release.views": {"every": "pairs", "show": "counts"},
        "release.sampling": None,
        "release.recoding": None,
    },
}
COUNTED = ("microaggregation", "diverse", "swap")
UNPRICED = (*COUNTED, "sample")
"""Kinds whose claims are about the treated table."""


def make(folder: Path, kind: str, **options):
    if kind in COUNTED:
        return counted_clinic.publish(folder, kind, {"treatments": [*ALONE, *OTHERS]}, **options)
    if kind == "sample":
        return sample_clinic.publish(folder, "out", {"treatments": [*ALONE, *OTHERS]}, report=options["report"])
    return publish(folder, {**PAID[kind], "treatments": ALONE}, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    found = {}

    def release(kind):
        if kind not in found:
            found[kind] = make(tmp_path_factory.mktemp(kind), kind, report=True, rows=300)
        return found[kind]

    return release


BY_DEFAULT = ("values", "counts", "microaggregation")
"""Kinds that are released by default, for all others the plan alone."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in BY_DEFAULT else pytest.mark.long) for kind in (*PAID, *UNPRICED)],
)
def test_every_kind_of_release_says_and_keeps_its_steps(made, kind):
    release = made(kind)
    checks = verify(release.folder)
    assert not [check for check in checks if check.agrees is False]
    assert {check.id for check in checks} >= {"treatments"}
    lines, code = standalone.report(standalone.verify(release.folder))
    assert code == 0, lines
    steps = release.certificate["treatments"]
    assert [step["kind"] for step in steps][:5] == ["top", "bottom", "random_round", "pram", "population_threshold"]
    assert steps[3]["parameters"]["local_epsilon"] == "1.7917595"
    last = [sentence for sentence in release.sentences if "these steps" in sentence]
    paid = kind in PAID
    assert (RECORD_WISE in release.claims[0].theorems) == paid
    assert ("about the table before them" in last[0]) == paid
    said = standalone.treatment_statement(release.folder)[0]
    assert said.endswith("before that." if paid else "after that.")
    changed = {(each["kind"], each["attribute"]): each["changed"] for each in release.report["treatments"]}
    assert changed["top", "age"] > 0
    page = (release.custodian_folder / "report.html").read_text()
    assert "Treatments before the method" in page
    report = json.loads((release.custodian_folder / "report.json").read_text())
    assert report["treatments"] == list(release.report["treatments"])
    told = "".join(
        file.read_text(errors="replace") for file in release.folder.iterdir() if file.suffix in (".json", ".md")
    )
    assert '"changed"' not in told, "how many values changed is nowhere in the release"


@pytest.mark.slow
def test_estimates_are_about_the_treated_table(made):
    assert shoal.load(made("values").folder).records == "rows of the table after its treatments"


@pytest.mark.slow
def test_the_table_shows_what_the_steps_leave(made):
    with (made("values").folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["age"] for row in rows} <= {str(age) for age in range(20, 81, 10)}
    assert {row["diag"] for row in rows} <= {"flu", "cold", ""}


@pytest.mark.slow
def test_the_ledger_knows_the_table_before_its_treatments(made):
    folder = made("values").folder.parent
    table = open_engine().scan(folder / "table.csv", policy().schema)
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        (charge,) = [event.payload for event in ledger.events("clinic") if event.kind == "charge"]
        assert charge["fingerprints"][0] == ledger.fingerprint(table.digest())


@pytest.mark.slow
def test_a_step_that_fails_fails_after_the_charge(tmp_path, monkeypatch):
    from shoal.anonymize.treatment.coding import ExtremeCoding
    from shoal.errors import DataError

    def fail(*_):
        with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
            assert len(ledger.account("clinic").costs) == 1, "the charge comes before the first draw"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ExtremeCoding, "apply", fail)
    with pytest.raises(DataError, match="the charge stands"):
        make(tmp_path, "values")
    assert not (tmp_path / "out").exists()


# --- plans --------------------------------------------------------------------------------------------------------------


def asked(kind, changes):
    if kind in COUNTED:
        return counted_clinic.policy(kind, changes)
    return sample_clinic.policy(changes) if kind == "sample" else policy({**PAID[kind], **changes})


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in ("views", "counts") else pytest.mark.long) for kind in (*PAID, *UNPRICED)],
)
def test_every_plan_says_its_steps(kind):
    changes = {"treatments": ALONE}
    found = plan(asked(kind, changes))
    values = found.to_json()
    assert [each["kind"] for each in values["treatments"]] == [
        each["kind"] for each in found.treatment_fields()["treatments"]
    ]
    assert any("top coding" in sentence for sentence in found.sentences())
    if found.cost is not None:
        assert found.claims[0].theorems[-1] == RECORD_WISE
        assert values["theorems"][-1] == RECORD_WISE
        assert kind != "counts" or "record-wise-treatment" in found.page()
    else:
        assert RECORD_WISE not in found.claims[0].theorems


METHODS = {
    "safe-k": "epsilon: 1, delta: 1e-3, recoding: {levels: {age: 2}}, sampling: {beta: 0.5}",
    "synthetic": "epsilon: 1, delta: 1e-3",
    "dp-microaggregation": "epsilon: 1",
    "microaggregation": "k: 5",
    "probabilistic-k": "k: 5",
    "k-anonymity": "k: 5, suppression: 0.5, recoding: {levels: {age: 1}}",
    "t-closeness": "t: 3, k: 90",
    "anatomy": "l: 2, k: 5",
    "sample": "epsilon: 0.5, delta: 0.01, recoding: {levels: {age: 2}}",
}
"""A release by every method that can be planned."""


def treated_plan(method: str, steps):
    text = CLINIC.partition("release:")[0].replace("add_remove", "replace_one")
    if method == "dp-microaggregation":  # a missing value has no centroid, so no step may take or make one
        steps = [*steps[:3], {"pram": {"attribute": "sex", "keep": "0.75"}}]
        text = re.sub(r"role: (quasi|confidential)", r"missing: refuse, role: \1", text)
    text += f"treatments: {json.dumps(steps)}\nrelease: {{method: {method}, {METHODS[method]}, output: csv}}\n"
    return plan(Policy.parse(text))


@pytest.mark.slow
def test_every_method_that_can_be_planned_says_its_steps():
    assert set(METHODS) == set(PLANS)
    for method in METHODS:
        found = treated_plan(method, ALONE)
        assert any("top coding" in sentence for sentence in found.sentences()), method
        assert found.to_json()["treatments"] == found.treatment_fields()["treatments"], method
        assert (RECORD_WISE in found.claims[0].theorems) == (found.cost is not None), method


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_every_method_releases_a_treated_table_that_verifies(tmp_path, method):
    found = treated_plan(
        method, ALONE if method in ("safe-k", "synthetic", "dp-microaggregation") else [*ALONE, *OTHERS]
    )
    table = write_table(tmp_path / "table.csv", 600)
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        made = release(found, table, tmp_path / "out", ledger=ledger, engine=open_engine())
    assert not [check for check in verify(made.folder) if check.agrees is False]
    assert standalone.report(standalone.verify(made.folder))[1] == 0
    assert made.report["treatments"]


@pytest.mark.parametrize("step", OTHERS, ids=["swap", "threshold"])
def test_a_differential_plan_refuses_steps_that_look_at_others(step):
    with pytest.raises(PolicyError, match=RECORD_WISE):
        policy({"treatments": [step]})
    honest = plan(policy())
    asked = counted_clinic.policy("microaggregation", {"treatments": [step]}).model.treatments
    object.__setattr__(honest, "policy", honest.policy.__class__(
        honest.policy.model.model_copy(update={"treatments": asked}), honest.policy.schema, honest.policy.unit, honest.policy.text
    ))  # fmt: skip
    with pytest.raises(PreconditionError, match=RECORD_WISE):
        honest.claims  # noqa: B018


def test_a_plan_without_steps_says_nothing_of_them():
    found = plan(policy())
    assert found.treatments == ()
    assert "treatments" not in found.to_json()
    assert RECORD_WISE in THEOREMS
    assert RECORD_WISE not in found.claims[0].theorems


# --- forgeries ----------------------------------------------------------------------------------------------------------


def failed(folder: Path) -> tuple[set[str], set[str]]:
    both = verify(folder), standalone.verify(folder)
    first, second = ({check.id for check in checks if check.agrees is False} for checks in both)
    return first, second


def dropped(content):
    del content["treatments"]


def said_alone(content):
    content["treatments"][3]["depends_on"] = "the record alone"


def cheaper(content):
    content["treatments"][3]["parameters"]["local_epsilon"] = "0.5"


def reordered(content):
    content["treatments"].reverse()


def shorter(content):
    content["treatments"] = content["treatments"][:1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("values", dropped),
        ("values", cheaper),
        ("counts", said_alone),
        ("microaggregation", dropped),
        ("microaggregation", reordered),
        ("microaggregation", shorter),
    ],
)
def test_a_certificate_that_says_other_steps_is_rejected(made, tmp_path, kind, change):
    from tests.publish.verify.forgery import write

    folder = Path(shutil.copytree(made(kind).folder, tmp_path / kind))
    content = json.loads((folder / "certificate.json").read_text())
    change(content)
    write(folder, content, rehash=True)
    first, second = failed(folder)
    assert "treatments" in first & second
    assert "rebuilt" in first


@pytest.mark.slow
def test_steps_that_nobody_took_are_rejected(made, tmp_path):
    """An honest release without steps whose certificate claims some."""
    from tests.publish.verify.forgery import write

    folder = publish(tmp_path, VALUES).folder
    content = json.loads((folder / "certificate.json").read_text())
    for steps in (made("values").certificate["treatments"], []):
        content["treatments"] = steps
        write(folder, content, rehash=True)
        first, second = failed(folder)
        assert "treatments" in first & second
        assert first & {"rebuilt", "model"}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", ["values", "microaggregation"])
def test_every_small_change_of_the_steps_is_caught_by_both_verifiers(made, tmp_path, kind):
    from tests.publish.verify.forgery import edits, write

    folder = Path(shutil.copytree(made(kind).folder, tmp_path / kind))
    content = json.loads((folder / "certificate.json").read_text())
    passed = []
    for edit in (each for each in edits(content) if each.path[0] == "treatments"):
        write(folder, edit.forged, rehash=False)
        first, second = failed(folder)
        if not first & {"treatments", "keys", "model"} or not second & {"treatments", "keys"}:
            passed.append(f"{edit.what} at {edit.path}")
    assert passed == []
