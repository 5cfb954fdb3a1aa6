"""From what was written to what it means: the schema with its domains and hierarchies, and everything wrong in them."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from shoal.data.domain import Domain, Values
from shoal.data.hierarchy import build, suggest
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.data.schema import Attribute, Outside, Role, Type
from shoal.errors import PolicyError, ShoalError
from shoal.policy.domain import domain as declared
from shoal.policy.domain import spelled
from shoal.policy.model.attribute import AttributeAsked
from shoal.policy.model.hierarchy import HierarchyAsked
from shoal.policy.text.problem import Path, Problem, shown

T = TypeVar("T")

_UNREAD = (Role.IDENTIFIER, Role.DROP)


def attributes_of(
    asked: Mapping[str, AttributeAsked], folder: pathlib.Path | None, problems: list[Problem]
) -> dict[str, Attribute]:
    """Each attribute that means something; what is wrong with the others goes into `problems`."""
    found = {name: _attribute(name, one, folder, problems) for name, one in asked.items()}
    return {name: attribute for name, attribute in found.items() if attribute is not None}


def _attribute(
    name: str, asked: AttributeAsked, folder: pathlib.Path | None, problems: list[Problem]
) -> Attribute | None:
    path: Path = ("attributes", name)
    before = len(problems)
    kind = asked.type or (Type.TEXT if asked.role in _UNREAD else None)
    if kind is None:
        words = ", ".join(member.value for member in Type)
        problems.append(Problem(path, "the key 'type' is missing", allowed=words))
        return None
    if asked.outside is Outside.CLAMP and not kind.numeric:
        allowed = "outside: error or suppress"
        problems.append(Problem((*path, "outside"), "only numbers, dates and times can be clamped", "clamp", allowed))
    if asked.role is Role.WEIGHT and kind not in (Type.INTEGER, Type.DECIMAL):
        problems.append(Problem((*path, "type"), "a survey weight is a number", kind.value, "integer or decimal"))
    domain = _attempt((*path, "domain"), problems, lambda: declared(asked.domain, kind))
    if asked.domain is not None and domain is None:
        return None  # what the hierarchy covers is not known
    hierarchy = None
    if (wanted := asked.hierarchy) is not None:
        hierarchy = _attempt((*path, "hierarchy"), problems, lambda: _hierarchy(wanted, kind, domain, folder))
    if asked.published:
        problems.extend(_reserved(path, domain, hierarchy))
    if len(problems) > before:
        return None
    domain = hierarchy.domain if domain is None and hierarchy is not None else domain
    return Attribute(name, asked.role, kind, domain, hierarchy, asked.missing, asked.outside)


def _reserved(path: Path, domain: Domain | None, hierarchy: Hierarchy | None) -> Iterator[Problem]:
    """No value and no label looks like the label of a missing value, and no value like the label of the whole domain."""
    fix = "spell it differently in the table; to count it as missing, leave it out and set outside: suppress"
    listed = domain if domain is not None else hierarchy.domain if hierarchy is not None else None
    for word, what in ((MISSING, "a missing value"), (SUPPRESSED, "the whole domain")):
        if isinstance(listed, Values) and word in listed.index:
            where = "domain" if domain is not None else "hierarchy"
            yield Problem((*path, where), f"a value that is the label of {what}", word, "any other text", fix)
    for number, level in enumerate(hierarchy.levels if hierarchy is not None else ()):
        if MISSING in (level.labels or ()):
            wrong = f"level {number} has a label that is the label of a missing value"
            yield Problem((*path, "hierarchy"), wrong, MISSING, "any other text")


def _hierarchy(asked: HierarchyAsked, kind: Type, domain: Domain | None, folder: pathlib.Path | None) -> Hierarchy:
    """The hierarchy over its domain; one that lists every value gives the domain itself."""
    spec = spec_of(asked, kind, domain)
    covered = domain if domain is not None else build.domain_of(spec, kind, folder)
    if covered is None:
        raise PolicyError("no domain that the levels could cover", fix="declare the domain beside the hierarchy")
    return build.hierarchy(spec, kind, covered, folder)


def spec_of(asked: HierarchyAsked, kind: Type, domain: Domain | None) -> dict[str, Any]:
    """The kind and its options, with numbers, dates and times in their one spelling."""
    spec = asked.spec()
    if asked.auto:
        found = suggest.suggest(kind, domain)
        if found is None:
            raise PolicyError("type and domain do not say what is near what", came="auto", fix="declare a hierarchy")
        spec = HierarchyAsked.model_validate(_texts(found)).spec()
    if kind.numeric:
        for option in ("origin", "below", "above", "cuts"):
            if option in spec:
                spec[option] = _points(spec[option], kind)
    return spec


def _points(tree: Any, kind: Type) -> Any:
    if isinstance(tree, list):
        return [_points(item, kind) for item in tree]
    if isinstance(tree, str):
        return spelled(tree, kind)
    raise PolicyError("not a list of values", came=shown(tree), allowed="[a, b, c]")


def file_of(asked: HierarchyAsked, folder: pathlib.Path | None) -> pathlib.Path | None:
    """The file that the hierarchy reads, if it reads one."""
    name = asked.file if asked.file is not None else asked.taxonomy
    return (folder or pathlib.Path()) / name if isinstance(name, str) else None


def hashes_of(asked: Mapping[str, AttributeAsked], folder: pathlib.Path | None) -> dict[str, str]:
    """The hash of the file that each hierarchy was read from, by the attribute's name."""
    files = {name: file_of(one.hierarchy, folder) for name, one in asked.items() if one.hierarchy is not None}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file is not None}


def _texts(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {key: _texts(item) for key, item in tree.items()}
    return [_texts(item) for item in tree] if isinstance(tree, list) else str(tree)


def _attempt(path: Path, problems: list[Problem], build_it: Callable[[], T]) -> T | None:
    """What is built, or None and a problem at the path; a file that misbehaves is a problem like any other."""
    try:
        return build_it()
    except ShoalError as error:
        problems.append(Problem.of(path, error))
    except (OSError, ValueError, ArithmeticError, RecursionError) as error:
        problems.append(Problem(path, "it cannot be built", f"{type(error).__name__}: {shown(error)}"))
    return None
