"""Policies that would keep a plan busy: refused before the work, or planned with work that is bounded."""

from __future__ import annotations

import resource
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import pytest

import shoal
from shoal.errors import PolicyError, PreconditionError
from shoal.guarantee.safe_k import setting
from shoal.guarantee.safe_k.curve import floor_of_delta
from shoal.guarantee.unit import Unit
from shoal.policy.model.release import _spread
from shoal.policy.policy import Policy

AGE = {"role": "quasi", "type": "integer", "domain": [0, 110]}


def policy(release: dict, attributes: int = 1, **more: object) -> dict:
    """The keys of a policy of a few columns of ages."""
    columns = {f"a{i}": AGE for i in range(attributes)} | {"id": {"role": "identifier"}}
    promise = {"method": "safe-k", "epsilon": 1, "delta": "1e-6", "recoding": {"levels": {}}}
    keys = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove", "attributes": columns}
    return {**keys, "release": promise | release, **more}


@pytest.mark.parametrize(
    ("release", "attributes", "words"),
    [
        ({"repeat": 1001}, 1, "release.repeat.*more releases than one plan repeats; got 1001; allowed: at most 1,000"),
        ({"views": "triples"}, 60, "too many views; got 34,220; allowed: at most 10,000; take some of them"),
        ({"views": {"every": "triples", "limit": 20}}, 120, "too many views to take some of them; got 280,840"),
        ({"views": {"choose": {"epsilon": "0.1", "count": 10**9}}}, 9, "too many views; got 1,000,000,000"),
    ],
)
def test_more_tables_than_can_be_planned_are_refused(release, attributes, words):
    with pytest.raises(PolicyError, match=words):
        Policy.of(policy(release, attributes))


def test_labels_of_all_attributes_together_are_bounded():
    wide = {"role": "quasi", "type": "integer", "domain": [0, 99_999], "hierarchy": {"intervals": [1, 2, 4]}}
    with pytest.raises(PolicyError, match=r"a2\.hierarchy .*too many labels; got 5..,...; allowed: at most 500,000"):
        Policy.of(policy({}) | {"attributes": {f"a{i}": wide for i in range(9)}})


@pytest.mark.parametrize("part", ["month", "hour"])
def test_parts_of_the_calendar_are_counted_before_they_are_listed(part, monkeypatch):
    from shoal.data.hierarchy import intervals

    monkeypatch.setattr(intervals.CALENDAR_PARTS[part].__class__, "following", None, raising=False)
    column = {
        "role": "quasi",
        "type": "datetime",
        "domain": ["0001-01-01", "9999-12-30"],
        "hierarchy": {"date": [part]},
    }
    with pytest.raises(PolicyError, match="more than 100,000 labels"):
        Policy.of(policy({}) | {"attributes": {"a": column}})


def test_a_unit_of_very_many_rows_is_refused_by_the_theorem():
    unit = {"column": "id", "max_rows": 10**6}
    with pytest.raises(PreconditionError, match=r"theorem 'group-privacy'.*max_rows: 1,000,000.*at most 1,000 rows"):
        shoal.plan(Policy.of(policy({}, unit=unit)))


def test_a_very_large_k_of_a_unit_is_refused():
    with pytest.raises(PreconditionError, match=r"'replace-one'.*k = 20,000; allowed: k up to 16,384"):
        shoal.plan(Policy.of(policy({"k": 20_000, "sampling": {"beta": "0.99"}}, neighbours="replace_one")))


@pytest.mark.slow
def test_the_k_of_a_unit_that_is_guessed_first_is_the_smallest_that_holds(monkeypatch):
    asked = {"epsilon": "0.1", "delta": "1e-5", "beta": "0.5", "unit": Unit.row("replace_one")}
    evaluated: list[int] = []
    exactly = setting.delta_for_unit
    monkeypatch.setattr(
        setting, "delta_for_unit", lambda unit, k, *rest: evaluated.append(k) or exactly(unit, k, *rest)
    )
    found = setting.solve(**asked)
    assert len(set(evaluated)) <= 4
    assert Fraction(exactly(found.unit, found.k, found.beta, found.epsilon)) <= found.delta
    assert Fraction(exactly(found.unit, found.k - 1, found.beta, found.epsilon)) > found.delta


def test_views_are_taken_evenly_as_the_definition_says():
    def by_definition(groups, limit):
        left, found = list(groups), []
        while left and len(found) < limit:
            best = min(
                left,
                key=lambda g: (
                    sum(set(pair) <= set(f) for pair in combinations(g, 2) for f in found),
                    sum(n in f for n in g for f in found),
                ),
            )
            left.remove(best)
            found.append(best)
        return found

    for width in (1, 2, 3):
        groups = tuple(combinations("abcdefg", width))
        for limit in (1, 4, 17, 99):
            assert _spread(groups, limit) == by_definition(groups, limit)


BUSY = """
import shoal
from shoal.errors import ShoalError
from shoal.policy.policy import Policy
from tests.publish.plan.test_costly import policy
cases = [
    policy({"epsilon": "0.001"}),
    policy({"k": 10**6}),
    policy({"epsilon": "0.1", "delta": "1e-5"}, neighbours="replace_one"),
    policy({"epsilon": 50, "delta": "1e-10", "repeat": 1000}),
    policy({"epsilon": 50, "delta": "1e-11", "views": {"every": "triples", "limit": 5}, "recoding": "tree"}, 5),
]
for keys in cases:
    try:
        plan = shoal.plan(Policy.of(keys))
        plan.to_json(), plan.page()
    except ShoalError as error:
        print(error)
print("done")
"""


@pytest.mark.long
def test_policies_that_kept_a_plan_busy():
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    run = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, preexec_fn=limit, check=False)
    assert run.stdout.endswith("done\n"), run.stderr[-2000:]


@pytest.mark.parametrize("beta", ["0.999999", "0.123456789012", "1e-12"])
def test_the_floor_of_a_large_k_has_few_digits_and_is_not_below_the_truth(beta):
    floor = floor_of_delta(10**6, beta)
    assert floor.denominator.bit_length() < 5000
    with localcontext(prec=60, Emin=-999_999_999):
        truth = Decimal(beta) ** 10**6
        assert Fraction(max(truth, Decimal("1e-400"))) <= floor
    assert floor_of_delta(400, "0.5") >= Fraction(1, 2**400)
