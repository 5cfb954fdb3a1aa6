"""What one key says about another: everything that a policy can get wrong although each key is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import comb

from shoal.data.domain import Values
from shoal.data.schema import NAMING, Attribute, Outside, Role, Type
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.attribute import AttributeAsked
from shoal.policy.model.file import BudgetAsked, UnitAsked
from shoal.policy.model.file_format import FileAsked
from shoal.policy.model.method import NEEDS, Needs
from shoal.policy.model.recoding import Choose, Recoding
from shoal.policy.model.release import ReleaseAsked, Sampling
from shoal.policy.model.views import EVERY, Views
from shoal.policy.text.problem import Problem, nearest, shown


def unit(asked: UnitAsked, attributes: Mapping[str, AttributeAsked]) -> Iterator[Problem]:
    """The unit's column is there, it is an identifier, and reading it cannot merge two people."""
    if asked.column is None:
        return
    path = ("unit", "column")
    if asked.column not in attributes:
        yield _no_attribute(path, asked.column, attributes)
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


def domains(
    release: ReleaseAsked, asked: Mapping[str, AttributeAsked], attributes: Mapping[str, Attribute]
) -> Iterator[Problem]:
    """What is published has a domain that was declared, or that its hierarchy gives."""
    needs = NEEDS[release.method]
    roles = (Role.QUASI, Role.CONFIDENTIAL, *((Role.OTHER, Role.WEIGHT) if needs.whole_tuple else ()))
    for name, attribute in attributes.items():
        if attribute.role in roles and attribute.domain is None and _needs_domain(release, attribute):
            yield Problem(
                ("attributes", name),
                f"no domain for a {attribute.role.value} attribute",
                None,
                "a domain, or a hierarchy that lists every value",
                "declare its values in their order"
                if needs.near and attribute.type is Type.ORDINAL
                else f"declare what may occur: method {release.method} may not read it off the data",
            )
    if not any(one.published for one in asked.values()):
        yield Problem(("attributes",), "nothing to publish", fix="give an attribute the role quasi or confidential")
    if needs.confidential and not any(one.role is Role.CONFIDENTIAL for one in asked.values()):
        wrong = f"method {release.method} protects a confidential attribute, and there is none"
        yield Problem(("attributes",), wrong, fix="give an attribute the role confidential")


def _needs_domain(release: ReleaseAsked, attribute: Attribute) -> bool:
    """Near records are compared with each other, so only fixed corners and declared orders ask for a domain."""
    if not NEEDS[release.method].near:
        return True
    quasi = attribute.role is Role.QUASI
    return attribute.type is Type.ORDINAL or (quasi and release.grouping == "insensitive")


def crowds(release: ReleaseAsked, who: UnitAsked | None, attributes: Mapping[str, AttributeAsked]) -> Iterator[Problem]:
    """Groups of near records: what they are made of, and whose they are."""
    if not NEEDS[release.method].near:
        return
    roles = [one.role for one in attributes.values()]
    quasi, grouping = roles.count(Role.QUASI), release.grouping or "mdav"
    alone = release.method == "probabilistic-k" and grouping == "ranking"
    if not quasi and not alone and any(one.published for one in attributes.values()):
        wrong = "no quasi-identifier: there is nothing to tell who is near whom"
        yield Problem(("attributes",), wrong, fix="give an attribute the role quasi")
    if release.method == "microaggregation" and grouping in ("ranking", "optimal") and quasi > 1:
        fix = "records that share a group of one attribute need not share another's; take grouping: mdav"
        yield Problem(("release", "grouping"), f"{grouping} is for one quasi-identifier", str(quasi), "1", fix)
    if (release.l or release.t) and Role.CONFIDENTIAL not in roles:
        key = "l" if release.l else "t"
        yield Problem(
            ("release", key), "there is no confidential attribute", fix="give an attribute the role confidential"
        )
    if release.t and alone:
        fix = "groups of like ranks lie far from the whole table by design; ask for l, or take grouping: mdav"
        yield Problem(("release", "t"), "not together with grouping: ranking", exact_text(release.t), "no t", fix)
    if release.gain is not None and grouping != "vmdav":
        yield Problem(("release", "gain"), "only groups of variable size grow", grouping, "grouping: vmdav")
    if release.crowds is not None and release.method == "probabilistic-k" and not alone:
        yield Problem(
            ("release", "crowds"), "only attributes ranked alone have their own k", grouping, "grouping: ranking"
        )
    for name in release.crowds or {}:
        if name not in attributes:
            yield _no_attribute(("release", "crowds", name), name, attributes)
        elif attributes[name].role is not Role.CONFIDENTIAL:
            role, fix = attributes[name].role.value, "crowds are for confidential attributes, each ranked by itself"
            yield Problem(("release", "crowds", name), "not a confidential attribute", role, "confidential", fix)
    if who is not None and (who.max_rows or 1) > 1:
        wrong = "a group of k rows hides no unit when several of them are one unit's"
        yield Problem(
            ("unit", "max_rows"), wrong, str(who.max_rows), "1", f"method {release.method} needs one row each"
        )


def method(release: ReleaseAsked, neighbours: str | None) -> Iterator[Problem]:
    """The method has the keys it needs and no others, and the relation that its theorem is about."""
    needs = NEEDS[release.method]
    given = {key for key in release.given() if key not in ("method", "output", "repeat")}
    for key in needs.required:
        if key not in given:
            yield Problem(("release",), f"the key '{key}' is missing", None, None, f"method {release.method} needs it")
    for key in sorted(given - {*needs.required, *needs.optional}):
        allowed = ", ".join((*needs.required, *needs.optional))
        yield Problem(("release", key), f"method {release.method} has no use for it", None, allowed, needs.why(key))
    if release.repeat > 1 and not needs.repeats:
        yield Problem(("release", "repeat"), f"method {release.method} cannot be repeated", str(release.repeat), "1")
    yield from _numbers(release, needs)
    if neighbours is not None and neighbours not in needs.neighbours:
        allowed = " or ".join(needs.neighbours)
        fix = f"{needs.reason}; set neighbours: {allowed}, or take another method"
        yield Problem(("neighbours",), f"method {release.method} does not hold for it", neighbours, allowed, fix)


def _numbers(release: ReleaseAsked, needs: Needs) -> Iterator[Problem]:
    if release.k is not None and release.k < needs.least_k:
        allowed = f"a whole number from {needs.least_k} up"
        yield Problem(("release", "k"), "a crowd of one hides nobody", str(release.k), allowed)
    if release.t is not None and (release.t < 1) == needs.ratio:
        allowed = "a ratio from 1 up" if needs.ratio else "a distance above 0 and below 1"
        yield Problem(("release", "t"), "out of range", exact_text(release.t), allowed)
    if release.delta == 0 and needs.positive_delta:
        fix = "no crowd and no sample reach delta 0; something far below one over the number of people is usual"
        yield Problem(("release", "delta"), "out of range", "0", "a number above 0 and below 1", fix)
    if release.epsilon is not None and release.chosen >= release.epsilon:
        path = ("release", "recoding") if release.recoding and release.recoding.epsilon else ("release", "views")
        yield Problem(
            path,
            "the choices cost all of epsilon and leave nothing for the release",
            exact_text(release.chosen),
            f"below release.epsilon, {exact_text(release.epsilon)}",
            "it is a part of release.epsilon",
        )
    if release.recoding is not None and release.recoding.epsilon and "recoding" in needs.optional and not needs.pays:
        fix = f"method {release.method} makes no differential promise: leave recoding out, or fix the levels"
        yield Problem(("release", "recoding"), "a private choice that nothing pays for", None, "{levels: ...}", fix)
    if release.grouping is not None and needs.groupings and release.grouping not in needs.groupings:
        allowed = " or ".join(needs.groupings)
        yield Problem(("release", "grouping"), f"not a grouping of method {release.method}", release.grouping, allowed)


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
    if asked.tree is not None and asked.tree.grow == "privtree" and asked.tree.sample is not None:
        yield Problem(
            ("release", "recoding", "tree", "sample"),
            "not together with `grow: privtree`",
            exact_text(asked.tree.sample),
            "grow: surveys",
        )


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
        yield _no_attribute(path, asked.target, attributes)
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
            yield _no_attribute(path, name, attributes)
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
                    yield _no_attribute(path, name, attributes)
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
            (release.method != "safe-k", "method", "only safe-k accepts a sample as it is", "method: safe-k"),
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


def _no_attribute(path: tuple[str | int, ...], name: str, attributes: Mapping[str, AttributeAsked]) -> Problem:
    known = tuple(attributes)
    return Problem(path, "no such attribute", shown(name), shown(", ".join(known)), nearest(name, known))
