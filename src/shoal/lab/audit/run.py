"""The run of an audit: trials to choose an event on, fresh runs to count it on, in parts that several processes can share.

Every part of the runs has random bits of its own: fresh from the operating system, or, where a test gives a seed, from the seed
and the part's number, so that the result does not depend on how many processes there are.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.errors import DataError, ParameterError, UsageError
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number, exact
from shoal.lab.audit.event import EventChoice, Score, choose_event, learn_scores
from shoal.lab.audit.result import AuditResult

Floats = npt.NDArray[np.float64]
Data_contra = TypeVar("Data_contra", contravariant=True)
RUNS = 10_000
ALPHA = 1e-6
PARTS = 8
"""Runs on a table are divided into so many parts, if they are enough."""
Tick = Callable[[], None]


class AuditedMechanism(Protocol[Data_contra]):
    """What is audited: so many independent outputs on a table, one row of numbers for each."""

    def __call__(self, data: Data_contra, source: Source, runs: int, /) -> Floats:
        """Run the mechanism; whatever a release shows may be in the numbers."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class RepeatedMechanism:
    """A mechanism that is called once for each run, as one that makes many runs in a call."""

    once: Callable[[Any, Source], Any]

    def __call__(self, data: Any, source: Source, runs: int) -> Floats:
        return np.array([np.atleast_1d(self.once(data, source)) for _ in range(runs)], dtype=np.float64)


def audit(
    mechanism: Callable[..., Any],
    pair: tuple[Any, Any],
    claim: DifferentialPrivacy,
    *,
    runs: int = RUNS,
    trials: int | None = None,
    delta: Number | None = None,
    alpha: float = ALPHA,
    score: Score | None = None,
    names: Sequence[str] = (),
    seed: int | str | None = None,
    workers: int = 1,
    tick: Tick = lambda: None,
) -> AuditResult:
    """Put a claim of differential privacy to the test: run a mechanism on two neighbours, and bound its epsilon from below.

    The result says *refuted* or *not refuted*, never *proved*. An event is chosen on trial runs, then counted on fresh ones.

    Arguments  `mechanism` is a function (data, source, runs) that gives a row of numbers for each run, or (data, source) that
               gives the numbers of one run; it takes its chance from the `Source` that it is given. `pair` is two tables in
               whatever form the mechanism takes; that they are neighbours for the unit of the claim is yours to see to.
               `claim` is a guarantee such as `PureDP(1)`. `runs` on each table to count the event on, `trials` on each to choose
               it on (as many as `runs` up to 4,000, then a quarter); `delta` at which epsilon is bounded, that of the claim
               when left out; `alpha`, the probability with which a sound mechanism may be refuted; `score`, where it is known
               what tells the tables apart; `names` of the output's numbers, for the words; `seed`, to repeat an audit;
               `workers`, how many processes share the runs: with more than one the mechanism and the pair are pickled;
               `tick` is called after each part of the runs.
    Raises     ParameterError for fewer than 4 runs or trials, for an alpha or a delta out of range, or for a claim that has no
               delta of its own where none is given; UsageError for a mechanism of another shape, or one that cannot be
               pickled; DataError for outputs that are no table of finite numbers.

    >>> from shoal.guarantee.differential import PureDP
    >>> def noisy_count(rows, source):
    ...     return len(rows) + source.discrete_laplace(Fraction(1, 2), 1)[0]  # noise for epsilon 2
    >>> found = audit(noisy_count, (["Ann", "Bob"], ["Ann"]), PureDP(1), runs=2_000, seed=1)
    >>> found.refuted, found.epsilon_at_least > 1, found.epsilon_at_least > 2
    (True, True, False)
    """
    trials = _trials(runs) if trials is None else trials
    if min(runs, trials) < 4:
        raise ParameterError("an audit needs runs", came=f"{runs} and {trials}", allowed="4 or more of each kind")
    if not 0 < alpha < 1:
        raise ParameterError("alpha is no probability", came=alpha, allowed="0 < alpha < 1")
    allowed = claim_delta(claim) if delta is None else exact(delta)
    if not 0 <= allowed < 1:
        raise ParameterError("delta is no probability", came=delta, allowed="0 <= delta < 1")
    with Runner.open(as_mechanism(mechanism), seed, workers, tick) as runner:
        choice = choose_on_trials(runner, pair, trials, runs, allowed, alpha, score, names)
        fresh = runner.outputs("runs", pair, runs)
    hits = [choice.event.hits(outputs) for outputs in fresh]
    likelier = 2 if choice.swapped else 1
    ordered = (hits[1], hits[0]) if choice.swapped else (hits[0], hits[1])
    return AuditResult(runs, ordered, allowed, alpha, claim, choice.event.words(), likelier, trials)


def choose_on_trials(
    runner: Runner,
    pair: tuple[Any, Any],
    trials: int,
    runs: int,
    delta: Fraction,
    alpha: float,
    score: Score | None = None,
    names: Sequence[str] = (),
    purpose: str = "trials",
) -> EventChoice:
    """The event: scores are learned on one half of the trials, and the best with its threshold is chosen on the other."""
    seen = runner.outputs(purpose, pair, trials)
    if score is not None:
        return choose_event(seen[0], seen[1], runs, delta, alpha, [score])
    half = trials // 2
    scores = learn_scores(seen[0][:half], seen[1][:half], _component_names(names, seen[0].shape[1]))
    return choose_event(seen[0][half:], seen[1][half:], runs, delta, alpha, scores)


def _component_names(names: Sequence[str], width: int) -> tuple[str, ...]:
    if len(names) == width:
        return tuple(names)
    return ("the output",) if width == 1 else tuple(f"number {place} of the output" for place in range(1, width + 1))


def claim_delta(claim: DifferentialPrivacy) -> Fraction:
    """The delta at which a claim is put to the test where nobody names one: its own.

    Raises     ParameterError for a claim that is a whole curve.
    """
    if claim.own is None:
        raise ParameterError(
            "the claim has no delta of its own",
            came=type(claim).__name__,
            fix="say at which delta epsilon is to be bounded",
        )
    return claim.own[1]


def as_mechanism(mechanism: Callable[..., Any]) -> AuditedMechanism[Any]:
    """A function of many runs, or of one, as a mechanism of many.

    Raises     UsageError for anything else.
    """
    try:
        needed = [
            each
            for each in inspect.signature(mechanism).parameters.values()
            if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        needed = []
    if len(needed) == 3:
        return mechanism
    if len(needed) == 2:
        return RepeatedMechanism(mechanism)
    raise UsageError(
        "a mechanism of another shape",
        came=f"{len(needed)} arguments",
        allowed="a function (data, source, runs) of many runs, or (data, source) of one",
    )


def parts_of(runs: int) -> list[int]:
    """The sizes of the parts that so many runs on a table are divided into: about equal, and the same on every machine."""
    count = max(1, min(PARTS, runs // 64))
    return [runs * (place + 1) // count - runs * place // count for place in range(count)]


def ticks_of(runs: int, trials: int | None = None) -> int:
    """How often `tick` is called in an audit of so many runs."""
    return 2 * (len(parts_of(runs)) + len(parts_of(_trials(runs) if trials is None else trials)))


def _trials(runs: int) -> int:
    return min(runs, max(4_000, runs // 4))


# --- the runs in parts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runner:
    """Runs a mechanism on both tables of a pair, in parts with random bits of their own, here or in several processes."""

    mechanism: AuditedMechanism[Any]
    seed: int | str | None
    tick: Tick
    pool: ProcessPoolExecutor | None = None

    @classmethod
    @contextmanager
    def open(
        cls, mechanism: AuditedMechanism[Any], seed: int | str | None, workers: int, tick: Tick = lambda: None
    ) -> Iterator[Runner]:
        """A runner whose processes end with it."""
        if type(workers) is not int or workers < 1:
            raise ParameterError("workers of an audit", came=workers, allowed="a whole number from 1 up")
        if workers == 1:
            yield cls(mechanism, seed, tick)
            return
        from multiprocessing import get_context

        # A forked process would share the keys of its parent, which sources refuse.
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        try:
            yield cls(mechanism, seed, tick, pool)
        finally:
            pool.shutdown(cancel_futures=True)

    def outputs(self, purpose: str, pair: tuple[Any, Any], runs: int) -> tuple[Floats, Floats]:
        """So many outputs on each table, all with the same number of components."""
        sizes = parts_of(runs)
        asked = [
            (self.mechanism, data, None if self.seed is None else f"audit {self.seed} {purpose} {table} {part}", size)
            for table, data in enumerate(pair)
            for part, size in enumerate(sizes)
        ]
        made = self._here(asked) if self.pool is None else self._elsewhere(asked, self.pool)
        if len({part.shape[1] for part in made}) != 1:
            raise DataError(
                "the outputs of an audited mechanism have different numbers of components",
                came=", ".join(sorted({str(part.shape[1]) for part in made})),
                fix="give as many numbers in every run, and on both tables",
            )
        return np.concatenate(made[: len(sizes)]), np.concatenate(made[len(sizes) :])

    def _here(self, asked: Sequence[tuple[Any, ...]]) -> list[Floats]:
        found = []
        for each in asked:
            found.append(_part(*each))
            self.tick()
        return found

    def _elsewhere(self, asked: Sequence[tuple[Any, ...]], pool: ProcessPoolExecutor) -> list[Floats]:
        try:
            pickle.dumps(asked[0][:2])
        except (pickle.PicklingError, AttributeError, TypeError, UsageError) as error:
            raise UsageError(
                "the mechanism or its tables cannot be sent to another process",
                came=type(error).__name__,
                fix="define the mechanism at the top of a module, or ask for one worker",
            ) from None
        futures: list[Future[Floats]] = [pool.submit(_part, *each) for each in asked]
        for _ in as_completed(futures):
            self.tick()
        return [future.result() for future in futures]


def _part(mechanism: AuditedMechanism[Any], data: Any, seed: str | None, runs: int) -> Floats:
    """One part of the runs on one table, with random bits of its own."""
    with Source.secure() if seed is None else Source.seeded(seed) as source:
        outputs = np.asarray(mechanism(data, source, runs), dtype=np.float64)
    if outputs.ndim != 2 or len(outputs) != runs or not outputs.shape[1] or not np.isfinite(outputs).all():
        raise DataError(
            "the outputs of an audited mechanism are no table of finite numbers",
            came=f"shape {outputs.shape}",
            allowed=f"{runs} rows, one for each run",
        )
    return outputs
