"""The outcome of an attack: how often it succeeds on each method, beside its control and its baseline, with intervals.

    success    the intruder is right about a person whose record was in the table
    control    the same intruder, with the same rule, is right about a person whose record was not in it
    baseline   what the intruder would achieve without the release

What an attack achieves beyond its control comes from the person's record. What it achieves beyond its baseline but not beyond
its control is what the release says about people in general. An attack that fails proves nothing: a better one may exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.assess.quantity import ESTIMATE, Quantity
from shoal.chance.source import Source
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.guarantee.differential import DifferentialPrivacy
    from shoal.page.rates import RateDiagram

VERSION = 1
MOST_ROWS, MOST_RUNS = 100_000, 100_000


@dataclass(frozen=True)
class AttackSetting:
    """What an attack runs on: how many people a generated table has, how often it is tried, and the seed of both.

    >>> AttackSetting(rows=300, runs=50).rows
    300
    """

    rows: int
    runs: int
    seed: int = 0
    policy: Path | None = None
    """The policy whose release is attacked, for an attack on any release."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("rows", self.rows, 50, MOST_ROWS),
            ("runs", self.runs, 2, MOST_RUNS),
            ("seed", self.seed, 0, None),
        ):
            if type(value) is not int or value < least or (most is not None and value > most):
                upto = "" if most is None else f" to {most:,}"
                raise ParameterError(
                    f"{name} of an attack", came=value, allowed=f"a whole number from {least}{upto or ' up'}"
                )

    def source(self, purpose: str) -> Source:
        """The random bits of one purpose, the same for the same seed: attacks are on generated people, and can be repeated."""
        return Source.seeded(f"attack {self.seed} {purpose}")


@dataclass(frozen=True)
class AttackOutcome:
    """One method under an attack.

    >>> won = Quantity.of_rate(19, 20, "targets"), Quantity.of_rate(1, 20, "others")
    >>> AttackOutcome("raw rows", *won).succeeds
    True
    """

    method: str
    success: Quantity
    control: Quantity
    baseline: Quantity | None = None
    claim: DifferentialPrivacy | None = None
    """The differential promise of the method, for one person who is in the table or not; None where it makes none."""
    false_claim: bool = False
    """Whether the promise is what somebody might say of the method, and not what was proved of it."""

    @property
    def advantage(self) -> Quantity:
        """Success minus control, of which the person's own record is the cause; the ends are those that are farthest apart."""
        low, high = self.success.low, self.success.high
        under, over = self.control.low, self.control.high
        assert low is not None and high is not None and under is not None and over is not None  # noqa: S101, PT018
        level = max(0.0, self.success.level + self.control.level - 1)
        value = self.success.value - self.control.value
        return Quantity(value, low - over, high - under, ESTIMATE, "success minus control", level)

    @property
    def excess(self) -> Quantity:
        """Success beyond control as a share of what control leaves."""
        return self.success.excess_over(self.control, "success beyond control, as a share of what control leaves")

    @property
    def epsilon_delta(self) -> tuple[float, float] | None:
        """The claimed epsilon and delta; None where nothing is claimed."""
        own = None if self.claim is None else self.claim.own
        return None if own is None else (float(own[0]), float(own[1]))

    @property
    def largest_advantage(self) -> float | None:
        """The advantage that no attack on an (epsilon, delta)-DP method exceeds: (e^eps − 1 + 2 delta) / (e^eps + 1)."""
        own = self.epsilon_delta
        return None if own is None else largest_advantage(*own)

    @property
    def succeeds(self) -> bool:
        """Whether the interval of the advantage lies above zero."""
        return (self.advantage.low or 0.0) > 0

    @property
    def contradicts(self) -> bool:
        """Whether success is more frequent than the claim allows beside its control, by the ends of both intervals."""
        own = self.epsilon_delta
        if own is None:
            return False
        low, high = self.success.low or 0.0, 1.0 if self.control.high is None else self.control.high
        return low > largest_success(high, *own)

    def verdict(self) -> str:
        """What was found, in a few words."""
        if self.contradicts:
            return "contradicts its claim"
        if self.succeeds:
            return "succeeds" if self.claim is None else "succeeds, within its claim"
        return "no success shown"

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        own = self.epsilon_delta
        return {
            "method": self.method,
            "success": self.success.to_json(),
            "control": self.control.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "advantage": self.advantage.to_json(),
            "excess": self.excess.to_json(),
            "claim": None if own is None else {"epsilon": own[0], "delta": own[1], "false": self.false_claim},
            "largest_advantage": self.largest_advantage,
            "succeeds": self.succeeds,
            "contradicts": self.contradicts,
        }


@dataclass(frozen=True)
class AttackResult:
    """An attack that was run: what the intruder does and knows, its outcome for each method, and why it works or fails."""

    name: str
    title: str
    source: str
    """Where the attack is described, as the bibliography names it."""
    game: str
    """What the intruder knows and does, and what counts as success."""
    control: str
    """What the control is, and the baseline."""
    outcomes: tuple[AttackOutcome, ...]
    why: tuple[str, ...]
    """Why it works or fails here, in sentences."""
    setting: AttackSetting
    recovered: tuple[str, ...] = ()
    """What was recovered of generated people in the first runs, one line each."""
    facts: tuple[tuple[str, Quantity], ...] = field(default=())
    """Further numbers by name."""

    def outcome(self, method: str) -> AttackOutcome:
        """The outcome of the method whose name begins with this text; ParameterError where there is none."""
        found = next((one for one in self.outcomes if one.method.startswith(method)), None)
        if found is None:
            raise ParameterError(
                "no such method in this attack", came=method, allowed=", ".join(one.method for one in self.outcomes)
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """The result as plain values, with the fields that `shoal attack --json` prints."""
        return {
            "version": VERSION,
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "game": self.game,
            "control": self.control,
            "rows": self.setting.rows,
            "runs": self.setting.runs,
            "seed": self.setting.seed,
            "generated": True,
            "outcomes": [one.to_json() for one in self.outcomes],
            "recovered": list(self.recovered),
            "facts": {name: measured.to_json() for name, measured in self.facts},
            "why": list(self.why),
        }

    def words(self) -> list[str]:
        """The result in sentences: one for each method, then why."""
        found = [self.game, self.control]
        for one in self.outcomes:
            sentence = (
                f"{one.method}: success {_percent(one.success)}, control {_percent(one.control)}, advantage "
                f"{_percent(one.advantage)}; {one.verdict()}."
            )
            found.append(sentence)
        found += [f"{name}: {measured.words()}." for name, measured in self.facts]
        return [*found, *self.why]

    def picture(self) -> RateDiagram:
        """Success, control and baseline of each method with their intervals, and the success beyond which a claim is refuted."""
        from shoal.page.rates import RateDiagram, RateLine

        lines = []
        for one in self.outcomes:
            own = one.epsilon_delta
            most = None if own is None else largest_success(_ends(one.control)[2], *own)
            lines.append(
                RateLine(
                    one.method,
                    _ends(one.success),
                    _ends(one.control),
                    None if one.baseline is None else one.baseline.value,
                    most,
                )
            )
        what = (
            f"{self.setting.runs:,} runs on generated tables of {self.setting.rows:,} people, seed {self.setting.seed}."
        )
        return RateDiagram(self.title, tuple(lines), f"Bars are 95 % intervals (Clopper and Pearson). {what}")


def largest_advantage(epsilon: float, delta: float) -> float:
    """The most by which success may exceed control under (epsilon, delta)-DP, whatever the attack is.

    With success s and control c: s ≤ e^eps c + delta and 1 − c ≤ e^eps (1 − s) + delta; adding the two bounds s − c.

    >>> round(largest_advantage(1.0, 0.0), 4)
    0.4621
    """
    return min(1.0, math.tanh(epsilon / 2) + 2 * delta / (math.exp(epsilon) + 1) if epsilon < 700 else 1.0)


def largest_success(control: float, epsilon: float, delta: float) -> float:
    """The most frequent success that (epsilon, delta)-DP allows beside this control.

    >>> largest_success(0.0, 1.0, 0.01), round(largest_success(0.5, 1.0, 0.0), 4)
    (0.01, 0.8161)
    """
    ratio = math.exp(min(epsilon, 700.0))
    return max(0.0, min(1.0, ratio * control + delta, 1 - (1 - control - delta) / ratio))


def compare(
    method: str,
    success: Sequence[bool],
    control: Sequence[bool],
    baseline: Sequence[bool] | Quantity | None = None,
    *,
    of: str = "runs",
    claim: DifferentialPrivacy | None = None,
    false_claim: bool = False,
) -> AttackOutcome:
    """The outcome of independent trials: whether each success, each control and each guess without the release was right."""
    if baseline is not None and not isinstance(baseline, Quantity):
        baseline = rate(baseline, f"share of {of} in which the guess without the release is right")
    return AttackOutcome(
        method,
        rate(success, f"share of {of} in which the intruder is right"),
        rate(control, f"share of {of} in which the control is right"),
        baseline,
        claim,
        false_claim,
    )


def rate(hits: Sequence[bool], method: str) -> Quantity:
    """The share of independent trials that hit, with its interval."""
    return Quantity.of_rate(sum(map(bool, hits)), len(hits), method)


def choose_one(source: Source, count: int) -> int:
    """One of so many, each equally likely."""
    return int(source.integers(count, 1)[0])


def _percent(measured: Quantity) -> str:
    low, high = _ends(measured)[0], _ends(measured)[2]
    return f"{100 * measured.value:.3g} % ({100 * low:.3g} to {100 * high:.3g})"


def _ends(measured: Quantity) -> tuple[float, float, float]:
    low = measured.value if measured.low is None else measured.low
    high = measured.value if measured.high is None else measured.high
    return low, measured.value, high
