"""The thin door for plain numbers: what `import shoal` offers, over the typed rooms below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from shoal.assess.disclosure.check import check
from shoal.errors import UsageError
from shoal.guarantee import compose as composing
from shoal.guarantee.differential import AmplifiedBudget, allowance, amplify
from shoal.guarantee.plain_sample import SafeRate, sample_rate
from shoal.guarantee.rounding import Number
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.setting import Setting, frontier, solve

if TYPE_CHECKING:
    from shoal.assess.release.load import LoadedRelease
    from shoal.datasets.marginals import Marginals
    from shoal.engine.base import Engine
    from shoal.policy.policy import Policy
    from shoal.publish.plan.base import Plan
    from shoal.publish.rehearse import Rehearsal
    from shoal.publish.run.release import Release
    from shoal.publish.verify.standalone import Check

__all__ = [
    "AmplifiedBudget",
    "Composed",
    "SafeRate",
    "Setting",
    "allowance",
    "amplify",
    "check",
    "compose",
    "delta",
    "frontier",
    "load",
    "microaggregate",
    "plan",
    "rehearse",
    "release",
    "sample_rate",
    "solve",
    "verify",
]

Array = npt.NDArray[np.float64]


@overload
def delta(*, k: int, beta: Number, epsilon: Number, bound: str = "tight") -> float: ...
@overload
def delta(*, k: int, beta: Number, epsilon: Array | list[float], bound: str = "tight") -> Array: ...
def delta(*, k: int, beta: Number, epsilon: Number | Array | list[float], bound: str = "tight") -> float | Array:
    """delta at crowd size k, sampling rate beta and one or many epsilons; `bound` is 'tight' or 'published'."""
    if isinstance(epsilon, np.ndarray | list | tuple):
        values = np.asarray(epsilon)
        flat = [safe_k.delta(k, beta, e, bound) for e in values.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(values.shape)
    return safe_k.delta(k, beta, epsilon, bound)


@dataclass(frozen=True)
class Composed:
    """The total epsilon of many releases at one delta: the best bound, and the others beside it."""

    epsilon: float
    delta: float
    count: int
    basic: float
    advanced: float
    pld: float
    pld_remove: float
    pld_add: float


def compose(parts: Iterable[composing.Part], delta: Number) -> Composed:
    """The total of guarantees, each or (guarantee, times), at `delta`: releases from fresh samples and DP mechanisms."""
    total = composing.compose(parts)
    remove, add = total.pld_epsilon(delta, "remove"), total.pld_epsilon(delta, "add")
    return Composed(
        epsilon=total.epsilon_at(delta),
        delta=float(safe_k.check_delta(delta)),
        count=total.count,
        basic=total.basic_epsilon(delta),
        advanced=total.advanced_epsilon(delta),
        pld=max(remove, add),
        pld_remove=remove,
        pld_add=add,
    )


def microaggregate(
    values: object,
    k: int,
    method: str = "mdav",
    *,
    scale: str = "deviation",
    gain: float = 0.2,
    domain: Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]] | None = None,
) -> npt.NDArray[np.int32]:
    """The group of each record of an array or frame of numbers: groups of at least k near records, numbered from 0.

    `method` is mdav, vmdav, approx, ranking (a label for each column), optimal (one column) or insensitive (with `domain`).
    """
    from shoal.anonymize.cluster.clustering import microaggregate as group

    return group(values, k, method, scale=scale, gain=gain, domain=domain)


def plan(policy: Policy | str | Path) -> Plan:
    """Resolve a policy, or a policy file by its path, into everything that will happen; no row is read.

    `plan.page()` is the plan as a page of HTML. InfeasibleError when what is asked for cannot be reached.
    """
    from shoal.publish.plan.methods import plan as resolve

    return resolve(_policy(policy, "a plan is made from a policy"))


def _policy(given: object, wrong: str) -> Policy:
    """A policy, or the one in a file."""
    from shoal.policy.policy import Policy

    if isinstance(given, Policy):
        return given
    if isinstance(given, str | Path):
        return Policy.load(given)
    raise UsageError(wrong, came=type(given).__name__, allowed="a Policy, or the path of a policy file")


def _release_path(given: object) -> str | Path:
    """Where a release lies."""
    if isinstance(given, str | Path):
        return given
    raise UsageError("a release is named by its path", came=type(given).__name__, allowed="its folder or its zip file")


def _plan(given: object) -> Plan:
    """A plan, or that of a policy or of a policy file."""
    from shoal.publish.plan.base import Plan

    if isinstance(given, Plan):
        return given
    return plan(_policy(given, "neither a plan nor a policy"))


def rehearse(
    plan: Plan | Policy | str | Path,
    *,
    rows: int | Sequence[int] = 50_000,
    runs: int = 5,
    marginals: Marginals | None = None,
    seed: int = 0,
    engine: str | Engine = "duckdb",
) -> Rehearsal:
    """Run a plan on stand-ins drawn from the policy alone: what to expect, without a look at the data and without a charge.

    `plan` may be a policy, or the path of a policy file.
    """
    from shoal.engine.base import open_engine

    return _plan(plan).rehearse(rows=rows, runs=runs, engine=open_engine(engine), marginals=marginals, seed=seed)


def release(
    plan: Plan | Policy | str | Path,
    data: object,
    out: str | Path,
    *,
    ledger: str | Path | None = None,
    new_ledger: bool = False,
    again: bool = False,
    engine: str | Engine = "duckdb",
    force: bool = False,
) -> Release:
    """Publish a table (a path or a frame) as planned into the folder `out`; charged to the ledger at this path or URL.

    `plan` may be a policy, or the path of a policy file, which is then planned first.
    A ledger that is named must be there, unless `new_ledger` says that it is to be made; without a name it is the one in
    the user's data folder. The same plan of the same table is refused unless `again` says that it is meant: it would
    cost its full price once more.
    """
    from shoal.engine.base import open_engine
    from shoal.ledger.ledger import open_ledger
    from shoal.publish.run.release import release as run

    if not isinstance(out, str | Path):
        raise UsageError("a release needs a folder to be written to", came=type(out).__name__, allowed="a path")
    if ledger is not None and not isinstance(ledger, str | Path):
        raise UsageError("a ledger is named by a path or a URL", came=type(ledger).__name__, allowed="text or a path")
    own = _plan(plan)
    with open_ledger(None if ledger is None else str(ledger), new=new_ledger) as book:
        return run(own, data, out, ledger=book, engine=open_engine(engine), force=force, again=again)


def load(folder: str | Path, *, verify: bool = True) -> LoadedRelease:
    """A release folder, or its zip file, for the analyst: tables with weights, and estimates with what their intervals cover."""
    from shoal.assess.release.load import load as read

    return read(_release_path(folder), verify=verify)


class Checks(list["Check"]):
    """What was recomputed, one by one; all agree that could be made."""

    def __repr__(self) -> str:
        unknown = sum(check.agrees is None for check in self)
        return (
            f"<{len(self) - unknown} checks agree, {unknown} could not be made>"
            if unknown
            else f"<{len(self)} checks, all agree>"
        )


def verify(folder: str | Path) -> Checks:
    """Recompute what can be in a release folder, or its zip file; VerificationError when something does not agree."""
    from shoal.publish.verify.release import require
    from shoal.publish.verify.release import verify as check_all

    checks = check_all(_release_path(folder))
    require(checks)
    return Checks(checks)
