"""What one key says about another: everything that a policy can get wrong although each key is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import comb

from shoal.data.domain import Values
from shoal.data.schema import NAMING, Attribute, Outside, Role
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.attribute import AttributeAsked
from shoal.policy.model.file import BudgetAsked, UnitAsked
from shoal.policy.model.file_format import FileAsked
from shoal.policy.model.method import method_of, no_attribute
from shoal.policy.model.recoding import Choose, Recoding
from shoal.policy.model.release import ReleaseAsked, Sampling
from shoal.policy.model.views import EVERY, Views
from shoal.policy.text.problem import Problem, shown


def unit(asked: UnitAsked, attributes: Mapping[str, AttributeAsked]) -> Iterator[Problem]:
    """The unit's column is there, it is an identifier, and reading it cannot merge two people."""
    if asked.column is None:
        return
    path = ("unit", "column")
    if asked.column not in attributes:
        yield no_attribute(path, asked.column, attributes)
    elif attributes[asked.column].role is not Role.IDENTIFIER:
        role = attributes[asked.column].role.value
        yield Problem(
            path,
            "the column that names a person is not an identifier",
            f"{asked.column} with role {role}",
            "an attribute with role: identifier",
            f"set attributes.{asked.column}.role: identifier",
        )
    elif attributes[asked.column].type not in (None, *NAMING):
        kind = attributes[asked.column].type
        yield Problem(
            ("attributes", asked.column, "type"),
            "values of this type do not name people: two names may be read as one value, and several people become one",
            None if kind is None else kind.value,
            ", ".join(sorted(each.value for each in NAMING)),
            "leave the type out: an identifier is text",
        )
    elif attributes[asked.column].outside is not Outside.ERROR:
        yield Problem(
            ("attributes", asked.column, "outside"),
            "names that lie outside their domain would become one name, and several people one",
            attributes[asked.column].outside.value,
            "error",
            "leave it out, or widen the domain",
        )


def missing_codes(file: FileAsked, attributes: Mapping[str, Attribute]) -> Iterator[Problem]:
    """A text is either a missing value or a declared one."""
    for name, attribute in attributes.items():
        listed = attribute.domain.index if isinstance(attribute.domain, Values) else {}
        for code in file.missing:
            if code in listed:
                yield Problem(
                    ("file", "missing"),
                    f"a missing code is a declared value of attribute '{name}'",
                    shown(code),
                    fix="keep it in one of the two",
                )


def recoding(
    asked: Recoding, attributes: Mapping[str, AttributeAsked], schema: Mapping[str, Attribute]
) -> Iterator[Problem]:
    """Levels name published attributes, and levels that their hierarchies have; what is chosen has room to choose."""
    named: list[tuple[tuple[str, ...], Mapping[str, int]]] = [(("levels",), asked.levels or {})]
    if asked.paid is not None:
        finest, coarsest = asked.paid.finest or {}, asked.paid.coarsest or {}
        named += [((asked.key, "finest"), finest), ((asked.key, "coarsest"), coarsest)]
        for name in finest:
            if finest[name] > coarsest.get(name, finest[name]):
                allowed = f"at most `coarsest`, {coarsest[name]}"
                path = ("release", "recoding", asked.key, "finest", name)
                yield Problem(path, "finer and coarser than it may be at once", str(finest[name]), allowed)
    for keys, levels in named:
        yield from _levels(("release", "recoding", *keys), levels, attributes, schema)
    if asked.choose is not None:
        yield from _target(asked.choose, attributes)


def chosen_in_views(release: ReleaseAsked) -> Iterator[Problem]:
    """A target is in some views and not in others, so no view's recoding is chosen for it."""
    choose = release.recoding.choose if release.recoding is not None else None
    if release.views is not None and choose is not None and choose.score == "target":
        path = ("release", "recoding", "choose", "score")
        yield Problem(
            path, "not together with views: most views lack the target", "target", "ramp, records, discernibility"
        )


def _target(asked: Choose, attributes: Mapping[str, AttributeAsked]) -> Iterator[Problem]:
    """The score `target` has one, and the others have none."""
    path = ("release", "recoding", "choose", "target")
    if (asked.score == "target") != (asked.target is not None):
        fix = "score: target and target: NAME belong together"
        yield Problem(path, "a target without its score, or the score without a target", asked.target, None, fix)
    elif asked.target is not None and asked.target not in attributes:
        yield no_attribute(path, asked.target, attributes)
    elif asked.target is not None and not attributes[asked.target].published:
        yield Problem(path, "never published", attributes[asked.target].role.value, fix="name a published attribute")


def _levels(
    where: tuple[str, ...],
    levels: Mapping[str, int],
    attributes: Mapping[str, AttributeAsked],
    schema: Mapping[str, Attribute],
) -> Iterator[Problem]:
    for name, level in levels.items():
        path = (*where, name)
        if name not in attributes:
            yield no_attribute(path, name, attributes)
        elif not attributes[name].published:
            yield Problem(path, "never published", attributes[name].role.value, fix="leave it out")
        elif name in schema and level > 0:
            hierarchy = schema[name].hierarchy
            top = len(hierarchy.levels) - 1 if hierarchy else 0
            if level > top:
                fix = None if hierarchy else f"it has no hierarchy: declare attributes.{name}.hierarchy"
                yield Problem(path, "no such level", str(level), f"0..{top}" if top else "0", fix)


def views(asked: Views, attributes: Mapping[str, AttributeAsked]) -> Iterator[Problem]:
    """Views name published attributes; groups hold each once, and all of them."""
    published = {name for name, one in attributes.items() if one.published}
    for key, groups in asked.named:
        seen: set[str] = set()
        for i, group in enumerate(groups):
            for j, name in enumerate(group):
                path = ("release", "views", key, i, j)
                if name not in attributes:
                    yield no_attribute(path, name, attributes)
                elif name not in published:
                    yield Problem(
                        path, "never published", f"{name} ({attributes[name].role.value})", fix="leave it out"
                    )
                elif name in group[:j] or (key == "groups" and name in seen):
                    yield Problem(path, "an attribute is named twice", name, fix="name it once")
            seen.update(group)
            if group and any(set(group) == set(other) for other in groups[:i]):
                twice = shown(", ".join(group))
                yield Problem(("release", "views", key, i), "a view is named twice", twice, fix="name it once")
            if not group:
                yield Problem(("release", "views", key, i), "an empty view", fix="name an attribute, or leave it out")
        if not groups:
            yield Problem(("release", "views", key), "no view at all", fix="leave `views` out for one table")
        if key == "groups" and groups and (left := published - seen):
            fix = "add it to a group; a workload may leave attributes out"
            yield Problem(
                ("release", "views", key), "an attribute is in no group", shown(", ".join(sorted(left))), fix=fix
            )
    yield from _width(asked, len(published))


def _width(asked: Views, published: int) -> Iterator[Problem]:
    """There are as many attributes as a view has, and as many views as are asked for."""
    width = EVERY.index(asked.every) + 1 if asked.every else (asked.choose.width or 2) if asked.choose else 0
    if width > published:
        yield Problem(("release", "views"), f"fewer than {width} published attributes", str(published))
    elif asked.choose is not None and asked.choose.count > comb(published, width):
        most = f"at most {comb(published, width):,}"
        yield Problem(
            ("release", "views", "choose", "count"), "more views than there are", str(asked.choose.count), most
        )
    if asked.choose is not None and asked.allocation == "weighted":
        fix = "which views are published is not known when the promise is shared out"
        yield Problem(("release", "views", "allocation"), "not together with `choose`", "weighted", "equal", fix)


def sampling(asked: Sampling, release: ReleaseAsked) -> Iterator[Problem]:
    """A table that is itself a sample can be published once, by levels fixed in advance; a rate exceeds delta."""
    path = ("release", "sampling")
    if asked.already is not None:
        fixed = release.recoding is None or release.recoding.levels is not None
        reasons = (
            (
                not fixed,
                "recoding",
                "a private choice would look at the published sample, which theorem eps-safe-recoding forbids",
                "recoding: {levels: ...}",
            ),
            (release.views is not None, "views", "each view needs its own sample, and there is one", "no views"),
            (release.repeat > 1, "repeat", "a sample can be published once", "repeat: 1"),
            (
                not method_of(release).takes_drawn_sample,
                "method",
                "only safe-k accepts a sample as it is",
                "method: safe-k",
            ),
        )
        for wrong, key, why, allowed in reasons:
            if wrong:
                yield Problem((*path, "already"), f"not together with release.{key}: {why}", None, allowed)
    rate = asked.already if asked.already is not None else asked.beta
    if isinstance(rate, Fraction) and release.delta is not None and rate <= release.delta:
        key = "already" if asked.already is not None else "beta"
        allowed = f"above delta, {exact_text(release.delta)}"
        yield Problem(
            (*path, key), "the rate does not exceed delta, so the promise is empty", exact_text(rate), allowed
        )


def budget(asked: BudgetAsked, release: ReleaseAsked) -> Iterator[Problem]:
    """The ceiling of the dataset is not below its first release."""
    pairs = (("epsilon", asked.epsilon, release.epsilon), ("delta", asked.delta, release.delta))
    for key, ceiling, cost in pairs:
        if cost is not None and ceiling < cost:
            allowed = f"at least release.{key}, {exact_text(cost)}"
            yield Problem(("budget", key), "the budget is below the release", exact_text(ceiling), allowed)
