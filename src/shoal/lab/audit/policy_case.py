"""The audit of a policy: its own plan, on two small neighbouring tables made of values that the policy declares.

No table of anybody is read. Two records are simulated from the declared domains, as different as they come; the tables hold
copies of them, as many as tell one record more best where that is known.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from shoal.chance.source import Source
from shoal.datasets.simulate import simulate
from shoal.errors import PolicyError
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.lab.audit.catalogue import AuditCase, NamedAudit, worst_class_size
from shoal.lab.audit.plan import PlanMechanism, audited_plan, no_promise, plan_of
from shoal.lab.audit.search import Pair, PairSpace
from shoal.policy.policy import Policy

if TYPE_CHECKING:
    import pyarrow as pa

SIMULATED = 200
"""Records that the two of the tables are taken from."""
COMMON = 20
"""Records that both tables of noisy counts have."""


def policy_audit(policy: Policy) -> NamedAudit:
    """The audit of what a policy promises, with a number of runs that takes seconds, or a minute where runs are slow.

    Raises     PolicyError for a policy without a differential promise, or for a table that is itself the sample.
    """
    case = policy_case(policy)
    runs = audited_plan(policy).runs
    trials = runs // 2 if case.is_slow else None
    return NamedAudit(policy.dataset, f"the plan of '{policy.dataset}'", runs, lambda: case, trials=trials)


def policy_case(policy: Policy) -> AuditCase:
    """Two small neighbouring tables, and the plan of the policy as a mechanism on them."""
    plan = plan_of(policy)
    claim = plan.claims[0].guarantee
    if plan.cost is None or not isinstance(claim, DifferentialPrivacy):
        raise no_promise(policy)
    own = audited_plan(policy)
    if own.drawn_before:
        raise PolicyError(
            "release.sampling.already: the promise is about the population that the table was drawn from, which is not here",
            fix="audit the same policy with `sampling: {beta: ...}`",
        )
    mechanism = PlanMechanism(policy, _records(policy))
    pair, tables = _pair(policy)
    replaced = plan.unit.neighbours == "replace_one"
    size = len(pair[0])
    public = own.public_rows is not None
    space = PairSpace(2, size if public else 2 * size, plan.unit.neighbours, fewest=size if public else int(replaced))
    return AuditCase(mechanism, pair, claim, tables, space, mechanism.names)


def _records(policy: Policy) -> pa.Table:
    """Two simulated records whose values differ in as many published columns as can be."""
    import pyarrow as pa

    plan = plan_of(policy)
    with Source.seeded("records of an audit") as source:
        frame = simulate(plan.schema, SIMULATED, source)
    published = [attribute.name for attribute in plan.schema.published]
    columns = [frame.column(name).to_pylist() for name in published]
    numbers = [
        sum(float(value) for value in row if isinstance(value, int | float)) for row in zip(*columns, strict=True)
    ]
    first = int(np.argmin(numbers))
    apart = [
        (sum(column[place] != column[first] for column in columns), numbers[place]) for place in range(frame.num_rows)
    ]
    other = max(range(frame.num_rows), key=lambda place: apart[place])
    return frame.take(pa.array([first, other], pa.int64())).combine_chunks()


def _pair(policy: Policy) -> tuple[Pair, str]:
    """The tables as places of records, and in words."""
    plan = plan_of(policy)
    replaced = plan.unit.neighbours == "replace_one"
    own = audited_plan(policy)
    if (rows := own.public_rows) is not None:
        half = rows // 2
        pair = ((0,) * half + (1,) * (rows - half), (0,) * (half - 1) + (1,) * (rows - half + 1))
        return pair, f"{rows:,} records of two kinds, half of each, and one of them replaced by the other kind"
    if (setting := own.setting) is None:
        return _one_more(COMMON, replaced, other=own.adds_another_kind)
    worst = worst_class_size(setting.k, setting.beta, setting.epsilon - setting.epsilon_recoding)
    return _one_more((ceil(setting.k / setting.beta) if own.recodes else worst) - 1, replaced)


def _one_more(common: int, replaced: bool, *, other: bool = False) -> tuple[Pair, str]:
    """So many equal records, and one more of the same or of the other kind."""
    more = 1 if other else 0
    kind = "another kind" if other else "the same kind"
    if replaced:
        pair = ((0,) * common + (more,), (0,) * common + (1 - more,))
        return pair, f"{common:,} equal records and one more of {kind}, and that one replaced by one of the other kind"
    return (
        (0,) * common + (more,),
        (0,) * common,
    ), f"{common:,} equal records and one more of {kind}, and without that one"
