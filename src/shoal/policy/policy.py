"""A policy: what a person asked for, read from a file, checked, and ready to be planned; no row is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shoal.data.schema import Attribute, Schema
from shoal.errors import PolicyError, UsageError
from shoal.guarantee.unit import Neighbours, Unit
from shoal.policy import checks
from shoal.policy.lock import Lock, lock
from shoal.policy.meaning import attributes_of, hashes_of
from shoal.policy.model.attribute import AttributeAsked
from shoal.policy.model.file import Asked, BudgetAsked, UnitAsked
from shoal.policy.model.file_format import FileAsked
from shoal.policy.model.method import method_of
from shoal.policy.model.release import ReleaseAsked
from shoal.policy.text import editing
from shoal.policy.text.problem import Problem, RefusedPolicyError
from shoal.policy.text.problems import problems_of
from shoal.policy.text.reading import Document, read


@dataclass(frozen=True)
class Policy:
    """What was asked, with the schema and the unit that it means; immutable.

    `asked` is the file key by key, `text` the file as the person wrote it, `folder` where its hierarchies lie.
    """

    asked: Asked
    schema: Schema
    unit: Unit
    text: str = field(repr=False)
    folder: Path | None = None
    file: str = "policy"
    hashes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The hash of the file that an attribute's hierarchy was read from, by the attribute's name."""

    def __repr__(self) -> str:
        method = "no release" if self.release is None else self.release.method
        return f"<Policy '{self.dataset}' from {self.file}: {len(self.schema.attributes)} attributes, {method}>"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file; PolicyError with everything that is wrong in it."""
        if not isinstance(path, str | os.PathLike):
            raise UsageError("a policy file is named by its path", came=type(path).__name__, allowed="text or a path")
        where = Path(path)
        try:
            text = where.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PolicyError("the policy is not UTF-8 text", came=where, fix="save it as UTF-8") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "not a name of a file"
            raise PolicyError("the policy cannot be read", came=f"{where} ({why})", fix="name a policy file") from None
        return cls.parse(text, where.parent, str(where))

    @classmethod
    def parse(cls, text: str, folder: str | os.PathLike[str] | None = None, file: str = "policy") -> Policy:
        """Read the text of a policy; hierarchy files are looked for in `folder`, and `file` is named in errors."""
        if not isinstance(text, str):
            raise UsageError("a policy is parsed from its text", came=type(text).__name__, allowed="text")
        where = None if folder is None else Path(folder)
        document = read(text, file)
        asked, problems = _model(document)
        attributes = attributes_of(asked.attributes, where, problems)
        problems += _crosswise(asked, attributes)
        if problems:
            raise RefusedPolicyError([replace(each, line=document.line(each.path)) for each in problems], file)
        unit = (
            Unit.row(asked.neighbours)
            if asked.unit.column is None or asked.unit.max_rows is None
            else Unit.person(asked.unit.column, asked.unit.max_rows, asked.neighbours)
        )
        return cls(
            asked,
            Schema(tuple(attributes.values()), asked.file.format()),
            unit,
            text,
            where,
            file,
            hashes_of(asked.attributes, where),
        )

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: str | os.PathLike[str] | None = None) -> Policy:
        """A policy from plain values: the keys of the file, with texts, numbers, dates, lists and mappings."""
        return cls.parse(editing.text_of(values), folder)

    # --- what was asked -------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> str:
        """The name under which the ledger keeps what was spent."""
        return self.asked.dataset

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation of the dataset."""
        return self.asked.neighbours

    @property
    def attributes(self) -> Mapping[str, AttributeAsked]:
        """Each column as the file writes it; what it means is in `schema`."""
        return self.asked.attributes

    @property
    def budget(self) -> BudgetAsked | None:
        """The ceiling of the dataset, if the file names one."""
        return self.asked.budget

    @cached_property
    def release(self) -> ReleaseAsked | None:
        """What to publish, with every default written out; None for a policy that only checks."""
        asked = self.asked.release
        return (
            None
            if asked is None
            else method_of(asked).fill(asked, [attribute.name for attribute in self.schema.published])
        )

    def profiled_keys(self) -> tuple[str, ...]:
        """The domains and hierarchies that were drafted from the data and that nobody has confirmed, in alphabetical order.

        A domain that is read off its hierarchy was drafted with it. So a policy and its lock name the same keys.
        """
        return tuple(
            f"attributes.{name}.{key}"
            for name in sorted(self.asked.attributes)
            for key in ("domain", "hierarchy")
            if self._is_profiled(name, key)
        )

    def _is_profiled(self, name: str, key: str) -> bool:
        asked = self.asked.attributes[name]
        if key == "domain" and asked.domain is None:
            return self.schema[name].domain is not None and self._is_profiled(name, "hierarchy")
        return getattr(asked, key) is not None and getattr(asked.provenance, key) == "profiled"

    def weight(self, name: str) -> Fraction:
        """How much an attribute's detail counts when a recoding is chosen; 1 unless the policy says otherwise."""
        return self.asked.attributes[name].weight or Fraction(1)

    # --- text and lock --------------------------------------------------------------------------------------------

    def dump(self) -> str:
        """The text of the file, with the person's comments and order."""
        return self.text

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the file; PolicyError if one is there already, or if hierarchies would not be found from there."""
        where = Path(path)
        if where.exists() and not force:
            raise PolicyError("the file is there already", came=where, fix="choose another name, or force")
        self.parse(self.text, where.parent, str(where))
        unfinished = where.with_name(f".{where.name}.unfinished")
        try:
            unfinished.write_text(self.text, "utf-8", newline="")
            unfinished.replace(where)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise PolicyError("the policy cannot be written", came=f"{where} ({error.strerror})") from None
        return where

    def with_changes(self, changes: Mapping[editing.Change, object]) -> Policy:
        """Another policy, in which some keys differ: `{"release.epsilon": "0.5", "budget": None}`.

        A path is written with dots, or as a tuple where a name holds a dot itself; None removes the key. Comments
        and order stay as they are.
        """
        return self.parse(editing.changed(self.text, changes), self.folder, self.file)

    def lock(self) -> Lock:
        """The canonical text and its hash, the same for every file that means the same."""
        return lock(self.asked.model_copy(update={"release": self.release}), self.schema, self.hashes)


def _model(document: Document) -> tuple[Asked, list[Problem]]:
    """The model of a document; where it has problems, its sound parts, so that they are looked at as well."""
    try:
        return Asked.model_validate(document.tree), []
    except ValidationError as error:
        problems = problems_of(error, document)
    ill = {problem.path for problem in problems}

    def sound(*path: str) -> Any:
        """The value at a path, unless something is wrong in it."""
        return None if any(bad[: len(path)] == path for bad in ill) else document.at(path)

    listed = document.at(("attributes",))
    names = list(listed) if isinstance(listed, dict) else []
    attributes = {name: value for name in names if (value := sound("attributes", name)) is not None}
    parts = {
        "unit": UnitAsked.model_validate(value) if (value := sound("unit")) is not None else None,
        "neighbours": sound("neighbours"),
        "file": FileAsked.model_validate(value) if (value := sound("file")) is not None else FileAsked(),
        "attributes": {name: AttributeAsked.model_validate(value) for name, value in attributes.items()},
        "release": ReleaseAsked.model_validate(value) if (value := sound("release")) is not None else None,
        "budget": BudgetAsked.model_validate(value) if (value := sound("budget")) is not None else None,
    }
    return Asked.model_construct(**parts), problems


def _crosswise(asked: Asked, attributes: Mapping[str, Attribute]) -> Iterator[Problem]:
    """What the keys say about each other; parts that are not sound are absent and say nothing."""
    if asked.unit is not None:
        yield from checks.unit(asked.unit, asked.attributes)
    yield from checks.missing_codes(asked.file, attributes)
    release = asked.release
    if release is None:
        return
    yield from method_of(release).problems(release, asked.neighbours, asked.unit, asked.attributes, attributes)
    if release.recoding is not None:
        yield from checks.recoding(release.recoding, asked.attributes, attributes)
    if release.views is not None:
        yield from checks.views(release.views, asked.attributes)
        yield from checks.chosen_in_views(release)
    if release.sampling is not None:
        yield from checks.sampling(release.sampling, release)
    if asked.budget is not None:
        yield from checks.budget(asked.budget, release)
