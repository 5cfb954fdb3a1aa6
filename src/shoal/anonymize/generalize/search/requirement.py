"""What every class of a published table must have: k-anonymity and its family, with exact numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, get_args

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import exact_text, whole

Distance = Literal["equal", "ordered", "hierarchical"]
BetaForm = Literal["basic", "enhanced"]
DISTANCES: tuple[Distance, ...] = get_args(Distance)
BETA_FORMS: tuple[BetaForm, ...] = get_args(BetaForm)


@dataclass(frozen=True)
class Requirement:
    """What every class must have; what is None is not asked for. Every criterion but k and k_map is about each confidential
    attribute by itself.

    k           rows of the table
    l           different values (a missing one is none)
    entropy_l   exp of the entropy of its values
    recursive   (c, l): the commonest value is rarer than c times all from the l-th commonest on
    t           the earth mover's distance of its values from those of the published table; `distance` is the ground
                distance, None: along the order where the attribute has one, else any two values 1 apart
    alpha       the largest share of one value
    beta        the largest relative gain of a value's share over its share in the published table; enhanced: also at
                most the value's surprisal −ln q there
    delta       |ln(p / q)| of every value of the published table is smaller
    k_map       people of the population

    >>> Requirement(5, l=2).words()
    'k = 5, l = 2'
    """

    k: int
    l: int | None = None  # noqa: E741 - the literature's letter
    entropy_l: Fraction | None = None
    recursive: tuple[Fraction, int] | None = None
    t: Fraction | None = None
    distance: Distance | None = None
    alpha: Fraction | None = None
    beta: Fraction | None = None
    beta_form: BetaForm = "basic"
    delta: Fraction | None = None
    k_map: int | None = None

    def __post_init__(self) -> None:
        whole(self.k, "k", 2)
        for name in ("l", "k_map"):
            if (asked := getattr(self, name)) is not None:
                whole(asked, name)
        _refuse_range("entropy_l", self.entropy_l, least=1)
        if self.recursive is not None:
            c, l = self.recursive  # noqa: E741
            _refuse_range("c", c, above=0)
            whole(l, "l of recursive diversity")
        _refuse_range("t", self.t, least=0)
        _refuse_range("alpha", self.alpha, above=0, most=1)
        _refuse_range("beta", self.beta, above=0)
        _refuse_range("delta", self.delta, above=0)
        if self.distance not in (None, *DISTANCES):
            raise UsageError("no such distance", came=self.distance, allowed=", ".join(DISTANCES))
        if self.beta_form not in BETA_FORMS:
            raise UsageError("no such form of beta-likeness", came=self.beta_form, allowed=", ".join(BETA_FORMS))

    @property
    def is_confidential(self) -> bool:
        """Whether anything is asked of confidential values."""
        return self.is_relative or any(
            asked is not None for asked in (self.l, self.entropy_l, self.recursive, self.alpha)
        )

    @property
    def is_relative(self) -> bool:
        """Whether classes are compared with the published table."""
        return any(asked is not None for asked in (self.t, self.beta, self.delta))

    @property
    def is_monotone(self) -> bool:
        """Whether a class that joins others has what it had, whatever the others lack: k, l and k_map alone (theorem
        `monotone-criteria`).
        """
        return not self.is_relative and self.entropy_l is None and self.recursive is None and self.alpha is None

    def words(self) -> str:
        """What is asked for, in the letters of the policy."""
        shown = []
        for field in fields(self):
            asked = getattr(self, field.name)
            if asked is None or field.name == "beta_form":
                continue
            if field.name == "recursive":
                shown.append(f"recursive (c = {exact_text(asked[0])}, l = {asked[1]})")
            elif field.name == "beta":
                shown.append(f"{self.beta_form} beta = {exact_text(asked)}")
            else:
                shown.append(f"{field.name} = {exact_text(asked) if isinstance(asked, Fraction) else asked}")
        return ", ".join(shown)


def _refuse_range(
    name: str, value: Fraction | None, *, least: int | None = None, above: int | None = None, most: int | None = None
) -> None:
    if value is None:
        return
    if not isinstance(value, Fraction):
        raise UsageError(f"{name} is not an exact number", came=type(value).__name__, allowed="a Fraction")
    low = (least is None or value >= least) and (above is None or value > above)
    if not low or (most is not None and value > most):
        allowed = [f"{name} >= {least}"] if least is not None else [f"{name} > {above}"]
        allowed += [f"{name} <= {most}"] if most is not None else []
        raise ParameterError(f"{name} is out of range", came=exact_text(value), allowed=", ".join(allowed))
