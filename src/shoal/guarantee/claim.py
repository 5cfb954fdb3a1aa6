"""A guarantee with its unit and its status: what Shoal says about a release, and how sure it is of it.

A claim is made by a plan, by a method or by a session, from numbers that they have evaluated, through `make_claim`. Nobody
else makes one: `Claim(...)` by hand takes the status `none` alone. What a file says is a `StatedClaim`, which promises nothing.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from enum import Enum
from typing import Any, Literal

from shoal.errors import UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import ApproxDP, GaussianDP, LaplaceDP, PureDP, SafeKSampling, SampledDP, SmoothDP
from shoal.guarantee.noise import ConcentratedDP, ExponentialDP, NoisyTablesDP
from shoal.guarantee.plain_sample import SamplePrivacy
from shoal.guarantee.syntactic import (
    AlphaDeassociation,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KAnonymousRelation,
    KMap,
    KnowledgeGain,
    LDiversity,
    ProbabilisticK,
    RecursiveDiversity,
    Syntactic,
    TCloseness,
)
from shoal.guarantee.theorem import THEOREMS
from shoal.guarantee.unit import Unit

GUARANTEE_KINDS: dict[str, type[Guarantee]] = {
    cls.kind: cls
    for cls in (
        PureDP, ApproxDP, SafeKSampling, LaplaceDP, GaussianDP, SampledDP, SmoothDP, SamplePrivacy,
        NoisyTablesDP, ExponentialDP, ConcentratedDP,
        KAnonymity, KMap, ProbabilisticK, KAnonymousRelation, LDiversity, TCloseness, KnowledgeGain,
        RecursiveDiversity, AlphaDeassociation, BetaLikeness, DeltaDisclosure,
    )
}  # fmt: skip
"""Every kind of guarantee that a file may name."""


def load_guarantee(saved: dict[str, Any]) -> Guarantee:
    """The guarantee that `to_saved` wrote; UsageError for a kind that is not on the closed list."""
    kind = saved.get("kind")
    if kind not in GUARANTEE_KINDS:
        raise UsageError("unknown kind of guarantee", came=kind, allowed=", ".join(GUARANTEE_KINDS))
    cls = GUARANTEE_KINDS[kind]
    if issubclass(cls, SmoothDP):
        return cls.from_saved(saved)
    try:
        return cls(**{name: value for name, value in saved.items() if name != "kind"})
    except TypeError:
        raise UsageError(f"a guarantee of kind '{kind}' has other parameters", came=", ".join(sorted(saved))) from None


Randomness = Literal["operating system", "test seed", "none needed"]


class Status(Enum):
    """How a claim is known to hold, from strongest to weakest.

    Arguments  the word that certificates print, as in `Status("proved")`
    Raises     ValueError for a word that is not one of the five

    >>> [status.value for status in Status][:2]
    ['proved', 'proved with condition']
    """

    PROVED = "proved"
    CONDITION = "proved with condition"
    TUNED = "proved for a plan tuned on the data"
    CHECKED = "checked"
    NONE = "none"


@dataclass(frozen=True)
class Tuning:
    """What a plan may owe to the data: parts that were drafted from them, or results that were seen with another plan.

    >>> bool(Tuning()), bool(Tuning(looked=True))
    (False, True)
    """

    drafted: bool = False
    """Whether a domain or hierarchy was drafted from the data and nobody has confirmed it."""
    looked: bool = False
    """Whether results on the data were seen with another plan before this one was charged."""
    confirmed: bool = False
    """Whether a look was taken to draft the plan, and nothing that it read is left unconfirmed. By itself that is no tuning."""

    def __bool__(self) -> bool:
        return self.drafted or self.looked


UNTUNED = Tuning()
"""A plan of which nothing is known but that it was fixed without the data."""


_MAKER = object()
"""Who holds it speaks for a plan, a method or a session."""


@dataclass(frozen=True)
class _Statement:
    """A guarantee, whose, how it is known, by which theorems, under which conditions, with which source of randomness."""

    guarantee: Guarantee
    unit: Unit | None
    status: Status
    theorems: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    randomness: Randomness = "operating system"

    def check(self) -> None:
        """The rules of every statement; whether it is true is another matter."""
        unknown = [name for name in self.theorems if name not in THEOREMS]
        if unknown:
            raise UsageError("unknown theorem", came=", ".join(unknown), allowed="a name from the registry")
        if isinstance(self.guarantee, Syntactic) and self.guarantee.seen:
            if self.status not in (Status.CHECKED, Status.NONE):
                raise UsageError(
                    "a syntactic guarantee is checked on the table, not proved",
                    came=self.status.value,
                    allowed="checked, none",
                )
            return
        if self.status is Status.CHECKED:
            raise UsageError("it is proved, not checked on one output", came=self.status.value)
        if isinstance(self.guarantee, Syntactic):
            if self.status not in (Status.CONDITION, Status.NONE):
                raise UsageError(
                    "what the table does not show holds under a condition",
                    came=self.status.value,
                    allowed="proved with condition, none",
                )
        elif self.unit is None:
            raise UsageError("a differential guarantee names whose data it hides", fix="give a Unit")
        if self.status is Status.NONE:
            return
        if self.randomness != "operating system":
            raise UsageError(
                "a release made with a fixed seed carries no guarantee",
                came=self.randomness,
                allowed="randomness from the operating system, or status none",
            )
        if not self.theorems:
            raise UsageError("a proved claim names its theorem", fix="name at least one theorem from the registry")
        if self.status is Status.CONDITION and not self.conditions:
            raise UsageError("a claim proved with condition says the condition")

    def words(self) -> str:
        """The sentence a certificate opens with."""
        if self.status is Status.NONE:
            return "No guarantee is made."
        whose = "" if self.unit is None else f", for {self.unit.words()}"
        conditions = "" if not self.conditions else " Condition: " + "; ".join(self.conditions) + "."
        return f"{self.status.value.capitalize()}: {self.guarantee.words()}{whose}.{conditions}"

    def to_saved(self) -> dict[str, Any]:
        """The statement as plain values, for a file."""
        return {
            "guarantee": self.guarantee.to_saved(),
            "unit": None if self.unit is None else self.unit.to_saved(),
            "status": self.status.value,
            "theorems": list(self.theorems),
            "conditions": list(self.conditions),
            "randomness": self.randomness,
        }


@dataclass(frozen=True)
class Claim(_Statement):
    """What holds, for whom, by which theorems, under which conditions, with which source of randomness.

    Plans, methods and sessions make claims from numbers that they have evaluated. By hand only a claim that promises nothing
    can be made.

    Arguments  `guarantee` is what holds, `unit` whose data it hides, `status` how it is known, `theorems` are names of the
               registry, `conditions` are sentences, `randomness` says where chance came from
    Raises     UsageError for any status but `none`, and for a claim that breaks the rules of its status

    >>> from shoal.guarantee.differential import PureDP
    >>> Claim(PureDP(1), Unit.row("add_remove"), Status.NONE).words()
    'No guarantee is made.'
    """

    maker: InitVar[object] = None

    def __post_init__(self, maker: object) -> None:
        if self.status is not Status.NONE and maker is not _MAKER:
            raise UsageError(
                "a claim is made by a plan, or by a session for an answer that it gave, not by hand",
                came=f"status {self.status.value}",
                allowed="status none",
                fix="plan a policy and read the plan's claims",
            )
        self.check()


def make_claim(
    guarantee: Guarantee,
    unit: Unit | None,
    status: Status,
    theorems: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
    randomness: Randomness = "operating system",
) -> Claim:
    """For plans, methods and sessions alone: the claim that follows from numbers which the caller has evaluated."""
    return Claim(guarantee, unit, status, theorems, conditions, randomness, maker=_MAKER)


def add_theorem(claim: Claim, name: str) -> Claim:
    """The same claim, which rests on one theorem more: it stands last, and once."""
    names = (*(each for each in claim.theorems if each != name), name)
    return make_claim(claim.guarantee, claim.unit, claim.status, names, claim.conditions, claim.randomness)


@dataclass(frozen=True)
class StatedClaim(_Statement):
    """What a file says holds. It has the form of a claim; whether it is true is for a verifier to find out."""

    def __post_init__(self) -> None:
        self.check()

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> StatedClaim:
        """The claim that a file states, read from its plain values."""
        unit = saved["unit"]
        return cls(
            load_guarantee(saved["guarantee"]),
            None if unit is None else Unit.from_saved(unit),
            Status(saved["status"]),
            tuple(saved["theorems"]),
            tuple(saved["conditions"]),
            saved["randomness"],
        )
