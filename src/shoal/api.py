"""The functions that `import shoal` offers: plain numbers, paths and frames in, typed values out.

The whole journey, from a policy to a release that a stranger can verify:

>>> import shoal
>>> from shoal.datasets.visits import write_policy, write_visits
>>> policy, data = write_policy("."), write_visits("visits.csv", 1_000, seed=1)
>>> shoal.release(policy, data, "visits-2026", ledger="ledger.sqlite", new_ledger=True)
<Release of 'hospital-visits' in ...visits-2026: ... rows; ApproxDP(...), proved>
>>> shoal.verify("visits-2026")
<... checks, all agree>

Two attributes have hierarchies that were read from files, which a release does not carry.
The examples below use the files that this one leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from shoal.assess.disclosure.check import check
from shoal.errors import ShoalError, UsageError
from shoal.guarantee import compose as composing
from shoal.guarantee.differential import AmplifiedBudget, SafeKSampling, allowance, amplify
from shoal.guarantee.plain_sample import SafeRate, sample_rate
from shoal.guarantee.rounding import Number
from shoal.guarantee.safe_k import curve as safe_k
from shoal.guarantee.safe_k.setting import Setting, frontier, solve

if TYPE_CHECKING:
    from shoal.assess.assessment import Assessment
    from shoal.assess.frame.centroids import CentroidRelease
    from shoal.assess.frame.groups import GroupRelease
    from shoal.assess.frame.recoded import RecodedRelease
    from shoal.assess.release.load import LoadedRelease
    from shoal.data.schema import Schema
    from shoal.datasets.marginals import Marginals
    from shoal.draft.draft import Draft
    from shoal.engine.base import Engine
    from shoal.language.result import FrameKind
    from shoal.policy.policy import Policy
    from shoal.publish.compare import WaysComparison
    from shoal.publish.comparison.methods import MethodsComparison
    from shoal.publish.counts_rehearsal import CountsRehearsal
    from shoal.publish.plan.base import Plan
    from shoal.publish.rehearse import Rehearsal
    from shoal.publish.run.release import Release
    from shoal.publish.verify.standalone import Check

__all__ = [
    "AmplifiedBudget",
    "CompositionBounds",
    "SafeKSampling",
    "SafeRate",
    "Setting",
    "allowance",
    "amplify",
    "check",
    "compare",
    "compare_methods",
    "compose",
    "delta",
    "draft",
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
    """The delta of safe k-anonymization at minimum class size k and sampling rate beta, for one row added or removed.

    Arguments  `k` is a whole number from 1 up; `beta` a number between 0 and 1; `epsilon` one number, or a list or array of
               them; `bound` is `tight` (theorem `safe-k-tight`, exact) or `published` (LQS11 Theorem 5).
    Raises     ParameterError for a number out of range; PreconditionError where the published bound is silent.

    >>> delta(k=20, beta="0.2", epsilon=1)
    2.768...e-10
    >>> delta(k=20, beta="0.2", epsilon=[0.5, 1]).shape
    (2,)
    """
    if isinstance(epsilon, np.ndarray | list | tuple):
        values = np.asarray(epsilon)
        flat = [safe_k.delta(k, beta, e, bound) for e in values.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(values.shape)
    return safe_k.delta(k, beta, epsilon, bound)


@dataclass(frozen=True)
class CompositionBounds:
    """The total epsilon of many releases at one delta: the best bound, and each bound by itself."""

    epsilon: float
    """The smallest of the four bounds."""
    delta: float
    count: int
    """How many guarantees were composed."""
    basic: float
    """The sum of all epsilons (theorem `basic-composition`)."""
    advanced: float
    """Theorem `advanced-composition`; infinite where it does not apply."""
    pld: float
    """From the privacy-loss distributions (theorem `pld-composition`): the larger of the next two."""
    pld_remove: float
    """For one row removed."""
    pld_add: float
    """For one row added."""
    concentrated: float
    """From the sum of all rho (theorem `concentrated-composition`); infinite where no part, or not every part, has one."""


def compose(parts: Iterable[composing.Part], delta: Number) -> CompositionBounds:
    """The total epsilon of several guarantees at one delta: releases from fresh samples, and mechanisms.

    Arguments  `parts` are guarantees, or pairs (guarantee, how many times); `delta` is the delta of the total.
    Raises     CompositionError for a guarantee that does not compose, such as k-anonymity or two uses of one sample;
               ParameterError for a delta out of range.

    >>> compose([(SafeKSampling(20, "0.1"), 10)], delta="1e-6").epsilon < 10
    True
    """
    total = composing.compose(parts)
    remove, add = total.pld_epsilon(delta, "remove"), total.pld_epsilon(delta, "add")
    return CompositionBounds(
        epsilon=total.epsilon_at(delta),
        delta=float(safe_k.check_delta(delta)),
        count=total.count,
        basic=total.basic_epsilon(delta),
        advanced=total.advanced_epsilon(delta),
        pld=max(remove, add),
        pld_remove=remove,
        pld_add=add,
        concentrated=total.concentrated_epsilon(delta),
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
    """Cluster the records of an array or frame of numbers: the number of each record's cluster of at least k near records.

    Arguments  `values` is an array or a frame, a row for each record; `k` the smallest cluster; `method` is `mdav`, `vmdav`,
               `approx`, `ranking` (clusters of each column by itself), `optimal` (one column), `insensitive` (with
               `domain`, the lowest and highest value of each column), `mondrian` or `strict_mondrian`; `scale` is
               `deviation` (each column in its standard deviations), `range` or `none`; `gain` is V-MDAV's.
    Raises     ParameterError for a method, a scale or a k that does not fit the records; DataError for missing values.

    >>> microaggregate([[1.0], [2.0], [9.0], [10.0]], k=2).tolist()
    [0, 0, 1, 1]
    """
    from shoal.anonymize.cluster.clustering import microaggregate as group

    return group(values, k, method, scale=scale, gain=gain, domain=domain)


def draft(
    data: object,
    *,
    schema_only: bool = False,
    codebook: str | Path | None = None,
    population: str | Path | None = None,
    hierarchies: str | Path | None = None,
    settings: str | Path | None = None,
    dataset: str | None = None,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    ledger: str | Path | None = None,
    new_ledger: bool = False,
) -> Draft:
    """Draft a policy for a table that has none: type and role of each column with the reason, domains and hierarchies.

    What is read off the rows is `profiled` until a person confirms it, and the ledger notes the look under the dataset's name.
    `save` writes the draft; `policy` is the same as a `Policy`.

    Arguments  `data` is a path, the address of a database, or a frame; `schema_only` looks at names and types alone, and needs
               no ledger; `codebook` is a file that says what columns and codes mean (CSV, JSON, DDI, or the labels of a file
               of SPSS or Stata), `population` a public table to take domains from, `hierarchies` a folder of hierarchy
               files, matched by name, `settings` an ARX project or key variables of sdcMicro: what these say is declared;
               `dataset` is the name in the ledger, that of the file when left out; `sheet`, `table` and `query` say
               which table of a workbook or database is meant; `ledger` and `new_ledger` are as for `release`.
    Raises     DataError for a table that cannot be read; UsageError for a codebook, settings or hierarchies that cannot be
               read; LedgerError for a ledger that is not there.

    >>> found = draft("visits.csv", ledger="ledger.sqlite")
    >>> found["zip"].role.value, found["zip"].reason
    ('quasi', 'by its name a postal code')
    >>> found.unit.column
    'patient_id'
    >>> print(found.save("drafted").name)
    policy.yaml
    """
    from shoal.draft.request import draft as make

    return make(
        data,
        schema_only=schema_only,
        codebook=codebook,
        population=population,
        hierarchies=hierarchies,
        settings=settings,
        dataset=dataset,
        sheet=sheet,
        table=table,
        query=query,
        ledger=ledger,
        new_ledger=new_ledger,
    )


def plan(policy: Policy | str | Path) -> Plan:
    """Resolve a policy into everything that will happen: what is promised, what it costs, how it is done. No row is read.

    Arguments  `policy` is a `Policy`, or the path of a policy file.
    Raises     PolicyError for a policy that cannot be planned; InfeasibleError where no k and beta keep what it promises;
               UsageError for anything but a policy.

    >>> found = plan("policy.yaml")
    >>> found
    <Plan of 'hospital-visits': epsilon 1, delta 0.000001, k 28, the row of one 'patient_id', added or removed, proved>
    >>> page = found.page()  # HTML, to be reviewed and signed before the data are touched
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
) -> Rehearsal | CountsRehearsal:
    """Run a plan on tables simulated from the policy alone: what to expect of a release. No data are read, nothing is charged.

    Arguments  `plan` is a plan, a `Policy` or the path of a policy file; `rows` one size of the table or several; `runs` the
               simulated tables of each size, from 2 up; `marginals` the publicly known shares of some attributes; `seed` a
               whole number, the same for the same tables; `engine` where rows live.
    Raises     ParameterError for sizes, runs or a seed out of range; PolicyError for a method without a price.

    >>> found = rehearse("policy.yaml", rows=1_000, runs=2)
    >>> found.expected[0].empty.count
    0
    """
    from shoal.engine.base import open_engine

    return _plan(plan).rehearse(rows=rows, runs=runs, engine=open_engine(engine), marginals=marginals, seed=seed)


def compare(
    policy: Policy | str | Path,
    *,
    rows: int = 20_000,
    runs: int = 2,
    marginals: Marginals | None = None,
    seed: int = 0,
    engine: str | Engine = "duckdb",
) -> WaysComparison:
    """Compare the ways of publishing under the promise of a policy, on tables simulated from it; no data are read.

    Arguments  `policy` is a `Policy` or the path of a policy file, with epsilon and delta; the others as for `rehearse`.
    Raises     PolicyError for a policy without a differential promise; ParameterError for numbers out of range.

    One wide table, views of rows, noisy counts and a synthetic table each go through their whole pipeline. `words()` of the
    result says which is recommended for which use.

    >>> from shoal.policy.policy import Policy
    >>> wide = Policy.load("policy.yaml")
    >>> compare(wide.with_changes({"release": {"method": "microaggregation", "k": 5}, "budget": None}))
    Traceback (most recent call last):
        ...
    shoal.errors.PolicyError: the policy makes no differential promise, ...; give release.epsilon and release.delta
    """
    from shoal.engine.base import open_engine
    from shoal.publish.compare import compare as comparing

    asked = _policy(policy, "not a policy")
    return comparing(asked, rows=rows, runs=runs, engine=open_engine(engine), marginals=marginals, seed=seed)


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
    report: bool = True,
    assess: bool = False,
) -> Release:
    """Publish a table as planned into a folder that appears whole or not at all, and charge the ledger for it.

    The charge comes before the first random draw and stands whatever happens afterwards. What earlier runs left that were killed
    is finished or removed first; `Release.notes` says so.

    Arguments  `plan` is a plan, a `Policy` or the path of a policy file; `data` a path or a frame; `out` the folder to make,
               beside which `out`.holder gets the custodian's report; `ledger` a path or URL, the one in the user's data
               folder when left out; `new_ledger` lets it be made; `again` allows the same plan of the same table once more,
               at its full price; `report` says whether the custodian's report is made, `assess` whether risks and utility are
               measured for it; `force` replaces a release that is there; `engine` where rows live.
    Raises     UsageError for a folder that is there or that another run works on, a ledger that is not there, or a machine that
               lacks something; DataError for a table that does not fit the policy; BudgetError for a budget that is spent, or
               for a repeat without `again`.

    >>> release("policy.yaml", "visits.csv", "again", ledger="ledger.sqlite")
    Traceback (most recent call last):
    ...
    shoal.errors.BudgetError: this very release was charged before (entry ... of the ledger, ...); ...
    """
    from shoal.engine.base import open_engine
    from shoal.ledger.ledger import open_ledger
    from shoal.publish.run.recover import recover_runs
    from shoal.publish.run.release import release as run

    if not isinstance(out, str | Path):
        raise UsageError("a release needs a folder to be written to", came=type(out).__name__, allowed="a path")
    if ledger is not None and not isinstance(ledger, str | Path):
        raise UsageError("a ledger is named by a path or a URL", came=type(ledger).__name__, allowed="text or a path")
    own = _plan(plan)
    with open_ledger(None if ledger is None else str(ledger), new=new_ledger) as book:
        said = recover_runs(book)
        made = run(
            own,
            data,
            out,
            ledger=book,
            engine=open_engine(engine, data=data),
            force=force,
            again=again,
            report=report,
            assess=assess,
        )
    return replace(made, notes=(*said, *made.notes))


def load(
    folder: str | Path, *, verify: bool = True, frames: FrameKind | None = None
) -> LoadedRelease | GroupRelease | RecodedRelease | CentroidRelease:
    """Open a release for analysis: its tables of rows or noisy counts, and estimates with intervals that say what they cover.

    A release by t-closeness or Anatomy has neither weights nor intervals: its tables are frames, and `joined()` gives each
    record what its group holds, with the probability of each. One by k-anonymity has one table, `records`; one of noisy
    centroids has a table of averages, or one for each attribute, and `noise_share` says how far off noise is.

    Arguments  `folder` is a release folder, or the zip file that `shoal share` made of it; `verify` says whether everything
               is recomputed as `verify` does. The seal, the hashes and the shape of the files are checked in any case;
               `frames` is the kind of frame that results come in: pandas, polars or arrow; the first installed if not given.
    Raises     UsageError for what is no release, or for a release by clusters, whose table is read as it is;
               VerificationError where a check fails.

    >>> load("visits-2026")
    <LoadedRelease visits-2026: one table of age, sex, ...>
    """
    from shoal.assess.release.load import LoadedRelease
    from shoal.assess.release.load import load_any as read

    found = read(_release_path(folder))
    if verify:
        _require(found.folder)
    return (
        replace(found, schema=_locked_schema(found.folder), frames=frames)
        if isinstance(found, LoadedRelease)
        else found
    )


def _locked_schema(folder: Path) -> Schema | None:
    """The attributes as the locked policy of a release declares them; None where it carries no lock that can be read."""
    from shoal.publish.verify.lock import read_locked_policy

    try:
        return read_locked_policy(folder)[0].schema
    except (ShoalError, ValueError, OSError):
        return None


def assess(
    release: str | Path | None = None,
    original: object = None,
    *,
    masked: object = None,
    policy: Policy | str | Path | None = None,
    aligned: bool = False,
    control: object = None,
    population: object = None,
    fraction: float | None = None,
    weights: str | None = None,
    targets: Sequence[str] = (),
    lenient: bool = False,
    full: bool = True,
    engine: str | Engine = "duckdb",
) -> Assessment:
    """Measure the risks and the utility of a release against its original: a second opinion, for the custodian alone.

    What is measured is no guarantee, whatever it is: it holds for these tables and the intruders that are tried. What comes back
    was computed from the original and is personal data.

    Arguments  `release` is a release folder; or `masked` a table that another tool made, with the `policy` that says what its
               columns are, and `aligned` where its row i is record i of the original; `original` is the table that was released;
               `control` holds originals that took no part: attacks and models are then judged against them; `population` is a
               table of the population, `fraction` the share of it that the original is, `weights` a column of sampling weights;
               `targets` are columns that models predict; `lenient` lets a suppressed cell match anything; without `full` no
               attack is tried and no model trained; `engine` is where rows live.
    Raises     UsageError for a release that is none or a column that is not there; DataError for a table that cannot be read.

    >>> found = assess("visits-2026", "visits.csv", full=False)
    >>> found.after.prosecutor.largest.value <= 1 / 28
    True
    """
    from shoal.publish.assess import assess_release

    if original is None:
        raise UsageError("an assessment needs the original table", fix="give it as the second argument")
    return assess_release(
        original, folder=None if release is None else _release_path(release), masked=masked,
        policy=None if policy is None else _policy(policy, "the policy is none"), aligned=aligned, control=control,
        population=population, fraction=fraction, weights=weights, targets=targets, lenient=lenient, full=full, engine=engine,
    )  # fmt: skip


def compare_methods(
    policies: Mapping[str, Policy | str | Path] | Sequence[Policy | str | Path],
    data: object,
    *,
    masked: Mapping[str, object] | None = None,
    synthetic: Mapping[str, object] | None = None,
    yardsticks: Sequence[str] = (),
    yardstick_python: str | None = None,
    yardstick_seconds: float = 1800,
    holdout: float = 0.2,
    seed: int | None = None,
    targets: Sequence[str] = (),
    full: bool = True,
    ledger: str | None = None,
    part: str | Path | None = None,
    engine: str | Engine = "duckdb",
) -> MethodsComparison:
    """Run policies on the same part of a real table and measure what each gives: claim, risk, utility, rows, CPU time.

    Nothing is published or charged. Each plan that is tried is a look at the real table, on record in the ledger where there is
    one: whoever then chooses a plan has chosen it by the data, and a later certificate says so. What comes back was computed from
    the original and is personal data; `page()` is one page of it, `to_json()` all of it.

    Arguments  `policies` are policies or their files, by the names that they have in the comparison, or in a list, named by their
               files; all publish the same attributes, and the first says what intruders know; `data` is the real table, of
               which `holdout` is drawn as a control group; `masked` and `synthetic` are tables of other tools by name, of
               masked people or of nobody, made from the part that `seed` draws and `part` writes; `yardsticks` are synthesizers
               of OpenDP ("mst", "aim") that are run on that part at the policies' epsilon and delta, by this Python or by
               `yardstick_python`, for `yardstick_seconds` at most; `targets` are columns that models predict; without `full` no
               attack is tried and no model trained; `ledger` is where looks go on record; `engine` is where rows live.
    Raises     UsageError for policies that cannot be compared, a table of another tool without a seed, or yardsticks whose
               libraries are not installed; ParameterError for a share that is none; DataError for a table that cannot be read,
               or is too small.

    >>> from shoal.policy.policy import Policy
    >>> wide = Policy.load("policy.yaml")
    >>> fives = wide.with_changes({"release": {"method": "microaggregation", "k": 5}, "budget": None})
    >>> compare_methods({"safe-k": wide, "clusters": fives}, "visits.csv", full=False, ledger="ledger.sqlite")
    <Comparison of 2 methods on 'hospital-visits': 2 ran>
    """
    from shoal.publish.comparison.methods import compare_methods as comparing
    from shoal.publish.comparison.methods import name_policies
    from shoal.publish.comparison.yardstick import Yardsticks

    measured = Yardsticks(tuple(yardsticks), yardstick_python, yardstick_seconds) if yardsticks else None
    given = policies if isinstance(policies, Mapping) else None
    read = [_policy(one, "not a policy") for one in (policies if given is None else given.values())]
    named = dict(zip(given, read, strict=True)) if given is not None else name_policies(read)
    return comparing(
        named, data, masked=masked, synthetic=synthetic, yardsticks=measured, holdout=holdout, seed=seed, targets=targets,
        full=full, ledger=ledger, part=None if part is None else Path(part), engine=engine,
    )  # fmt: skip


class Checks(list["Check"]):
    """The checks of a release, one by one; every one that could be made agrees."""

    def __repr__(self) -> str:
        unknown = sum(check.agrees is None for check in self)
        return (
            f"<{len(self) - unknown} checks agree, {unknown} could not be made>"
            if unknown
            else f"<{len(self)} checks, all agree>"
        )


def verify(folder: str | Path) -> Checks:
    """Recompute everything in a release folder that can be, from the locked policy and the published files.

    Arguments  `folder` is a release folder, or the zip file that `shoal share` made of it.
    Raises     VerificationError that names the checks that fail; UsageError for what is no release.

    >>> verify("visits-2026")
    <... checks, all agree>
    """
    return Checks(_require(_release_path(folder)))


def _require(folder: str | Path) -> list[Check]:
    """The checks of a release, if none of them fails."""
    from shoal.publish.verify.release import require
    from shoal.publish.verify.release import verify as check_all

    checks = check_all(folder)
    require(checks)
    return checks
