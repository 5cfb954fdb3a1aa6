"""The registry of methods: each name has one class of plan, and nothing else in the program asks which method it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import shoal
from shoal.errors import PolicyError
from shoal.policy.model.method import METHODS
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import MODELS
from shoal.publish.plan import methods
from shoal.publish.plan.base import Plan
from shoal.publish.plan.methods import PLANS, plan
from shoal.publish.plan.views import ViewsPlan
from tests.publish import centroid_clinic, clinic, counted_clinic

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ROOT = Path(shoal.__file__).parent
CONCRETE = {kind.__name__ for kind in PLANS.values()} | {ViewsPlan.__name__}


def test_each_method_is_planned_by_one_class():
    assert set(PLANS) == {method.name for method in METHODS.values() if method.plan is not None}
    for name, kind in PLANS.items():
        assert name in kind.methods
        assert issubclass(kind, Plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (clinic.policy(), "SafeKPlan"),
        (clinic.policy({"release.views": "pairs"}), "ViewsPlan"),
        (counted_clinic.policy("microaggregation"), "MicroaggregationPlan"),
        (counted_clinic.policy("swap"), "SwapPlan"),
        (centroid_clinic.policy(), "CentroidsPlan"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_policy_is_planned_by_the_class_of_its_method(policy, name):
    found = plan(policy)
    assert type(found).__name__ == name
    assert found.job().plan is found
    assert found.verification().model is MODELS[found.policy.release.method]
    assert (found.cost is None) == (found.claims[0].guarantee.kind not in ("approx-dp", "pure-dp"))


def test_a_method_that_cannot_be_planned_is_named_with_those_that_can(monkeypatch):
    monkeypatch.delitem(methods.PLANS, "sample")
    asked = {"method": "sample", "epsilon": 1, "delta": "0.01", "output": "csv"}
    changes = {"release": asked, "neighbours": "replace_one", "budget": None}
    with pytest.raises(PolicyError, match=r"cannot be planned yet; got sample; allowed: safe-k, micro"):
        plan(clinic.policy(changes))


@pytest.mark.slow
def test_nothing_outside_the_plans_asks_for_the_class_of_a_plan():
    """`isinstance(plan, SafeKPlan)` and its like are answers that the plan itself should give."""
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                names = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                found += [f"{file.relative_to(ROOT)}:{node.lineno}"] if names & CONCRETE else []
    assert found == []


@pytest.mark.parametrize(("kind", "said"), [("csv", True), ("parquet", False)])
def test_labels_that_a_spreadsheet_takes_for_formulas_are_noted(kind, said):
    values = {"role": "quasi", "type": "category", "domain": ["=cmd()", "b"]}
    numbers = {"role": "quasi", "type": "category", "domain": ["-9", "+1e5"]}
    keys = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
    release = {"method": "safe-k", "epsilon": 1, "delta": "1e-6", "recoding": {"levels": {}}, "output": kind}
    plan = shoal.plan(Policy.of({**keys, "attributes": {"v": values, "n": numbers}, "release": release}))
    assert any(note.startswith("Values or labels of v begin with =") for note in plan.notes) is said


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ("t-closeness", ("12-anonymous relation", "2-closeness (ratio distance)")),
        ("anatomy", ("6-anonymous relation", "frequency 2-diversity")),
        ("k-anonymity", ("5-anonymity", "distinct 3-diversity", "0.6-closeness", "above 0.6")),
    ],
)
def test_a_certificate_opens_with_everything_that_is_counted(example, words):
    said = plan(Policy.load(EXAMPLES / example / "policy.yaml")).headline
    assert said.startswith("Checked: ")
    assert said.count("Checked") == 1
    assert all(each in said for each in words)


@pytest.mark.slow
@pytest.mark.parametrize(("values", "columns", "said"), [(5, 9, True), (2, 9, False), (2, 11, True), (9, 4, False)])
def test_a_wide_table_that_will_be_nearly_void_is_announced(values, columns, said):
    """Adult has nine columns, and its wide table at (1, 1e-6) is at distance .34 in pairs; two labels for each are 512."""
    quasi = {"role": "quasi", "type": "category", "domain": [f"v{i}" for i in range(values)], "hierarchy": "auto"}
    policy = Policy.of(
        {
            "version": 1,
            "dataset": "wide",
            "unit": "row",
            "neighbours": "add_remove",
            "attributes": {f"c{i}": quasi for i in range(columns)},
            "release": {"method": "safe-k", "recoding": "tree", "epsilon": 1, "delta": "1e-6"},
        }
    )
    assert any(f"One wide table of {columns} columns will say little" in note for note in plan(policy).notes) is said


ROWS_OF_ONE_COLUMN = {
    "version": 1,
    "dataset": "d",
    "unit": {"column": "who", "max_rows": 3},
    "neighbours": "add_remove",
    "attributes": {
        "who": {"role": "identifier"},
        "a": {"role": "quasi", "type": "category", "domain": ["x", "y"], "hierarchy": "auto"},
        "b": {"role": "quasi", "type": "category", "domain": ["x", "y", "z"], "hierarchy": "auto"},
    },
    # The rate is named because it takes seconds to choose one for three rows of a person.
    "release": {
        "method": "safe-k",
        "recoding": {"levels": {"a": 0, "b": 0}},
        "epsilon": "0.5",
        "delta": "1e-6",
        "sampling": {"beta": "0.1"},
    },
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, True),
        ({"recoding": "tree"}, True),
        ({"views": {"every": "pairs"}}, True),
        ({"total": {}}, False),
        ({"total": {"epsilon": "0.02"}}, False),
        ({"counts": {"every": "pairs", "share": "0.5"}, "epsilon": 4}, False),
        ({"views": {"show": "counts", "every": "pairs"}, "recoding": None, "sampling": None}, False),
    ],
)
def test_a_release_of_rows_without_a_total_says_what_is_lost_and_the_line_that_adds_it(changes, said):
    asked = {**ROWS_OF_ONE_COLUMN["release"], **changes}
    asked = {key: value for key, value in asked.items() if value is not None}
    notes = [
        each for each in plan(Policy.of({**ROWS_OF_ONE_COLUMN, "release": asked})).notes if "how many records" in each
    ]
    assert len(notes) == said
    if said:
        (line,) = re.findall("`total: [{]epsilon: ([0-9.]+)[}]`", notes[0])
        assert "within 1,797 in 95 of 100 cases" in notes[0]  # 3 rows of a person by 0.005 is a scale of 600
        told = plan(Policy.of({**ROWS_OF_ONE_COLUMN, "release": {**asked, "total": {"epsilon": line}}}))
        assert told.claims[0].guarantee == plan(Policy.of({**ROWS_OF_ONE_COLUMN, "release": asked})).claims[0].guarantee
        assert not [each for each in told.notes if "how many records" in each]


def test_a_table_that_is_itself_a_sample_is_not_told_to_publish_a_total_that_it_may_not():
    asked = {**ROWS_OF_ONE_COLUMN["release"], "sampling": {"already": "0.1"}}
    unit = {"column": "who", "max_rows": 1}
    found = plan(Policy.of({**ROWS_OF_ONE_COLUMN, "unit": unit, "release": asked}))
    assert not [each for each in found.notes if "how many records" in each]
