"""Plans as mechanisms: what is remembered is what the table says, and every kind of plan gives numbers of one width."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.chance.source import Source
from shoal.engine.base import RecodeRequest
from shoal.errors import PolicyError
from shoal.lab.audit.catalogue import find_audit
from shoal.lab.audit.plan import PlanMechanism, RememberedTable, plan_of, recoding_number
from shoal.lab.audit.policy_case import policy_audit, policy_case
from shoal.policy.policy import Policy

HEAD = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
VALUE = {"role": "quasi", "type": "integer", "domain": [0, 9], "hierarchy": {"intervals": [5]}, "missing": "refuse"}
NUMBER = {"role": "quasi", "type": "integer", "domain": [0, 50], "missing": "refuse"}
SAFE_K = {"method": "safe-k", "epsilon": 1, "delta": "0.01", "recoding": {"levels": {"v": 1}}}


def policy(release=SAFE_K, attributes=None, **more):
    return Policy.of({**HEAD, **more, "attributes": attributes or {"v": VALUE}, "release": release})


def test_a_remembered_table_counts_as_the_table_does_and_asks_once():
    mechanism = PlanMechanism(policy(), pa.table({"v": [0, 7]}))
    table = mechanism.table((0, 0, 1))
    held = RememberedTable(table)
    level = plan_of(policy()).schema["v"].hierarchy.level(1)
    assert held.rows() == table.rows() == 3
    assert held.recode({"v": level}) is held.recode({"v": level})
    (counted,) = held.recode_many([RecodeRequest({"v": level}, None)])
    assert (
        counted.count_by(["v"]).counts.tolist() == table.recode({"v": level}).count_by(["v"]).counts.tolist() == [2, 1]
    )
    assert held.columns == table.columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (policy(), 1),
        (policy({**SAFE_K, "epsilon": 2, "recoding": {"choose": {"epsilon": 1}}}), 1),
        (policy(neighbours="replace_one"), 1),
        (
            policy(
                unit={"column": "who", "max_rows": 1},
                attributes={"who": {"role": "identifier", "type": "integer"}, "v": VALUE},
            ),
            1,
        ),
        (policy({"method": "dp-microaggregation", "epsilon": 1, "grouping": "boxes"}, {"x": NUMBER}), 1),
        (
            policy(
                {"method": "dp-microaggregation", "epsilon": 1, "rows": 20, "k": 2, "grouping": "ranking"},
                {"x": NUMBER},
                neighbours="replace_one",
            ),
            0,
        ),
    ],
    ids=["levels", "choose", "replaced", "people", "boxes", "ranking"],
)
def test_a_policy_is_run_on_neighbours_of_its_own_unit(made, kept):
    case = policy_case(made)
    assert case.space is not None
    assert case.space.holds(case.pair)
    assert (len(case.pair[0]) != len(case.pair[1])) == (made.unit.neighbours == "add_remove")
    found = case.run(8, trials=8, seed=1)
    assert not found.refuted
    assert case.claim == plan_of(made).claims[0].guarantee
    assert policy_audit(made).runs >= 50 * kept


def test_what_has_no_promise_is_refused():
    with pytest.raises(PolicyError, match="no differential promise"):
        policy_case(policy({"method": "microaggregation", "k": 3}))
    with pytest.raises(PolicyError, match="the population"):
        policy_case(policy({**SAFE_K, "sampling": {"already": "0.1"}}))
    with pytest.raises(PolicyError, match="no differential promise"):
        PlanMechanism(policy({"method": "microaggregation", "k": 3}), pa.table({"v": [0, 7]}))(
            (0,), Source.seeded(1), 1
        )


def test_equal_recodings_have_one_number():
    plan = plan_of(find_audit("safe-k").case().mechanism.policy)
    one = plan.method.partition.scheme
    assert recoding_number(one) == recoding_number(type(one)(one.schema, dict(one.indices)))
    assert recoding_number(one) != recoding_number(type(one)(one.schema, {"v": 0}))
