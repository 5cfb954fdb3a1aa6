"""Guarantees about the published table itself: k-anonymity and its relatives. None of them composes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.rounding import Number, exact, text_up, whole


class Syntactic(Guarantee):
    """A property of the table, and not of what chance might have made of it."""

    composes: ClassVar[bool] = False
    seen: ClassVar[bool] = True
    """Whether it can be counted on the published table; otherwise it rests on how the table was made."""


@dataclass(frozen=True)
class KAnonymity(Syntactic):
    """Every combination of quasi-identifiers that occurs, occurs at least k times.

    >>> KAnonymity(5).implies(KAnonymity(3))
    True
    """

    k: int
    kind: ClassVar[str] = "k-anonymity"

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, ProbabilisticK | KMap | KAnonymousRelation):
            return self.k >= other.k
        return isinstance(other, KAnonymity) and self.k >= other.k

    def words(self) -> str:
        return f"{self.k}-anonymity: everyone shares their quasi-identifiers with at least {self.k - 1} others in the table"


@dataclass(frozen=True)
class KMap(Syntactic):
    """Every combination of quasi-identifiers in the table belongs to at least k people of the population."""

    k: int
    kind: ClassVar[str] = "k-map"

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, KMap) and self.k >= other.k

    def words(self) -> str:
        return (
            f"{self.k}-map: everyone shares their quasi-identifiers with at least {self.k - 1} others in the population"
        )


@dataclass(frozen=True)
class ProbabilisticK(Syntactic):
    """An intruder links a person to their confidential values with probability at most 1/k (SC13 chapter 3)."""

    k: int
    kind: ClassVar[str] = "probabilistic-k"
    seen: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, ProbabilisticK) and self.k >= other.k

    def words(self) -> str:
        return (
            f"probabilistic {self.k}-anonymity: the values shown beside a person were taken from that person's own record with "
            f"probability at most 1/{self.k}"
        )


@dataclass(frozen=True)
class KAnonymousRelation(Syntactic):
    """Every record is linked to at least k entries of confidential values, one of them its own (SC13 section 7.1.2).

    Quasi-identifiers may be published as they are; it is their relation to the confidential values that is k-anonymous.
    """

    k: int
    kind: ClassVar[str] = "k-anonymous-relation"

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, KAnonymousRelation) and self.k >= other.k

    def words(self) -> str:
        return (
            f"a {self.k}-anonymous relation: every record is linked to the confidential values of at least {self.k} records, and "
            "the tables do not show which are its own"
        )


@dataclass(frozen=True)
class LDiversity(Syntactic):
    """Every group shows at least l well-represented confidential values; `form` is distinct, entropy, recursive or frequency.

    Frequency diversity is that of Anatomy (Xiao, Tao 2006): no value has more than the share 1/l of a group.
    """

    l: Fraction  # noqa: E741  (the literature's letter)
    form: str
    kind: ClassVar[str] = "l-diversity"

    def __init__(self, l: Number, form: str) -> None:  # noqa: E741
        object.__setattr__(self, "l", _at_least_one(l, "l"))
        object.__setattr__(self, "form", _one_of(form, "form", ("distinct", "entropy", "recursive", "frequency")))

    def implies(self, other: Guarantee) -> bool:
        """Shares of at most 1/l give an entropy of at least ln l, which needs at least l values."""
        if not isinstance(other, LDiversity) or self.l < other.l:
            return False
        order = ("distinct", "entropy", "frequency")
        if self.form == other.form or "recursive" in (self.form, other.form):
            return self.form == other.form
        return order.index(self.form) > order.index(other.form)

    def words(self) -> str:
        return f"{self.form} {text_up(self.l)}-diversity of the confidential attribute in every group"


@dataclass(frozen=True)
class RecursiveDiversity(Syntactic):
    """In every group the commonest confidential value is rarer than c times all from the l-th commonest on, together.

    >>> RecursiveDiversity(2, 3).implies(RecursiveDiversity(3, 2))
    True
    """

    c: Fraction
    l: int  # noqa: E741
    kind: ClassVar[str] = "recursive-diversity"

    def __init__(self, c: Number, l: int) -> None:  # noqa: E741
        object.__setattr__(self, "c", _above_zero(c, "c"))
        object.__setattr__(self, "l", whole(l, "l"))

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, RecursiveDiversity) and self.c <= other.c and self.l >= other.l

    def words(self) -> str:
        return (
            f"recursive ({text_up(self.c)}, {self.l})-diversity: in every group the commonest confidential value is rarer than "
            f"{text_up(self.c)} times all but the {self.l - 1} commonest together"
        )


@dataclass(frozen=True)
class AlphaDeassociation(Syntactic):
    """No confidential value has a share above alpha in any group: what (alpha, k)-anonymity asks beside k."""

    alpha: Fraction
    kind: ClassVar[str] = "alpha-deassociation"

    def __init__(self, alpha: Number) -> None:
        value = _above_zero(alpha, "alpha")
        if value > 1:
            raise ParameterError("alpha is above 1", came=alpha, allowed="0 < alpha <= 1")
        object.__setattr__(self, "alpha", value)

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, AlphaDeassociation) and self.alpha <= other.alpha

    def words(self) -> str:
        return f"no confidential value has a share above {text_up(self.alpha)} in any group"


@dataclass(frozen=True)
class BetaLikeness(Syntactic):
    """No confidential value is more frequent in a group than (1 + beta) times its share in the table; `form` is basic or
    enhanced, where beta is replaced by −ln of that share if that is less.
    """

    beta: Fraction
    form: str
    kind: ClassVar[str] = "beta-likeness"

    def __init__(self, beta: Number, form: str) -> None:
        object.__setattr__(self, "beta", _above_zero(beta, "beta"))
        object.__setattr__(self, "form", _one_of(form, "form", ("basic", "enhanced")))

    def implies(self, other: Guarantee) -> bool:
        """Enhanced likeness implies basic likeness: it asks for the same and more."""
        if not isinstance(other, BetaLikeness) or self.beta > other.beta:
            return False
        return self.form in (other.form, "enhanced")

    def words(self) -> str:
        more = ", and of a frequent one less" if self.form == "enhanced" else ""
        return (
            f"{self.form} {text_up(self.beta)}-likeness: the share of a confidential value in a group exceeds its share in the "
            f"table by at most {text_up(100 * self.beta)} % of the latter{more}"
        )


@dataclass(frozen=True)
class DeltaDisclosure(Syntactic):
    """Every value of the table has in every group a share whose ratio to its share in the table lies within e^±delta."""

    delta: Fraction
    kind: ClassVar[str] = "delta-disclosure"

    def __init__(self, delta: Number) -> None:
        object.__setattr__(self, "delta", _above_zero(delta, "delta"))

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, DeltaDisclosure) and self.delta <= other.delta

    def words(self) -> str:
        return (
            f"{text_up(self.delta)}-disclosure: in every group the share of every confidential value of the table lies within a "
            f"factor e^{text_up(self.delta)} of its share in the table"
        )


@dataclass(frozen=True)
class TCloseness(Syntactic):
    """Every group's confidential distribution lies within t of the table's; `metric` is emd or ratio."""

    t: Fraction
    metric: str
    kind: ClassVar[str] = "t-closeness"

    def __init__(self, t: Number, metric: str) -> None:
        object.__setattr__(self, "metric", _one_of(metric, "metric", ("emd", "ratio")))
        value = exact(t, "t")
        least = 1 if metric == "ratio" else 0
        if value < least:
            raise ParameterError("t is too small", came=t, allowed=f"t >= {least} for the {metric} distance")
        object.__setattr__(self, "t", value)

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, KnowledgeGain):
            return self.metric == "ratio" and self.t <= other.factor
        return isinstance(other, TCloseness) and self.metric == other.metric and self.t <= other.t

    def words(self) -> str:
        return f"{text_up(self.t)}-closeness ({self.metric} distance) of every group to the whole table"


@dataclass(frozen=True)
class KnowledgeGain(Syntactic):
    """An intruder whose prior is the table's marginal learns at most this factor (SC13 chapter 7); not differential privacy."""

    factor: Fraction
    kind: ClassVar[str] = "knowledge-gain"
    seen: ClassVar[bool] = False

    def __init__(self, factor: Number) -> None:
        object.__setattr__(self, "factor", _at_least_one(factor, "factor"))

    def implies(self, other: Guarantee) -> bool:
        return isinstance(other, KnowledgeGain) and self.factor <= other.factor

    def words(self) -> str:
        return (
            f"a knowledge gain of at most {text_up(self.factor)} for an intruder who knows only the table's marginal "
            "distribution; this is not differential privacy"
        )


def _at_least_one(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number < 1:
        raise ParameterError(f"{name} is below 1", came=value, allowed=f"{name} >= 1")
    return number


def _above_zero(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name} is not above 0", came=value, allowed=f"{name} > 0")
    return number


def _one_of(value: str, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"unknown {name}", came=value, allowed=", ".join(allowed))
    return value
