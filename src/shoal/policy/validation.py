"""Everything that is wrong in a policy: what pydantic finds key by key, and what one key says about another."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from shoal.data.declared_values import DeclaredValues
from shoal.data.domain import Values
from shoal.data.schema import NAMING, Attribute, Outside, Role
from shoal.errors import ShoalError
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.attribute import AttributeModel
from shoal.policy.model.base import PolicyPart
from shoal.policy.model.file import BudgetModel, FileModel, PolicyModel, UnitModel
from shoal.policy.model.method import method_of, no_attribute, settle_method
from shoal.policy.model.release import (
    EVERY,
    METHOD_NAMES,
    ChooseModel,
    GroupsModel,
    RecodingModel,
    ReleaseModel,
    SamplingModel,
    SyntheticModel,
    ViewsModel,
)
from shoal.policy.model.treatment import TreatmentModel
from shoal.policy.schema import attributes_of, canonical_labels, hash_of_population, is_declared, population_file
from shoal.policy.text.keys import known_at
from shoal.policy.text.problem import MOST_PROBLEMS, Path, Problem, close_to, excerpt, nearest
from shoal.policy.text.reading import Document
from shoal.policy.treatment import refuse_dependence, refuse_population, settle_treatments

MOST_RELEASES = 1000
"""The most releases that one plan repeats."""
MOST_VIEWS = 10_000
"""The most views of a release: each is a file of its own, and each is composed."""
MOST_CANDIDATES = 200_000
"""The most views among which some are chosen or taken."""
MOST_ROUNDS = 1000
"""The most tables that are chosen one after the other."""
_NATIVE = {
    "tuple_type": ("one value where a list belongs", "a list, such as [a, b]"),
    "dict_type": ("no mapping", "a mapping, such as {name: value}"),
    "too_short": ("nothing is listed", "at least one"),
}
"""Errors that pydantic finds by itself, in our words."""


def validate(
    document: Document, folder: pathlib.Path | None
) -> tuple[PolicyModel, dict[str, Attribute], list[Problem]]:
    """The model of a document, the attributes that it means, and everything that is wrong in it.

    Where something is wrong the model has the sound parts alone, so that these are looked at as well.
    """
    model, problems = _model(document)
    attributes = attributes_of(model.attributes, folder, problems)
    treatments = settle_treatments(model.treatments, model.attributes, attributes, folder, problems)
    problems += _between_keys(model, attributes)
    problems += _population(model.release, folder)
    return model.model_copy(update={"treatments": treatments}), attributes, problems


def _model(document: Document) -> tuple[PolicyModel, list[Problem]]:
    """The model of a document; where it has problems, its sound parts."""
    try:
        return PolicyModel.model_validate(document.tree), []
    except ValidationError as error:
        problems = _pydantic_problems(error, document)
        if error.error_count() > MOST_PROBLEMS:  # what of it is sound is not asked
            problems.append(Problem((), "more is wrong than is listed here", f"{error.error_count():,} problems"))
            return _sound_parts({}), problems
    ill = {problem.path[:length] for problem in problems for length in range(len(problem.path) + 1)}

    def sound(*path: str) -> Any:
        """The value at a path, unless something is wrong in it."""
        return None if path in ill else document.at(path)

    def part(kind: type[PolicyPart], key: str) -> Any:
        return None if (value := sound(key)) is None else kind.model_validate(value)

    listed = document.at(("attributes",))
    names = list(listed) if isinstance(listed, dict) else []
    attributes = {name: value for name in names if (value := sound("attributes", name)) is not None}
    parts = {
        "unit": part(UnitModel, "unit"),
        "neighbours": sound("neighbours"),
        "file": part(FileModel, "file") or FileModel(),
        "attributes": {name: AttributeModel.model_validate(value) for name, value in attributes.items()},
        "treatments": _treatments(document) if ("treatments",) not in ill else (),
        "release": part(ReleaseModel, "release"),
        "budget": part(BudgetModel, "budget"),
    }
    return _sound_parts(parts), problems


def _treatments(document: Document) -> tuple[TreatmentModel, ...]:
    return tuple(TreatmentModel.model_validate(each) for each in document.at(("treatments",)) or ())


def _sound_parts(parts: Mapping[str, Any]) -> PolicyModel:
    """The model that has these parts alone, and nothing in place of the others."""
    none: dict[str, Any] = {
        "unit": None,
        "neighbours": None,
        "file": FileModel(),
        "attributes": {},
        "treatments": (),
        "release": None,
        "budget": None,
    }
    return PolicyModel.model_construct(**(none | dict(parts)))


def _between_keys(model: PolicyModel, attributes: Mapping[str, Attribute]) -> Iterator[Problem]:
    """What the keys say about each other; parts that are not sound are absent and say nothing."""
    if model.unit is not None:
        yield from _unit(model.unit, model.attributes)
    yield from _missing_codes(model.file, attributes)
    yield from _value_labels(model, attributes)
    if model.release is None:
        return
    release = settle_method(model.release, sum(one.is_published for one in model.attributes.values()))
    if release.method is None:
        fix = "name a method, or give epsilon and delta: the method then follows from the number of columns"
        yield Problem(("release",), "the key 'method' is missing", None, ", ".join(METHOD_NAMES), fix)
        return
    yield from method_of(release).problems(release, model.neighbours, model.unit, model.attributes, attributes)
    yield from refuse_dependence(model.treatments, method_of(release))
    yield from refuse_population(model.treatments, release, model.attributes)
    if release.repeat > MOST_RELEASES:
        allowed = f"at most {MOST_RELEASES:,}"
        yield Problem(("release", "repeat"), "more releases than one plan repeats", str(release.repeat), allowed)
    if release.recoding is not None:
        yield from _recoding(release.recoding, model.attributes, attributes)
    if release.views is not None:
        yield from _views(("release", "views"), release.views, model.attributes, counts=not release.has_rows)
        yield from _chosen_in_views(release)
    if release.counts is not None:
        yield from _views(("release", "counts"), release.counts, model.attributes, counts=True)
    if release.synthetic is not None:
        yield from _never(release.synthetic, model.attributes, attributes)
    if release.sampling is not None:
        yield from _sampling(release.sampling, release)
    if model.budget is not None:
        yield from _budget(model.budget, release)


def _population(release: ReleaseModel | None, folder: pathlib.Path | None) -> Iterator[Problem]:
    """The file that k-map is counted on is there, and is a plain one."""
    file = population_file(release, folder)
    if file is None:
        return
    path = ("release", "criteria", "k_map", "population")
    try:
        hash_of_population(file)
    except ShoalError as error:
        yield Problem.of(path, error)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a name of a file"
        fix = "name a CSV file with the quasi-identifiers of the population, beside the policy"
        yield Problem(path, "the population file cannot be read", f"{excerpt(str(file))} ({why})", None, fix)


def _pydantic_problems(error: ValidationError, document: Document) -> list[Problem]:
    """Each error of pydantic as a problem at a key of the document."""
    details = error.errors(include_url=False)[:MOST_PROBLEMS]
    meant = {
        (*detail["loc"][:-1], close)
        for detail in details
        if detail["type"] == "extra_forbidden"
        and (close := close_to(str(detail["loc"][-1]), tuple(known_at(detail["loc"][:-1])))) is not None
    }
    return [
        _problem(detail, document)
        for detail in details
        if detail["type"] != "missing" or detail["loc"] not in meant  # a misspelt key is one problem, not two
    ]


def _problem(detail: ErrorDetails, document: Document) -> Problem:
    context: Mapping[str, Any] = detail.get("ctx", {})
    *around, last = detail["loc"] or ("",)
    if detail["type"] == "missing":
        field = known_at(around).get(str(last))
        meaning = field.description if field is not None else None
        return Problem(_typed_path(around, document), f"the key '{last}' is missing", fix=f"add it: {meaning}")
    if detail["type"] == "extra_forbidden":
        known = tuple(known_at(around))
        path = (*_typed_path(around, document), last)
        return Problem(path, "an unknown key", excerpt(last), ", ".join(known), nearest(str(last), known))
    path = _typed_path(detail["loc"], document)
    came = around[-1] if last == "[key]" else document.at(path)
    if detail["type"] == "shoal":
        wrong, allowed, fix = context["wrong"], context["allowed"], context["fix"]
    else:
        (wrong, allowed), fix = _NATIVE.get(detail["type"], ("not in the form that belongs here", None)), None
    if not path and came is document.tree:  # perhaps a table, whose rows are nobody's to print
        kind = "a list" if isinstance(came, list) else "a text without keys" if isinstance(came, str) else "a mapping"
        return Problem(
            path, wrong, kind, allowed, fix or "name the policy where a policy belongs, the table where data do"
        )
    return Problem(path, wrong, None if came is None else excerpt(came), allowed, fix)


def _typed_path(location: Iterable[str | int], document: Document) -> Path:
    """The path that the person typed: steps that only the long form has are left out."""
    path: Path = ()
    for step in location:
        if document.at((*path, step)) is not None:
            path = (*path, step)
    return path


def _unit(asked: UnitModel, attributes: Mapping[str, AttributeModel]) -> Iterator[Problem]:
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


def _missing_codes(file: FileModel, attributes: Mapping[str, Attribute]) -> Iterator[Problem]:
    """A text is either a missing value or a declared one."""
    for name, attribute in attributes.items():
        listed = attribute.domain.index if isinstance(attribute.domain, Values) else {}
        own = ("attributes", name, "missing_values")
        for path, codes in ((("file", "missing"), file.missing), (own, attribute.missing_values)):
            for code in codes:
                if code in listed:
                    yield Problem(
                        path,
                        f"a missing code is a declared value of attribute '{name}'",
                        excerpt(code),
                        fix="keep it in one of the two",
                    )


def _value_labels(model: PolicyModel, attributes: Mapping[str, Attribute]) -> Iterator[Problem]:
    """What is labelled is a value that may occur, or a missing code, and is labelled once."""
    for name, attribute in attributes.items():
        asked = model.attributes[name]
        codes = {*model.file.missing, *asked.missing_values}
        path = ("attributes", name, "value_labels")
        for value in asked.value_labels or ():
            if value not in codes and not is_declared(value, attribute):
                words = "declared values" if attribute.domain is None else attribute.domain.words()
                fix = "correct the value, or list it in missing_values if it stands for a missing value"
                yield Problem((*path, value), "a label for a value outside the domain", excerpt(value), words, fix)
        if len(canonical_labels(asked, attribute.type)) < len(asked.value_labels or ()):
            yield Problem(path, "a value has two labels, in two spellings", fix="write each value once")


def _recoding(
    asked: RecodingModel, attributes: Mapping[str, AttributeModel], schema: Mapping[str, Attribute]
) -> Iterator[Problem]:
    """Levels name published attributes, and levels that their hierarchies have; what is chosen has room to choose."""
    named: list[tuple[tuple[str, ...], Mapping[str, int]]] = [(("levels",), asked.levels or {})]
    if asked.search is not None:
        named.append((("search", "levels"), asked.search.levels or {}))
    choice = asked.paid or asked.search
    if choice is not None:
        finest, coarsest = choice.finest or {}, choice.coarsest or {}
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
    if asked.tree is not None:
        yield from _published_target(asked.tree.target, attributes, ("release", "recoding", "tree", "target"))


def _chosen_in_views(release: ReleaseModel) -> Iterator[Problem]:
    """A target is in some views and not in others, so no view's recoding is chosen for it."""
    tree = release.recoding.tree if release.recoding is not None else None
    if release.views is not None and tree is not None and tree.target is not None:
        yield Problem(
            ("release", "recoding", "tree", "target"),
            "not together with views: most views lack the target",
            tree.target,
        )
    choose = release.recoding.choose if release.recoding is not None else None
    if release.views is not None and choose is not None and choose.score == "target":
        path = ("release", "recoding", "choose", "score")
        yield Problem(
            path, "not together with views: most views lack the target", "target", "ramp, records, discernibility"
        )


def _target(asked: ChooseModel, attributes: Mapping[str, AttributeModel]) -> Iterator[Problem]:
    """The score `target` has one, and the others have none."""
    path = ("release", "recoding", "choose", "target")
    if (asked.score == "target") != (asked.target is not None):
        fix = "score: target and target: NAME belong together"
        yield Problem(path, "a target without its score, or the score without a target", asked.target, None, fix)
    else:
        yield from _published_target(asked.target, attributes, path)


def _published_target(
    target: str | None, attributes: Mapping[str, AttributeModel], path: tuple[str, ...]
) -> Iterator[Problem]:
    """A target is an attribute that is published."""
    if target is not None and target not in attributes:
        yield no_attribute(path, target, attributes)
    elif target is not None and not attributes[target].is_published:
        yield Problem(path, "never published", attributes[target].role.value, fix="name a published attribute")


def _levels(
    where: tuple[str, ...],
    levels: Mapping[str, int],
    attributes: Mapping[str, AttributeModel],
    schema: Mapping[str, Attribute],
) -> Iterator[Problem]:
    for name, level in levels.items():
        path = (*where, name)
        if name not in attributes:
            yield no_attribute(path, name, attributes)
        elif not attributes[name].is_published:
            yield Problem(path, "never published", attributes[name].role.value, fix="leave it out")
        elif name in schema and level > 0:
            hierarchy = schema[name].hierarchy
            top = len(hierarchy.levels) - 1 if hierarchy else 0
            if level > top:
                fix = None if hierarchy else f"it has no hierarchy: declare attributes.{name}.hierarchy"
                yield Problem(path, "no such level", str(level), f"0..{top}" if top else "0", fix)


def _views(
    where: Path, asked: GroupsModel, attributes: Mapping[str, AttributeModel], *, counts: bool
) -> Iterator[Problem]:
    """Views name published attributes; groups hold each once, and all of them."""
    published = {name for name, one in attributes.items() if one.is_published}
    for key, groups in asked.named_groups:
        seen: set[str] = set()
        for i, group in enumerate(groups):
            for j, name in enumerate(group):
                path = (*where, key, i, j)
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
                twice = excerpt(", ".join(group))
                yield Problem((*where, key, i), "a view is named twice", twice, fix="name it once")
            if not group:
                yield Problem((*where, key, i), "an empty view", fix="name an attribute, or leave it out")
        if not groups:
            yield Problem((*where, key), "no view at all", fix="leave `views` out for one table")
        if key == "groups" and groups and (left := published - seen):
            fix = "add it to a group; a workload may leave attributes out"
            yield Problem((*where, key), "an attribute is in no group", excerpt(", ".join(sorted(left))), fix=fix)
    yield from _chosen_target(where, asked, attributes) or _width(where, asked, len(published), counts=counts)


def _chosen_target(where: Path, asked: GroupsModel, attributes: Mapping[str, AttributeModel]) -> list[Problem]:
    """The attribute that chosen tables hold is published."""
    target, path = None if asked.adapt is None else asked.adapt.target, (*where, "adapt", "target")
    if target is None or (target in attributes and attributes[target].is_published):
        return []
    if target not in attributes:
        return [no_attribute(path, target, attributes)]
    came = f"{target} ({attributes[target].role.value})"
    return [Problem(path, "never published", came, fix="name an attribute that is published")]


def _width(where: Path, asked: GroupsModel, published: int, *, counts: bool) -> Iterator[Problem]:
    """There are as many attributes as a view has, and as many views as are asked for."""
    width, many = asked.width, asked.count_candidates(published, counts=counts)
    yield from _too_many_views(where, asked, many, published)
    if width > published:
        yield Problem(where, f"fewer than {width} published attributes", str(published))
    elif asked.choose is not None and asked.choose.count is not None and asked.choose.count > many:
        most = f"at most {many:,}"
        yield Problem((*where, "choose", "count"), "more views than there are", str(asked.choose.count), most)
    elif asked.adapt is not None and not many:
        fix = "choose wider tables (`width: 3`), or leave `adapt` out"
        yield Problem((*where, "adapt"), "all tables are counted first, and none is left to choose", None, None, fix)
    elif asked.adapt is not None and asked.adapt.rounds is not None and asked.adapt.rounds > min(many, MOST_ROUNDS):
        fix = "each table is chosen once" if many <= MOST_ROUNDS else "each round fits a model of all tables so far"
        most = f"at most {min(many, MOST_ROUNDS):,}"
        yield Problem((*where, "adapt", "rounds"), "too many rounds", str(asked.adapt.rounds), most, fix)
    if isinstance(asked, ViewsModel) and asked.choose is not None and asked.allocation == "weighted" and not counts:
        fix = "which views are published is not known when the promise is shared out"
        yield Problem((*where, "allocation"), "not together with `choose`", "weighted", "equal", fix)


def _too_many_views(where: Path, asked: GroupsModel, candidates: int, published: int) -> Iterator[Problem]:
    """As many views as can be planned, and as many candidates as can be looked through."""
    named = sum(len(groups) for _, groups in asked.named_groups)
    if asked.choose is not None:
        count = asked.choose.count or 0
    elif asked.adapt is not None:
        first = comb(published, EVERY.index(asked.every) + 1) if asked.every else 0
        count = (asked.adapt.rounds or 0) + named + min(first, asked.limit or first)
    else:
        count = named or min(candidates, asked.limit or candidates)
    if count > MOST_VIEWS:
        fix = "take some of them: `limit` beside `every`, `count` beside `choose`, or a `workload`"
        yield Problem(where, "too many views", f"{count:,}", f"at most {MOST_VIEWS:,}", fix)
    if (not named or asked.adapt is not None) and candidates > MOST_CANDIDATES and candidates > count:
        yield Problem(
            where,
            "too many views to take some of them",
            f"{candidates:,}",
            f"at most {MOST_CANDIDATES:,}",
            "publish narrower views, or name them in a `workload`",
        )


def _never(
    asked: SyntheticModel, attributes: Mapping[str, AttributeModel], schema: Mapping[str, Attribute]
) -> Iterator[Problem]:
    """Combinations that no synthetic row may have: of published attributes, of values that they can have."""
    for place, rule in enumerate(asked.never or ()):
        path: Path = ("release", "synthetic", "never", place)
        if not rule:
            yield Problem(path, "no combination of values", fix="name an attribute and its values, or leave it out")
        for name, values in rule.items():
            own = (*path, name)
            if name not in attributes:
                yield no_attribute(own, name, attributes)
            elif not attributes[name].is_published:
                yield Problem(own, "never published", attributes[name].role.value, fix="leave it out")
            elif not values:
                yield Problem(own, "nothing is listed", fix="name a value, or leave the attribute out")
            elif name in schema and schema[name].domain is not None:
                yield from _values(own, schema[name], values)


def _values(path: Path, attribute: Attribute, values: Sequence[str]) -> Iterator[Problem]:
    """A value, some values, or the two ends of a range."""
    try:
        DeclaredValues.of(attribute, values)
    except ShoalError as error:
        yield Problem.of(path, error)


def _sampling(asked: SamplingModel, release: ReleaseModel) -> Iterator[Problem]:
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
    pays = method_of(release).pays  # the delta of a plain sample is about all rows at once
    if pays and isinstance(rate, Fraction) and release.delta is not None and rate <= release.delta:
        key = "already" if asked.already is not None else "beta"
        allowed = f"above delta, {exact_text(release.delta)}"
        yield Problem(
            (*path, key), "the rate does not exceed delta, so the promise is empty", exact_text(rate), allowed
        )


_PAIRS = Fraction(3, 10)
"""The part of delta that Gaussian accounting leaves for releases."""


def _budget(asked: BudgetModel, release: ReleaseModel) -> Iterator[Problem]:
    """The ceiling of the dataset is not below its first release, where that is charged."""
    if asked.accounting == "gaussian" and not asked.delta:
        yield Problem(("budget", "accounting"), "Gaussian accounting needs a delta", "gaussian", "basic")
    if not method_of(release).pays:
        return
    pairs = (("epsilon", asked.epsilon, release.epsilon), ("delta", asked.delta, release.delta))
    for key, ceiling, cost in pairs:
        if cost is not None and ceiling < cost:
            allowed = f"at least release.{key}, {exact_text(cost)}"
            yield Problem(("budget", key), "the budget is below the release", exact_text(ceiling), allowed)
            return
    if asked.accounting == "gaussian" and release.delta is not None and release.delta > asked.delta * _PAIRS:
        allowed = f"at least {exact_text(release.delta / _PAIRS)}, or `accounting: basic`"
        wrong = "Gaussian accounting keeps 7/10 of delta for questions, and the rest is below the release"
        yield Problem(("budget", "delta"), wrong, exact_text(asked.delta), allowed)
