"""The methods of `release.method`: each answers for the keys it needs, its neighbouring relation, its defaults and its plan.

A method is one frozen value in `METHODS`. What the rest of the program wants to know about a method it asks that value,
so a new method is one entry here and one kind of plan in `shoal.publish.plan`. A subclass has hooks of its own and no field, so
it is not decorated again: what `dataclass` writes for seventeen fields takes half a millisecond, ten times in every command.
"""

# ruff: noqa: ARG002 - a hook's arguments are there for the methods that look at them

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from shoal.data.domain import Pattern
from shoal.data.schema import Attribute, Missing, Outside, Role, Type
from shoal.guarantee.plain_sample import LARGEST_DELTA, MOST_ROWS
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import NEIGHBOURS
from shoal.policy.model.attribute import AttributeModel
from shoal.policy.model.file import UnitModel
from shoal.policy.model.release import (
    MOST_CORNERS,
    TOTAL_SHARE,
    ChosenViewsModel,
    Grouping,
    GroupsModel,
    MethodName,
    RecodingModel,
    ReleaseModel,
    SamplingModel,
    SearchModel,
    Show,
    SyntheticModel,
    TreeModel,
    ViewsModel,
)
from shoal.policy.text.problem import Problem, excerpt, nearest

PlanKind = Literal["differential", "syntactic"]
"""The two kinds of plan: one that pays for differential privacy, and one whose guarantee is a property of the table."""

_PROMISE = ("epsilon", "delta", "views", "counts", "total", "sampling", "bound", "noise", "calibration")
_ANY_METHOD = ("method", "output", "repeat")


@dataclass(frozen=True)
class Method:
    """One method: the keys of `release` that it must and may have, the relation of its theorem, its defaults, its plan.

    Raises nothing; `problems` yields what is wrong in a policy that asks for the method.

    >>> METHODS["safe-k"].required
    ('epsilon', 'delta')
    >>> METHODS["microaggregation"].plan
    'syntactic'
    """

    name: MethodName
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    plan: PlanKind | None = None
    """The kind of plan that is made for it; None for a method that cannot be planned yet."""
    neighbours: tuple[str, ...] = NEIGHBOURS
    reason: str = ""
    """Why the other neighbouring relation is not among them."""
    least_k: int = 2
    positive_delta: bool = False
    whole_tuple: bool = False
    """Every published attribute, not the quasi-identifiers alone, is part of what the promise is about."""
    confidential: bool = False
    repeats: bool = False
    takes_drawn_sample: bool = False
    """Whether the table may itself be the random sample (`sampling.already`)."""
    groupings: tuple[Grouping, ...] = ()
    shows: tuple[Show, ...] = ()
    """What a group may show."""
    ratio: bool = True
    """Whether t is a ratio, rather than an earth mover's distance."""
    searches: bool = False
    """Whether levels may be searched for on the table."""
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of `release` that belong to this method."""
        return (*self.required, *self.optional)

    @property
    def pays(self) -> bool:
        """Whether the method makes a differential promise, which has a price."""
        return "epsilon" in self.required

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        """The release with every default written out, so that two ways to say the same thing are one."""
        update: dict[str, Any] = {
            key: value for key, value in self.defaults.items() if getattr(release, key, None) is None
        }
        if "gain" in self.optional and update.get("grouping", release.grouping) == "vmdav" and release.gain is None:
            update["gain"] = Fraction(1, 5)
        if "sampling" in self.optional:
            sampling = release.sampling or SamplingModel()
            beta = None if sampling.already is not None else sampling.beta or "auto"
            update["sampling"] = sampling.model_copy(update={"beta": beta})
        recoding = release.recoding or self.default_recoding(release)
        if recoding is not None:
            update["recoding"] = recoding.fill(release.epsilon, tuple(published))
        return release.model_copy(update=update)

    def default_recoding(self, release: ReleaseModel) -> RecodingModel | None:
        """The recoding that is meant where the policy names none."""
        return None

    def problems(
        self,
        release: ReleaseModel,
        neighbours: str | None,
        unit: UnitModel | None,
        asked: Mapping[str, AttributeModel],
        attributes: Mapping[str, Attribute],
    ) -> Iterator[Problem]:
        """Everything about a policy that this method does not hold for."""
        yield from self._keys(release, neighbours)
        yield from self._numbers(release)
        yield from self._domains(release, asked, attributes)
        yield from self._records(release, unit, asked)

    def needs_domain(self, release: ReleaseModel, attribute: Attribute) -> bool:
        """Whether an attribute has to have a declared domain."""
        roles = (Role.QUASI, Role.CONFIDENTIAL, *((Role.OTHER, Role.WEIGHT) if self.whole_tuple else ()))
        return attribute.role in roles

    def domain_advice(self, attribute: Attribute) -> str:
        """What to do about a domain that is missing."""
        return f"declare what may occur: method {self.name} may not read it off the data"

    def _keys(self, release: ReleaseModel, neighbours: str | None) -> Iterator[Problem]:
        given = {key for key in release.given_keys() if key not in _ANY_METHOD}
        for key in self.required:
            if key not in given:
                fix = f"method {self.name} needs it" + ", as a number" * (key == "k")
                yield Problem(("release",), f"the key '{key}' is missing", None, None, fix)
        for key in sorted(given - set(self.keys)):
            no_price = key in _PROMISE and not self.pays
            fix = "it makes no differential promise: leave the key out" if no_price else "leave it out"
            yield Problem(("release", key), f"method {self.name} has no use for it", None, ", ".join(self.keys), fix)
        if release.repeat > 1 and not self.repeats:
            yield Problem(("release", "repeat"), f"method {self.name} cannot be repeated", str(release.repeat), "1")
        if neighbours is not None and neighbours not in self.neighbours:
            allowed = " or ".join(self.neighbours)
            fix = f"{self.reason}; set neighbours: {allowed}, or take another method"
            yield Problem(("neighbours",), f"method {self.name} does not hold for it", neighbours, allowed, fix)

    def _numbers(self, release: ReleaseModel) -> Iterator[Problem]:
        if release.k is not None and release.k < self.least_k:
            allowed = f"a whole number from {self.least_k} up"
            yield Problem(("release", "k"), "a class of one hides nobody", str(release.k), allowed)
        if release.t is not None and (release.t < 1) == self.ratio:
            allowed = "a ratio from 1 up" if self.ratio else "a distance above 0 and below 1"
            yield Problem(("release", "t"), "out of range", exact_text(release.t), allowed)
        if release.delta == 0 and self.positive_delta:
            fix = (
                "no class size and no sample reach delta 0; something far below one over the number of people is usual"
            )
            yield Problem(("release", "delta"), "out of range", "0", "a number above 0 and below 1", fix)
        if release.epsilon is not None and release.chosen + release.epsilon_total >= release.epsilon:
            path = ("release", "recoding") if release.recoding and release.recoding.epsilon else ("release", "views")
            yield Problem(
                path,
                "the choices cost all of epsilon and leave nothing for the release",
                exact_text(release.chosen + release.epsilon_total),
                f"below release.epsilon, {exact_text(release.epsilon)}",
                "it is a part of release.epsilon",
            )
        if release.recoding is not None and release.recoding.search is not None and not self.searches:
            fix = "what a search on the table gives away is in no differential promise; take choose, tree or levels"
            yield Problem(
                ("release", "recoding"), f"method {self.name} does not search", "search", "{levels: ...}", fix
            )
        if release.recoding is not None and release.recoding.epsilon and "recoding" in self.optional and not self.pays:
            fix = f"method {self.name} makes no differential promise: leave recoding out, or fix the levels"
            yield Problem(("release", "recoding"), "a private choice that nothing pays for", None, "{levels: ...}", fix)
        if release.grouping is not None and self.groupings and release.grouping not in self.groupings:
            allowed = " or ".join(self.groupings)
            yield Problem(("release", "grouping"), f"not a grouping of method {self.name}", release.grouping, allowed)
        if release.show is not None and self.shows and release.show not in self.shows:
            allowed = " or ".join(self.shows)
            yield Problem(("release", "show"), f"method {self.name} does not show it", release.show, allowed)

    def _domains(
        self, release: ReleaseModel, asked: Mapping[str, AttributeModel], attributes: Mapping[str, Attribute]
    ) -> Iterator[Problem]:
        """What is published has a domain that was declared, or that its hierarchy gives."""
        for name, attribute in attributes.items():
            if attribute.domain is None and self.needs_domain(release, attribute):
                yield Problem(
                    ("attributes", name),
                    f"no domain for a {attribute.role.value} attribute",
                    None,
                    "a domain, or a hierarchy that lists every value",
                    self.domain_advice(attribute),
                )
        if not any(one.is_published for one in asked.values()):
            yield Problem(("attributes",), "nothing to publish", fix="give an attribute the role quasi or confidential")
        if self.confidential and not any(one.role is Role.CONFIDENTIAL for one in asked.values()):
            wrong = f"method {self.name} protects a confidential attribute, and there is none"
            yield Problem(("attributes",), wrong, fix="give an attribute the role confidential")

    def _records(
        self, release: ReleaseModel, unit: UnitModel | None, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        """What only some methods ask of the records."""
        yield from ()


class SafeKMethod(Method):
    """Random sample, generalization, suppression below k: without a recoding it grows a tree, for a share of epsilon.

    Noisy counts may stand in the place of the rows, or beside them; then no sample is drawn, or the two share the promise.
    """

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        names = tuple(published)
        if not release.has_rows:
            return _fill_counts(release, names)
        update: dict[str, Any] = {}
        if release.total is not None and release.epsilon is not None:
            asked = release.total.epsilon
            paid = release.epsilon * TOTAL_SHARE if asked is None else asked
            update["total"] = release.total.model_copy(update={"epsilon": paid})
        if release.views is not None and release.views.show is not None:
            update["views"] = release.views.model_copy(update={"show": None})  # rows, as where nothing is said
        if release.counts is not None:
            counts = update["counts"] = release.counts.fill_counts(len(names))
            recoding = release.recoding or self.default_recoding(release)
            own = None if release.epsilon is None else release.epsilon * (1 - (counts.share or Fraction(0)))
            update["recoding"] = recoding.fill(own, names)  # its share is one of the rows' part
        return super().fill(release.model_copy(update=update), names)

    def default_recoding(self, release: ReleaseModel) -> RecodingModel:
        already = release.sampling is not None and release.sampling.already is not None
        return RecodingModel(levels={}) if already else RecodingModel(tree=TreeModel())

    def _numbers(self, release: ReleaseModel) -> Iterator[Problem]:
        yield from super()._numbers(release)
        if release.views is not None:
            yield from _of_rows_alone(release) if not release.has_rows else _of_counts_alone(release.views)
        if release.counts is not None:
            yield from _counts_beside_rows(release)
        if release.total is not None:
            yield from _total_beside_rows(release)

    def problems(
        self,
        release: ReleaseModel,
        neighbours: str | None,
        unit: UnitModel | None,
        asked: Mapping[str, AttributeModel],
        attributes: Mapping[str, Attribute],
    ) -> Iterator[Problem]:
        yield from super().problems(release, neighbours, unit, asked, attributes)
        if release.total is not None and release.total.epsilon == 0:
            yield from _public_total(neighbours, unit)


def _public_total(neighbours: str | None, unit: UnitModel | None) -> Iterator[Problem]:
    """The number of rows is published without noise only where it is the same for all neighbours: one row is replaced."""
    if (neighbours is not None and neighbours != "replace_one") or (unit is not None and unit.column is not None):
        wrong = "without noise the number of records tells whether somebody is among them"
        fix = "leave epsilon out, or give it a number above 0"
        yield Problem(("release", "total", "epsilon"), wrong, "0", "0 where unit: row and neighbours: replace_one", fix)


class SampleMethod(Method):
    """A plain random sample, at levels that are fixed in advance and a rate that the table decides."""

    @property
    def pays(self) -> bool:
        return False  # its epsilon is the sample's own, and does not add up with others

    def default_recoding(self, release: ReleaseModel) -> RecodingModel:
        return RecodingModel(levels={})

    def _numbers(self, release: ReleaseModel) -> Iterator[Problem]:
        yield from super()._numbers(release)
        if release.delta is not None and release.delta > LARGEST_DELTA:
            fix = "it is the probability that the sample breaks the promise; a hundredth or less is usual"
            yield Problem(("release", "delta"), "out of range", exact_text(release.delta), "at most 1/4", fix)
        if release.recoding is not None and release.recoding.levels is None and not release.recoding.epsilon:
            fix = "a plain sample pays for no private choice; `rare: generalize` takes coarser levels where they are needed"
            path = ("release", "recoding")
            yield Problem(path, "levels are fixed in advance", release.recoding.key, "{levels: ...}", fix)
        if release.rare_below is not None and (release.rare or "keep") in ("keep", "refuse"):
            allowed = "beside rare: drop, generalize or replace"
            yield Problem(("release", "rare_below"), "rare values are not treated", release.rare or "keep", allowed)
        if release.sampling is not None and release.sampling.prefer != "balance":
            fix = "leave it out: the largest rate that is safe is taken"
            yield Problem(
                ("release", "sampling", "prefer"), "there is nothing to prefer", release.sampling.prefer, fix=fix
            )

    def _records(
        self, release: ReleaseModel, unit: UnitModel | None, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        if unit is not None and (unit.max_rows or 1) > MOST_ROWS:
            wrong = "too many rows that may take other values together"
            yield Problem(("unit", "max_rows"), wrong, str(unit.max_rows), f"at most {MOST_ROWS:,}")


class SyntheticMethod(Method):
    """Noisy counts, and one table of rows that are nobody's, drawn from a model of them."""

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        asked = (
            release if release.views is not None else release.model_copy(update={"views": ViewsModel(every="pairs")})
        )
        drawn = (release.synthetic or SyntheticModel()).fill()
        return _fill_counts(asked.model_copy(update={"synthetic": drawn}), tuple(published))

    def _numbers(self, release: ReleaseModel) -> Iterator[Problem]:
        yield from super()._numbers(release)
        if release.views is not None:
            yield from _of_rows_alone(release)
        if release.views is not None and release.views.show == "rows":
            fix = "no row of the table is published; for rows, take method: safe-k"
            yield Problem(("release", "views", "show"), "method synthetic shows no rows", "rows", "counts", fix)


def _fill_counts(release: ReleaseModel, published: tuple[str, ...]) -> ReleaseModel:
    """A release of noisy counts alone with every default written out: nothing of it is about a sample."""
    update: dict[str, Any] = {"recoding": (release.recoding or RecodingModel(levels={})).fill(None, published)}
    if release.views is not None:
        update["views"] = release.views.fill_counts(len(published)).model_copy(
            update={"show": "counts", "allocation": None}
        )
    return release.model_copy(update=update)


def _of_rows_alone(release: ReleaseModel) -> Iterator[Problem]:
    """What belongs to sampled rows is not said of noisy counts."""
    keys = {
        "k": "no class is suppressed: every cell is published, with noise",
        "sampling": "no sample is drawn: every row is counted",
        "bound": "it is about a sample, and none is drawn",
    }
    for key, why in keys.items():
        if getattr(release, key) is not None and release.method == "safe-k":
            yield Problem(("release", key), f"not together with views that show counts: {why}", fix="leave it out")
    if release.repeat > 1 and release.method == "safe-k":
        wrong = "noisy counts are released once"
        fix = "two noisy counts are worth less than one at the whole promise"
        yield Problem(("release", "repeat"), wrong, str(release.repeat), "1", fix)
    if release.recoding is not None and release.recoding.paid is not None:
        yield Problem(
            ("release", "recoding"),
            "nothing is recoded by a choice where counts are shown",
            release.recoding.key,
            "{levels: ...}",
            "leave it out: `cells: merged` finds out which cells are worth telling apart",
        )
    views = release.views
    if views is not None and views.allocation is not None:
        yield Problem(
            ("release", "views", "allocation"),
            "all noisy tables are equally precise",
            views.allocation,
            fix="leave it out",
        )
    if views is not None:
        yield from free_choice(("release", "views"), views)


def free_choice(path: tuple[str | int, ...], asked: GroupsModel) -> Iterator[Problem]:
    """A choice among noisy counts has no price of its own: the plan shares the promise out."""
    if asked.choose is not None and asked.choose.epsilon is not None:
        yield Problem(
            (*path, "choose", "epsilon"),
            "the choice of noisy counts has no price of its own",
            exact_text(asked.choose.epsilon),
            fix="leave it out: the plan shares the promise out between the scores and the counts",
        )


def _of_counts_alone(views: ViewsModel) -> Iterator[Problem]:
    """What belongs to noisy counts is not said of sampled rows, and a choice of views of rows has its price and number."""
    fix = "say show: counts, or leave it out"
    for key in ("adapt", "cells", "singles"):
        if getattr(views, key) is not None:
            yield Problem(("release", "views", key), "only views that show counts have it", None, "show: counts", fix)
    for key in ("epsilon", "count") if views.choose is not None else ():
        if getattr(views.choose, key) is None:
            meaning = ChosenViewsModel.model_fields[key].description
            path = ("release", "views", "choose")
            yield Problem(path, f"the key '{key}' is missing", fix=f"add it: {meaning}")


def _total_beside_rows(release: ReleaseModel) -> Iterator[Problem]:
    """A noisy total stands beside rows of a sample that is drawn, where no noisy counts tell the total."""
    if release.noisy_counts is not None:
        wrong = "noisy counts tell how many records there are"
        yield Problem(("release", "total"), wrong, fix="leave `total` out: their sum is one")
    elif release.sampling is not None and release.sampling.already is not None:
        wrong = "not together with a table that is itself a sample: nothing else may ever be computed from it"
        yield Problem(("release", "total"), wrong, fix="leave `total` out")


def _counts_beside_rows(release: ReleaseModel) -> Iterator[Problem]:
    """Rows and counts share one promise: one release, from the whole table."""
    path: tuple[str | int, ...] = ("release", "counts")
    if not release.has_rows:
        fix = "name all tables in `views`, or publish rows"
        yield Problem(path, "beside views that show counts there are no rows", None, "one of the two", fix)
        return
    if release.repeat > 1:
        yield Problem(("release", "repeat"), "rows with counts are released once", str(release.repeat), "1")
    if release.sampling is not None and release.sampling.already is not None:
        wrong = "not together with a table that is itself a sample: nothing else may ever be computed from it"
        yield Problem(path, wrong, fix="leave `counts` out")
    if release.counts is not None:
        yield from free_choice(path, release.counts)


class ClusterMethod(Method):
    """Clusters of near records: one row of each person, no domains needed, and nothing but counts is claimed."""

    def needs_domain(self, release: ReleaseModel, attribute: Attribute) -> bool:
        """Near records are compared with each other, so only fixed corners and declared orders ask for a domain."""
        fixed_corner = attribute.role is Role.QUASI and release.grouping == "insensitive"
        return super().needs_domain(release, attribute) and (attribute.type is Type.ORDINAL or fixed_corner)

    def domain_advice(self, attribute: Attribute) -> str:
        ordered = attribute.type is Type.ORDINAL
        return "declare its values in their order" if ordered else super().domain_advice(attribute)

    def ranks_alone(self, release: ReleaseModel) -> bool:
        """Whether each confidential attribute is ranked by itself, without quasi-identifiers."""
        return False

    def _records(
        self, release: ReleaseModel, unit: UnitModel | None, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        roles = [one.role for one in attributes.values()]
        alone, grouping = self.ranks_alone(release), release.grouping or "mdav"
        if Role.QUASI not in roles and not alone and any(one.is_published for one in attributes.values()):
            wrong = "no quasi-identifier: there is nothing to tell who is near whom"
            yield Problem(("attributes",), wrong, fix="give an attribute the role quasi")
        yield from self._groupings(release, grouping, attributes)
        if (release.l or release.t) and Role.CONFIDENTIAL not in roles and not self.confidential:
            key = "l" if release.l else "t"
            yield Problem(
                ("release", key), "there is no confidential attribute", fix="give an attribute the role confidential"
            )
        if release.t and alone:
            fix = "groups of like ranks lie far from the whole table by design; ask for l, or take grouping: mdav"
            yield Problem(("release", "t"), "not together with grouping: ranking", exact_text(release.t), "no t", fix)
        if release.gain is not None and grouping != "vmdav":
            yield Problem(("release", "gain"), "only groups of variable size grow", grouping, "grouping: vmdav")
        for name in release.crowds or {}:
            if name not in attributes:
                yield no_attribute(("release", "crowds", name), name, attributes)
            elif attributes[name].role is not Role.CONFIDENTIAL:
                role, fix = attributes[name].role.value, "crowds are for confidential attributes, each ranked by itself"
                yield Problem(("release", "crowds", name), "not a confidential attribute", role, "confidential", fix)
        if unit is not None and (unit.max_rows or 1) > 1:
            wrong = "a group of k rows hides no unit when several of them are one unit's"
            yield Problem(
                ("unit", "max_rows"), wrong, str(unit.max_rows), "1", f"method {self.name} needs one row each"
            )

    def _groupings(
        self, release: ReleaseModel, grouping: str, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        """What the grouping does not fit."""
        yield from ()


class MicroaggregationMethod(ClusterMethod):
    """Everybody in a cluster shows the same quasi-identifiers."""

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        found = super().fill(release, published)
        covers = release.show is None and release.grouping in ("mondrian", "strict_mondrian")
        return found.model_copy(update={"show": "label"}) if covers else found

    def _groupings(
        self, release: ReleaseModel, grouping: str, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        quasi = [one.role for one in attributes.values()].count(Role.QUASI)
        if grouping in ("ranking", "optimal") and quasi > 1:
            fix = "records that share a group of one attribute need not share another's; take grouping: mdav"
            yield Problem(("release", "grouping"), f"{grouping} is for one quasi-identifier", str(quasi), "1", fix)


class ProbabilisticKMethod(ClusterMethod):
    """Confidential values are permuted inside clusters."""

    def ranks_alone(self, release: ReleaseModel) -> bool:
        return release.grouping == "ranking"

    def _groupings(
        self, release: ReleaseModel, grouping: str, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        if release.crowds is not None and not self.ranks_alone(release):
            yield Problem(
                ("release", "crowds"), "only attributes ranked alone have their own k", grouping, "grouping: ranking"
            )


class FullDomainMethod(Method):
    """One level for each quasi-identifier, searched for on the table; classes that fail a criterion are suppressed."""

    def default_recoding(self, release: ReleaseModel) -> RecodingModel:
        return RecodingModel(search=SearchModel())

    def needs_domain(self, release: ReleaseModel, attribute: Attribute) -> bool:
        """Labels are made of declared values; other columns show the values that occur, unless their order is declared."""
        return attribute.role is Role.QUASI or (
            attribute.type is Type.ORDINAL and super().needs_domain(release, attribute)
        )

    def _numbers(self, release: ReleaseModel) -> Iterator[Problem]:
        yield from super()._numbers(release)
        recoding, criteria = release.recoding, release.criteria
        if recoding is not None and recoding.paid is not None and not recoding.epsilon:
            fix = f"method {self.name} makes no differential promise: leave recoding out, search, or fix the levels"
            allowed = "search or {levels: ...}"
            yield Problem(("release", "recoding"), "a private choice that nothing pays for", recoding.key, allowed, fix)
        search = recoding.search if recoding is not None else None
        for name in (search.levels or {}) if search is not None else {}:
            for key in ("finest", "coarsest"):
                if search is not None and name in (getattr(search, key) or {}):
                    twice = ("release", "recoding", "search", key, name)
                    yield Problem(twice, "its level is fixed already", fix="leave it out of one of the two")
        if criteria is not None and criteria.distance is not None and release.t is None:
            path = ("release", "criteria", "distance")
            yield Problem(path, "a distance without t", criteria.distance, "t beside it", "add t, or leave it out")

    def _records(
        self, release: ReleaseModel, unit: UnitModel | None, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        roles = [one.role for one in attributes.values()]
        if Role.QUASI not in roles and any(one.is_published for one in attributes.values()):
            wrong = "no quasi-identifier: all records look alike already"
            yield Problem(("attributes",), wrong, fix="give an attribute the role quasi")
        if Role.CONFIDENTIAL not in roles:
            fix = "give an attribute the role confidential, or leave the criterion out"
            asked: list[tuple[str, ...]] = [(key,) for key in ("l", "t") if getattr(release, key) is not None]
            asked += [("criteria", key) for key in (release.criteria.of_values if release.criteria else ())]
            for keys in asked:
                yield Problem(("release", *keys), "there is no confidential attribute", fix=fix)
        for path, levels in _levels_of(release.recoding):
            for name in levels:
                if name in attributes and attributes[name].is_published and attributes[name].role is not Role.QUASI:
                    wrong, role = "only quasi-identifiers are recoded", attributes[name].role.value
                    yield Problem((*path, name), wrong, role, "quasi", "leave it out, or give it the role quasi")
        if unit is not None and (unit.max_rows or 1) > 1:
            wrong = "a class of k rows hides no unit when several of them are one unit's"
            fix = f"method {self.name} needs one row each"
            yield Problem(("unit", "max_rows"), wrong, str(unit.max_rows), "1", fix)

    def _domains(
        self, release: ReleaseModel, asked: Mapping[str, AttributeModel], attributes: Mapping[str, Attribute]
    ) -> Iterator[Problem]:
        yield from super()._domains(release, asked, attributes)
        distance = release.criteria.distance if release.criteria is not None else None
        for name, attribute in attributes.items():
            if attribute.role is not Role.CONFIDENTIAL or release.t is None:
                continue
            ordered = attribute.type.numeric or attribute.type is Type.ORDINAL
            if distance == "ordered" and not ordered:
                fix = "declare it as ordinal, or take distance: equal"
                path = ("release", "criteria", "distance")
                yield Problem(path, f"the values of '{name}' have no order", attribute.type.value, None, fix)
            if distance == "hierarchical" and attribute.hierarchy is None:
                fix = f"declare attributes.{name}.hierarchy, or take distance: equal"
                yield Problem(("release", "criteria", "distance"), f"'{name}' has no hierarchy", None, None, fix)


def _levels_of(recoding: RecodingModel | None) -> Iterator[tuple[tuple[str, ...], Mapping[str, int]]]:
    """Every mapping of attributes to levels, with the path of its key."""
    if recoding is not None and recoding.levels is not None:
        # Level 0 leaves values as they are: naming it says nothing else of an attribute that is not recoded.
        yield ("release", "recoding", "levels"), {name: level for name, level in recoding.levels.items() if level}
    if recoding is not None and recoding.search is not None:
        for key in ("levels", "finest", "coarsest"):
            yield ("release", "recoding", "search", key), getattr(recoding.search, key) or {}


class TClosenessMethod(ClusterMethod):
    """Confidential values in buckets, and groups that hold every bucket about as often as the table."""

    def needs_domain(self, release: ReleaseModel, attribute: Attribute) -> bool:
        """A bucket of names lists all declared ones, so that it does not say which of them occur; ordered ones have an order."""
        named = (
            attribute.role is Role.CONFIDENTIAL and not attribute.type.numeric and attribute.type is not Type.BOOLEAN
        )
        return super().needs_domain(release, attribute) or (named and release.show != "value")

    def domain_advice(self, attribute: Attribute) -> str:
        if attribute.role is not Role.CONFIDENTIAL:
            return super().domain_advice(attribute)
        return "list its values, or give a hierarchy that has them all"

    def _domains(
        self, release: ReleaseModel, asked: Mapping[str, AttributeModel], attributes: Mapping[str, Attribute]
    ) -> Iterator[Problem]:
        yield from super()._domains(release, asked, attributes)
        for name, attribute in attributes.items():
            if (
                isinstance(attribute.domain, Pattern)
                and attribute.role is Role.CONFIDENTIAL
                and release.show != "value"
            ):
                wrong = "a confidential attribute whose values are not listed"
                fix = "buckets list the values they hold: list them, or give a hierarchy that has them all"
                yield Problem(("attributes", name, "domain"), wrong, "a pattern", "a list of values", fix)

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        least = None if release.t is None else int(release.t) + 1
        return super().fill(release.model_copy(update={"k": release.k or least}), published)


class AnatomyMethod(ClusterMethod):
    """Confidential values in a table of their own, linked by groups in which none is frequent, or all are alike."""

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        return super().fill(release.model_copy(update={"k": release.k or release.l}), published)

    def _keys(self, release: ReleaseModel, neighbours: str | None) -> Iterator[Problem]:
        yield from super()._keys(release, neighbours)
        needed = "k" if release.grouping == "confidential" else "l"
        if getattr(release, needed) is None:
            how = "grouping: confidential" if needed == "k" else "method anatomy"
            fix = f"{how} needs it" + ("" if needed == "k" else ", or say grouping: confidential with k")
            yield Problem(("release",), f"the key '{needed}' is missing", None, None, fix)

    def _records(
        self, release: ReleaseModel, unit: UnitModel | None, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        yield from super()._records(release, unit, attributes)
        secret = [name for name, one in attributes.items() if one.role is Role.CONFIDENTIAL]
        if release.l is not None and len(secret) > 1:
            fix = "give the others another role, or take method: t-closeness"
            wrong = "l is for one confidential attribute"
            yield Problem(("release", "l"), wrong, excerpt(", ".join(secret)), "one confidential attribute", fix)


_OF_CLUSTERS = {
    "rows": "the number of rows is not public here, and is published with noise",
    "k": "boxes have no least size: how many rows are in one is noisy",
    "corners": "boxes need no order of records",
    "noise": "every box has the noise of least expected size",
    "calibration": "noise is always for the whole data set",
}
"""The keys that are about clusters of fixed size, and why boxes have no use for them."""


class CentroidsMethod(Method):
    """DP microaggregation: boxes that are halved where records are, or clusters of fixed size that one record barely changes.

    Clusters are about one row that replaces another, so their number of rows is public; boxes are about any unit.
    """

    def grouping(self, release: ReleaseModel) -> str:
        """How records are grouped, where the policy does not say it too."""
        return release.grouping or str(self.defaults["grouping"])

    def fill(self, release: ReleaseModel, published: Iterable[str]) -> ReleaseModel:
        if self.grouping(release) == "boxes":
            return release.model_copy(update={"grouping": "boxes", "delta": Fraction(0)})
        names = tuple(published)
        filled = super().fill(release, names)
        if filled.grouping != "insensitive" or filled.corners is not None:
            return filled
        # A single order, whose noise is half; the thesis' calibration has its corners, all of them.
        every = min(MOST_CORNERS, 2 ** min(len(names), 30))
        return filled.model_copy(update={"corners": every if filled.calibration == "per_record" else 1})

    def _keys(self, release: ReleaseModel, neighbours: str | None) -> Iterator[Problem]:
        if self.grouping(release) == "boxes":
            yield from super()._keys(release, None)
            return
        yield from super()._keys(release, neighbours)
        if release.rows is None:
            fix = "add it: neighbours replace a row, so the number of rows is public and the plan counts on it"
            yield Problem(("release",), "the key 'rows' is missing", None, "a whole number", fix)

    def _numbers(self, release: ReleaseModel) -> Iterator[Problem]:
        yield from super()._numbers(release)
        if self.grouping(release) == "boxes":
            yield from self._of_boxes(release)
        else:
            yield from self._of_clusters(release)

    def _of_boxes(self, release: ReleaseModel) -> Iterator[Problem]:
        """What belongs to clusters of fixed size is not said of boxes."""
        for key, why in _OF_CLUSTERS.items():
            if getattr(release, key) is not None:
                fix = "leave it out, or take grouping: insensitive or ranking, with rows: and neighbours: replace_one"
                yield Problem(("release", key), f"not with grouping: boxes: {why}", None, None, fix)
        if release.delta:
            fix = "leave it out: the promise is a pure epsilon"
            yield Problem(("release", "delta"), "not with grouping: boxes", exact_text(release.delta), "0", fix)

    def _of_clusters(self, release: ReleaseModel) -> Iterator[Problem]:
        """What clusters of fixed size ask for."""
        rows, grouping, noise = release.rows, self.grouping(release), release.noise or "auto"
        if rows is not None and rows < 2 * self.least_k:
            fix = "two clusters of two records are the least; publish a table with more rows"
            yield Problem(("release", "rows"), "too few rows", f"{rows:,}", f"at least {2 * self.least_k}", fix)
        elif rows is not None and release.k is not None and release.k > rows // 2:
            fix = "there are at least two clusters; take a smaller k, or leave it out"
            yield Problem(("release", "k"), "above half of the rows", f"{release.k:,}", f"at most {rows // 2:,}", fix)
        if noise == "gaussian" and not release.delta:
            fix = "give a delta above 0, or take noise: laplace or optimal"
            yield Problem(("release", "noise"), "Gaussian noise promises no pure epsilon", "delta: 0", None, fix)
        if release.corners is not None and grouping != "insensitive":
            wrong = "corners are for grouping: insensitive"
            yield Problem(("release", "corners"), wrong, grouping, "grouping: insensitive", "leave it out")
        if release.calibration == "per_record":
            yield from self._per_record(release, grouping, noise)

    def _per_record(self, release: ReleaseModel, grouping: str, noise: str) -> Iterator[Problem]:
        """The calibration of the thesis has its grouping, its noise and its k."""
        wrong = "not with calibration: per_record"
        fix = "it reproduces the thesis and nothing else; leave the key out, or take calibration: whole"
        if grouping != "insensitive":
            yield Problem(("release", "grouping"), wrong, grouping, "insensitive", fix)
        if noise not in ("auto", "laplace"):
            yield Problem(("release", "noise"), wrong, noise, "laplace", fix)
        if release.delta:
            yield Problem(("release", "delta"), wrong, exact_text(release.delta), "0", fix)
        if release.k is None:
            yield Problem(("release",), "the key 'k' is missing", None, None, "calibration: per_record needs it")

    def _domains(
        self, release: ReleaseModel, asked: Mapping[str, AttributeModel], attributes: Mapping[str, Attribute]
    ) -> Iterator[Problem]:
        yield from super()._domains(release, asked, attributes)
        published = [one for one in attributes.values() if one.role not in (Role.IDENTIFIER, Role.DROP)]
        for attribute in published:
            path = ("attributes", attribute.name)
            if isinstance(attribute.domain, Pattern):
                fix = "list its values, or give a hierarchy that has them all"
                wrong = "a centroid is one of the declared values, and they are not listed"
                yield Problem((*path, "domain"), wrong, "a pattern", "a list of values", fix)
            if attribute.missing is Missing.VALUE:
                fix = "a missing value has no centroid: set missing: refuse, and treat or leave out records without a value"
                yield Problem((*path, "missing"), "values may be missing", "value", "refuse", fix)
            if attribute.outside is Outside.SUPPRESS:
                fix = "a missing value has no centroid: take outside: clamp, or error"
                yield Problem((*path, "outside"), "values may become missing", "suppress", "clamp or error", fix)
            if release.grouping == "ranking" and not (attribute.type.numeric or attribute.type is Type.ORDINAL):
                fix = "declare it as ordinal, give it the role drop, or take grouping: insensitive"
                wrong = "its values have no order, so they are not ranked"
                yield Problem((*path, "type"), wrong, attribute.type.value, "a number, a date or ordinal", fix)
        if release.corners is not None and release.corners > 2 ** min(len(published), 30):
            allowed = f"at most {2 ** len(published)}"
            wrong = "more corners than the declared domain has"
            yield Problem(("release", "corners"), wrong, str(release.corners), allowed)

    def _records(
        self, release: ReleaseModel, unit: UnitModel | None, attributes: Mapping[str, AttributeModel]
    ) -> Iterator[Problem]:
        grouping = self.grouping(release)
        if unit is not None and (unit.max_rows or 1) > 1 and grouping != "boxes":
            wrong = "one unit replaced changes each cluster by one record only where it has one row"
            fix = f"grouping: {grouping} needs one row each: 1 keeps one of each person's rows at random; boxes take any number"
            yield Problem(("unit", "max_rows"), wrong, str(unit.max_rows), "1", fix)


def no_attribute(path: tuple[str | int, ...], name: str, attributes: Mapping[str, AttributeModel]) -> Problem:
    """A key names an attribute that the policy does not have."""
    known = tuple(attributes)
    return Problem(path, "no such attribute", excerpt(name), excerpt(", ".join(known)), nearest(name, known))


_ALL = (
    SafeKMethod(
        "safe-k",
        ("epsilon", "delta"),
        ("k", "recoding", "views", "counts", "total", "sampling", "bound"),
        plan="differential",
        least_k=1,
        positive_delta=True,
        whole_tuple=True,
        repeats=True,
        takes_drawn_sample=True,
        defaults={"bound": "tight"},
    ),
    SampleMethod(
        "sample",
        ("epsilon", "delta"),
        ("recoding", "rare", "rare_below", "sampling", "bound"),
        plan="syntactic",
        neighbours=("replace_one",),
        reason="the theorems of a plain sample are about rows that take another value",
        positive_delta=True,
        whole_tuple=True,
        defaults={"bound": "tight", "rare": "keep"},
    ),
    FullDomainMethod(
        "k-anonymity",
        ("k",),
        ("l", "t", "criteria", "recoding", "suppression"),
        plan="syntactic",
        ratio=False,
        searches=True,
        defaults={"suppression": Fraction(0)},
    ),
    MicroaggregationMethod(
        "microaggregation",
        ("k",),
        ("grouping", "show", "gain", "l", "t"),
        plan="syntactic",
        groupings=("mdav", "vmdav", "approx", "ranking", "optimal", "insensitive", "mondrian", "strict_mondrian"),
        shows=("centroid", "median", "label"),
        ratio=False,
        defaults={"grouping": "mdav", "show": "centroid"},
    ),
    ProbabilisticKMethod(
        "probabilistic-k",
        ("k",),
        ("grouping", "crowds", "gain", "l", "t"),
        plan="syntactic",
        confidential=True,
        groupings=("mdav", "vmdav", "approx", "ranking", "insensitive"),
        ratio=False,
        defaults={"grouping": "mdav"},
    ),
    TClosenessMethod(
        "t-closeness",
        ("t",),
        ("k", "form", "show", "grouping"),
        plan="syntactic",
        confidential=True,
        groupings=("near", "random"),
        shows=("bucket", "value"),
        defaults={"form": "linked", "show": "bucket", "grouping": "near"},
    ),
    AnatomyMethod(
        "anatomy",
        (),
        ("l", "k", "grouping", "form"),
        plan="syntactic",
        confidential=True,
        groupings=("random", "confidential"),
        defaults={"form": "linked", "grouping": "random"},
    ),
    CentroidsMethod(
        "dp-microaggregation",
        ("epsilon",),
        ("delta", "k", "rows", "grouping", "corners", "noise", "calibration"),
        plan="differential",
        neighbours=("replace_one",),
        reason="one record replaced moves each cluster by one record; a record more or less can move the last one whole",
        whole_tuple=True,
        groupings=("boxes", "insensitive", "ranking"),
        defaults={"delta": Fraction(0), "grouping": "boxes", "noise": "auto", "calibration": "whole"},
    ),
    SyntheticMethod(
        "synthetic",
        ("epsilon", "delta"),
        ("views", "recoding", "synthetic"),
        plan="differential",
        positive_delta=True,
        whole_tuple=True,
    ),
)

METHODS: Mapping[MethodName, Method] = {method.name: method for method in _ALL}
"""Every method of the closed list, by its name."""


MOST_COLUMNS = 4
"""Of so many columns one wide table is published where the policy does not say what; of more, noisy counts."""
_SHAPES = ("k", "recoding", "views", "counts", "total", "sampling", "bound", "synthetic")
"""The keys that say what is published: with one of them, nothing is added."""


def settle_method(release: ReleaseModel, published: int) -> ReleaseModel:
    """The release with its method written out, where the policy names none; it follows from the number of published columns.

    A wide table of many columns tells little apart at any epsilon in use, so from five columns on tables of noisy counts are
    published (decision 0009).
    """
    if release.method is not None or release.epsilon is None:
        return release
    update: dict[str, Any] = {"method": "synthetic" if release.synthetic is not None else "safe-k"}
    if published > MOST_COLUMNS and release.repeat == 1 and not any(getattr(release, key) for key in _SHAPES):
        update["views"] = ViewsModel(show="counts", every="pairs")
    return release.model_copy(update=update)


def method_of(release: ReleaseModel) -> Method:
    """The method that a release asks for; `settle_method` has written it out where it was left out."""
    return METHODS[release.method or "safe-k"]
