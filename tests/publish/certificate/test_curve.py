"""The curve of a certificate is that of the whole release: held against the mechanism enumerated, outcome by outcome."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from shoal.datasets.visits import write_policy
from shoal.guarantee.rounding import exact
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.guarantee.safe_k.frontier import curve_of_setting
from shoal.policy.policy import Policy
from shoal.publish.certificate.safe_k import certificate, curve_points
from shoal.publish.plan.page import curve_picture
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.verify import standalone as verifier
from tests.publish.clinic import planned as clinic
from tests.publish.made import account, page_of, planned, sealed, wide_table
from tests.publish.reading import Page


def shown(k: int, beta: float, members: int) -> np.ndarray:
    """The law of what a table shows of one class: nothing at 0, else how many rows."""
    law = binom.pmf(np.arange(members + 1), members, beta)
    law[0] = law[:k].sum()
    law[1:k] = 0
    return np.pad(law, (0, 400 - len(law)))


def divergence(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """How much more likely an event can be under the first law than e^epsilon times under the second, either way."""
    factor = math.exp(epsilon)
    return max(np.maximum(first - factor * second, 0).sum(), np.maximum(second - factor * first, 0).sum())


def together(laws: list[np.ndarray]) -> np.ndarray:
    """The joint law of independent outcomes."""
    joint = np.ones(1)
    for law in laws:
        joint = np.multiply.outer(joint, law).ravel()
    return joint


def stated(plan: SafeKPlan) -> dict[Fraction, float]:
    return {exact(p.epsilon): float(exact(p.delta)) for p in curve_points(plan.curve)}


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> SafeKPlan:
    """The plan of the demonstration without its total: a tree grown on the table for a share of epsilon, then one sample."""
    demo = Policy.load(write_policy(tmp_path_factory.mktemp("demo")))
    return SafeKPlan.of(demo.with_changes({"release.total": None}))


@pytest.mark.slow
def test_a_recoding_that_was_paid_for_is_part_of_the_curve(tree):
    own, found = tree.promise, stated(tree)
    assert own.epsilon_recoding > 0
    assert found[Fraction(1)] == pytest.approx(8.673219e-07, rel=1e-6)
    # A choice between two recodings that is exactly as private as the plan allows, and the class that gives most away:
    likely = math.exp(own.epsilon_recoding) / (1 + math.exp(own.epsilon_recoding))
    choice = np.array([likely, 1 - likely]), np.array([1 - likely, likely])
    for epsilon, told in found.items():
        truth = max(
            divergence(
                together([choice[0], shown(own.k, float(own.beta), n)]),
                together([choice[1], shown(own.k, float(own.beta), n - 1)]),
                float(epsilon),
            )
            for n in range(own.k, 120)
        )
        assert truth <= told
        # what the page drew before: the curve of the sample alone
        assert epsilon > 1 or truth > delta_tight(own.k, own.beta, epsilon)


@pytest.mark.slow
def test_repeats_are_part_of_the_curve():
    plan = planned("repeat")
    own, found = plan.promise, stated(plan)
    assert plan.repeat == 3
    for epsilon in (Fraction(1, 2), Fraction(1)):
        truth = max(
            divergence(
                *(together([shown(own.k, float(own.beta), n - less)[:80]] * 3) for less in (0, 1)), float(epsilon)
            )
            for n in range(own.k, 70, 4)
        )
        assert delta_tight(own.k, own.beta, epsilon) < truth <= found[epsilon]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["person", "replace"])
def test_the_unit_of_the_promise_is_the_unit_of_the_curve(kind):
    plan = planned(kind)
    own, found = plan.promise, stated(plan)
    for epsilon, told in found.items():
        truth = 0.0
        for n in range(own.k, 60):
            if kind == "person":
                pair = shown(own.k, float(own.beta), n), shown(own.k, float(own.beta), n - 2)
            else:  # a row leaves one class and enters another
                pair = tuple(
                    together(
                        [shown(own.k, float(own.beta), n - less)[:80], shown(own.k, float(own.beta), n - 1 + less)[:80]]
                    )
                    for less in (0, 1)
                )
            truth = max(truth, divergence(*pair, float(epsilon)))
        assert truth <= told
        assert epsilon > 1 or truth > delta_tight(own.k, own.beta, epsilon)


@pytest.mark.slow
def test_views_and_their_choice_are_part_of_the_curve():
    plan = clinic({"release.views": {"choose": {"epsilon": "0.2", "count": 2}}, "release.delta": "1e-4"})
    own, found = plan.promise, stated(plan)
    assert plan.epsilon_choices == Fraction(1, 5)
    likely = math.exp(0.2) / (1 + math.exp(0.2))
    choice = np.array([likely, 1 - likely]), np.array([1 - likely, likely])
    for epsilon, told in found.items():
        truth = max(
            divergence(
                *(together([choice[less], *[shown(own.k, float(own.beta), n - less)] * 2]) for less in (0, 1)),
                float(epsilon),
            )
            for n in range(own.k, 120, 5)
        )
        assert truth <= told
    assert found[plan.total.epsilon] > 3 * delta_tight(own.k, own.beta, plan.total.epsilon)


@pytest.mark.slow
def test_many_views_compose():
    columns = [f"c{number}" for number in range(16)]
    attributes = "\n".join(
        f"  {name}: {{role: quasi, type: integer, domain: [0, 9], hierarchy: {{intervals: [5]}}}}" for name in columns
    )
    plan = SafeKPlan.of(
        Policy.parse(
            f"version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n{attributes}\nrelease:\n  method: safe-k\n"
            "  epsilon: 1\n  delta: 1e-6\n  views: pairs\n  sampling: {beta: 0.1}\n  recoding: {levels: {}}\n"
        )
    )
    assert len(plan.views) == 120
    own, found = plan.promise, stated(plan)
    assert found[Fraction(1)] <= 1e-6
    assert found[Fraction(1)] > 1000 * delta_tight(own.k, own.beta, 1)


@pytest.mark.parametrize("kind", ["row", "published", "silent", "repeat", "sample", "person", "replace"])
def test_the_promise_is_on_the_curve(kind):
    plan, made = planned(kind), sealed(planned(kind))
    points = {exact(p["epsilon"]): exact(p["delta"]) for p in made["curve"]}
    assert points[plan.total.epsilon] <= plan.total.delta
    assert list(points) == sorted(points)
    assert list(points.values()) == sorted(points.values(), reverse=True)
    assert all("curve" not in sample for sample in made["samples"])
    page = Page(page_of(made)).text
    assert f"and for {plan.method.unit.words()}" in page
    assert ("all 3 tables together" in page) == (kind == "repeat")


@pytest.mark.slow
def test_a_curve_begins_where_the_recoding_is_paid(tree):
    table = wide_table("table.csv", tree.promise.k, {"age": "recoding/01-age.json"})
    made = certificate(tree, {"table.csv": "ab" * 32}, [table], account(tree), "2026-03-01").to_json()
    assert exact(made["curve"][0]["epsilon"]) > tree.promise.epsilon_recoding
    assert "for the table, with what the choice of the recoding cost" in page_of(made)


def curve_of_the_verifier(plan, made) -> bool:
    """Whether the one-file verifier finds the curve as it recomputes it."""
    own = verifier.read_plan(verifier.read_lock(plan.lock.text))
    whole = verifier.ComposedLosses(verifier.charged_parts(made, own), Fraction(8))
    try:
        return all(check.agrees for check in verifier.curve_checks(made, own, whole))
    except ValueError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["row", "published", "person", "replace"])
def test_the_verifier_that_stands_alone_recomputes_every_point(kind):
    plan, made = planned(kind), sealed(planned(kind))
    assert curve_of_the_verifier(plan, made)
    for point in made["curve"]:
        told = point["delta"]
        for factor in (Fraction(99, 100), Fraction(102, 100)):
            point["delta"] = str(exact(told) * factor)
            assert not curve_of_the_verifier(plan, made)
        point["delta"] = told


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["row", "repeat", "person"])
def test_the_verifier_recomputes_the_curve(kind):
    plan, made = planned(kind), sealed(planned(kind))
    assert curve_of_the_verifier(plan, made)
    for forge in (
        lambda points: points[0].update(delta="1e-12"),
        lambda points: points[-1].update(delta="0.5"),
        lambda points: points.pop(),
        lambda points: points.append({"epsilon": "500", "delta": "1e-30", "epsilon_split": None}),
        lambda points: points[0].update(epsilon="0.01"),
    ):
        forged = json.loads(json.dumps(made))
        forge(forged["curve"])
        assert not curve_of_the_verifier(plan, forged)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["row", "published", "silent", "repeat", "person"])
def test_the_picture_of_a_plan_is_of_the_whole_release(kind):
    plan = planned(kind)
    picture = curve_picture(plan.curve)
    line = dict(zip(picture.series[0].x, picture.series[0].y, strict=True))
    assert [(mark.x, mark.y) for mark in picture.marks] == [(float(plan.total.epsilon), float(plan.total.delta))]
    assert line[float(plan.total.epsilon)] <= float(plan.total.delta)
    assert f"for {plan.promise.unit.words()}." in picture.caption
    assert ("no smaller delta holds" in picture.caption) == (kind in ("row", "published", "silent"))
    assert ("all 3 tables together" in picture.caption) == (kind == "repeat")


@pytest.mark.slow
def test_the_picture_of_a_plan_pays_for_the_recoding(tree):
    picture = curve_picture(tree.curve)
    line = dict(zip(picture.series[0].x, picture.series[0].y, strict=True))
    assert line[1.0] == pytest.approx(8.673219e-07, rel=1e-6)
    assert "with the 0.15 that were spent on choices" in picture.caption
    assert curve_picture(curve_of_setting(tree.promise)).series == picture.series


@pytest.mark.slow
def test_the_json_of_a_plan_has_the_curve_of_the_whole_release(tree):
    found = {point["epsilon"]: point["delta"] for point in tree.to_json()["curve"]}
    assert found[1.0] == pytest.approx(8.673219e-07, rel=1e-6)
    assert min(found) > 0.15
