"""What a policy alone decides is refused by the plan: whatever can be planned can be released, however odd its names are."""

from __future__ import annotations

from random import Random

import pytest

from shoal.chance.source import Source
from shoal.datasets.simulate import simulate
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import InfeasibleError, PolicyError, ShoalError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from shoal.publish.run.release import release
from shoal.publish.verify import standalone as verifier
from tests.publish.verify.odd_policies import (
    odd_boxes_policy,
    odd_centroids_policy,
    odd_counts_policy,
    odd_levels_policy,
    odd_policy,
)

COUNTS_THAT_RUN = (19, 21, 30)
"""Seeds of odd policies of noisy counts that are not refused, and run quickly."""
BOXES_THAT_RUN = (19, 33, 66)
"""The same for rows inside boxes; one has whole numbers that no float tells apart."""
LEVELS_THAT_RUN = (12, 19, 21)
"""The same for k-anonymity by levels; rows of some have labels of their own."""


CENTROIDS_THAT_RUN = (19, 29, 31)
"""The same for DP microaggregation: clusters, ranks and boxes."""


def published_or_refused(seed: int, folder, policy=odd_policy) -> bool:
    """Whether a policy ran to the end; False where the plan refused it, or no table can be made up for it."""
    try:
        planned = plan(Policy.parse(policy(Random(seed))))  # noqa: S311 - which policy is tried is no secret
    except ShoalError:
        return False
    try:
        table = simulate(planned.schema, 300, Source.seeded(seed), unit=planned.policy.unit)
    except UsageError as error:
        if "texts cannot be made from its pattern" not in str(error):
            raise
        return False
    with Ledger(str(folder / f"{seed}.sqlite")) as ledger:
        made = release(planned, table, folder / str(seed), ledger=ledger, engine=DuckDB())
    assert not made.notes or "rows" in made.notes[0]  # the report was made too
    return True


@pytest.mark.slow
def test_what_is_planned_is_released(tmp_path):
    assert sum(published_or_refused(seed, tmp_path) for seed in range(76, 90)) >= 4


@pytest.mark.long
def test_what_is_planned_is_released_a_thousand_times(tmp_path):
    assert sum(published_or_refused(seed, tmp_path) for seed in range(1000)) >= 200


@pytest.mark.slow
def test_noisy_counts_that_are_planned_are_released_and_verified(tmp_path):
    for seed in COUNTS_THAT_RUN:
        assert published_or_refused(seed, tmp_path, odd_counts_policy)
        assert verifier.report(verifier.verify(tmp_path / str(seed)))[1] == 0


@pytest.mark.slow
def test_boxes_that_are_planned_are_released_and_verified(tmp_path):
    for seed in BOXES_THAT_RUN:
        assert published_or_refused(seed, tmp_path, odd_boxes_policy)
        assert verifier.report(verifier.verify(tmp_path / str(seed)))[1] == 0


@pytest.mark.long
def test_boxes_that_are_planned_are_released_hundreds_of_times(tmp_path):
    assert sum(published_or_refused(seed, tmp_path, odd_boxes_policy) for seed in range(300)) >= 60


@pytest.mark.slow
def test_centroids_that_are_planned_are_released_and_verified(tmp_path):
    for seed in CENTROIDS_THAT_RUN:
        assert published_or_refused(seed, tmp_path, odd_centroids_policy)
        assert verifier.report(verifier.verify(tmp_path / str(seed)))[1] == 0


@pytest.mark.long
def test_centroids_that_are_planned_are_released_hundreds_of_times(tmp_path):
    assert sum(published_or_refused(seed, tmp_path, odd_centroids_policy) for seed in range(500)) >= 60


def released_or_infeasible(seed: int, folder) -> bool:
    """Whether an odd policy of levels ran and both verifiers agree; False where it was refused, or nothing is reachable."""
    try:
        made = published_or_refused(seed, folder, odd_levels_policy)
    except InfeasibleError:
        return False
    assert not made or verifier.report(verifier.verify(folder / str(seed)))[1] == 0
    return made


@pytest.mark.slow
def test_levels_that_are_planned_are_released_and_verified(tmp_path):
    assert sum(released_or_infeasible(seed, tmp_path) for seed in LEVELS_THAT_RUN) == len(LEVELS_THAT_RUN)


@pytest.mark.long
def test_levels_that_are_planned_are_released_hundreds_of_times(tmp_path):
    assert sum(released_or_infeasible(seed, tmp_path) for seed in range(500)) >= 60


@pytest.mark.long
def test_noisy_counts_that_are_planned_are_released_hundreds_of_times(tmp_path):
    assert sum(published_or_refused(seed, tmp_path, odd_counts_policy) for seed in range(300)) >= 40


@pytest.mark.parametrize("recoding", ["levels: {a: 0}", "choose: {epsilon: 0.1}", "tree: {epsilon: 0.1}"])
@pytest.mark.parametrize("value", ["(missing)", "*"])
def test_a_value_that_is_a_label_of_ours_is_refused_before_anything_is_charged(value, recoding):
    text = f"""
version: 1
dataset: d
unit: row
neighbours: add_remove
attributes:
  a: {{role: quasi, type: category, domain: [x, y, "{value}"], hierarchy: {{groups: {{g: [x, y, "{value}"]}}}}}}
release: {{method: safe-k, epsilon: 1, delta: 1e-6, recoding: {{{recoding}}}}}
"""
    with pytest.raises(PolicyError, match=r"attributes\.a\.domain.*a value that is the label of"):
        Policy.parse(text)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [True, False])
def test_a_lock_that_cannot_be_read_again_is_refused_before_anything_is_charged(broken, tmp_path, monkeypatch):
    text = """
version: 1
dataset: d
unit: row
neighbours: add_remove
attributes:
  row: {role: quasi, type: ordinal, domain: [group, shoal, count, None, "`", ">= 7", a to b, A, <b>], hierarchy: auto}
release: {method: safe-k, epsilon: 1, delta: 1e-6, sampling: {beta: 0.1}, recoding: {levels: {row: 1}}}
"""
    planned = plan(Policy.parse(text))
    table = simulate(planned.schema, 300, Source.seeded(1))
    if broken:
        monkeypatch.setattr("shoal.policy.text.editing.ENDLESS", 120)
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        if broken:
            with pytest.raises(PolicyError, match="cannot be read again"):
                release(planned, table, tmp_path / "out", ledger=ledger, engine=DuckDB())
        else:
            release(planned, table, tmp_path / "out", ledger=ledger, engine=DuckDB())
        assert any(event.kind == "charge" for event in ledger.events()) is not broken


@pytest.mark.slow
@pytest.mark.parametrize(
    "release",
    [
        {"recoding": {"tree": {"epsilon": "0.5"}}},
        {"recoding": {"levels": {"code": 0, "sex": 0}}, "views": {"choose": {"count": 1, "epsilon": "0.5"}}},
    ],
)
def test_a_domain_that_cannot_be_cut_into_cells_is_refused_by_the_plan(release):
    # it was charged, and then the tree could not be grown
    listed = [f"v{number}" for number in range(4097)]
    attributes = {
        "code": {"role": "quasi", "type": "category", "domain": listed},
        "sex": {"role": "quasi", "type": "category", "domain": ["f", "m"]},
    }
    common = {"method": "safe-k", "epsilon": "2", "delta": "1e-6", "sampling": {"beta": "0.3"}}
    values = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove", "attributes": attributes}
    with pytest.raises(PolicyError, match="attribute 'code': too many values for boxes"):
        plan(Policy.of({**values, "release": {**common, **release}}))
