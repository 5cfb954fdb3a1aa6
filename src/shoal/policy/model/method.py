"""What each method needs from the policy: its keys, its neighbouring relation, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from shoal.guarantee.unit import NEIGHBOURS
from shoal.policy.model.recoding import Grow, Recoding
from shoal.policy.model.release import GROUPINGS, Grouping, Method, ReleaseAsked, Sampling

_PROMISE = ("epsilon", "delta", "views", "sampling", "bound", "calibration")


@dataclass(frozen=True)
class Needs:
    """The keys of `release` that a method must and may have, and the relation its theorem is about."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = NEIGHBOURS
    reason: str = ""
    least_k: int = 2
    positive_delta: bool = False
    whole_tuple: bool = False
    """Every published attribute, not the quasi-identifiers alone, is part of what the promise is about."""
    confidential: bool = False
    repeats: bool = False
    groupings: tuple[Grouping, ...] = ()
    near: bool = False
    """Groups of near records: one row of each person, no domains needed, and nothing but counts is claimed."""
    ratio: bool = True
    """Whether t is a ratio, rather than an earth mover's distance."""
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def pays(self) -> bool:
        """Whether the method makes a differential promise, which has a price."""
        return "epsilon" in self.required

    def why(self, key: str) -> str:
        """What to do with a key that the method does not use."""
        if key in _PROMISE and not self.pays:
            return "it makes no differential promise: leave the key out"
        return "leave it out"


NEEDS: Mapping[Method, Needs] = {
    "safe-k": Needs(
        ("epsilon", "delta"),
        ("k", "recoding", "views", "sampling", "bound"),
        least_k=1,
        positive_delta=True,
        whole_tuple=True,
        repeats=True,
        defaults={"bound": "tight"},
    ),
    "sample": Needs(
        ("epsilon", "delta"),
        ("sampling", "bound"),
        neighbours=("replace_one",),
        reason="the theorems of a plain sample are about rows that take another value",
        positive_delta=True,
        defaults={"bound": "tight"},
    ),
    "k-anonymity": Needs(("k",), ("l", "t", "recoding", "suppression"), defaults={"suppression": Fraction(0)}),
    "microaggregation": Needs(
        ("k",),
        ("grouping", "show", "gain", "l", "t"),
        groupings=GROUPINGS,
        near=True,
        ratio=False,
        defaults={"grouping": "mdav", "show": "centroid"},
    ),
    "probabilistic-k": Needs(
        ("k",),
        ("grouping", "crowds", "gain", "l", "t"),
        confidential=True,
        groupings=("mdav", "vmdav", "approx", "ranking", "insensitive"),
        near=True,
        ratio=False,
        defaults={"grouping": "mdav"},
    ),
    "t-closeness": Needs(("t",), ("k",), confidential=True),
    "anatomy": Needs(("l",), ("k", "t"), confidential=True),
    "dp-microaggregation": Needs(
        ("epsilon", "k"),
        ("delta", "grouping", "calibration"),
        neighbours=("replace_one",),
        reason="one record replaced moves each cluster by one record; a record more or less can move the last one whole",
        whole_tuple=True,
        repeats=True,
        groupings=("insensitive", "ranking"),
        defaults={"delta": Fraction(0), "grouping": "insensitive", "calibration": "whole"},
    ),
}
"""Every method of the closed list, and what it needs."""


def filled(release: ReleaseAsked, published: Iterable[str]) -> ReleaseAsked:
    """The release with every default written out, so that two ways to say the same thing are one."""
    needs = NEEDS[release.method]
    update: dict[str, Any] = {
        key: value for key, value in needs.defaults.items() if getattr(release, key, None) is None
    }
    if "gain" in needs.optional and update.get("grouping", release.grouping) == "vmdav" and release.gain is None:
        update["gain"] = Fraction(1, 5)
    if "sampling" in needs.optional:
        sampling = release.sampling or Sampling()
        beta = None if sampling.already is not None else sampling.beta or "auto"
        update["sampling"] = sampling.model_copy(update={"beta": beta})
    recoding = release.recoding
    if recoding is None and release.method == "safe-k":
        already = release.sampling is not None and release.sampling.already is not None
        recoding = Recoding(levels={}) if already else Recoding(tree=Grow())
    if recoding is not None:
        update["recoding"] = recoding.filled(release.epsilon, tuple(published))
    return release.model_copy(update=update)
