"""A policy: what a person asked for, read from a file, checked, and ready to be planned; no row is needed.

Its lock is the canonical text and its hash: the same for the same meaning, another for another.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.data.declared_values import DeclaredValues
from shoal.data.plain_file import LARGEST_YAML, near_path, read_plain_file
from shoal.data.schema import Attribute, Schema, Type
from shoal.errors import NextCommand, PolicyError, UsageError
from shoal.guarantee.unit import Neighbours, Unit
from shoal.policy.model.attribute import AttributeModel, ProvenanceModel
from shoal.policy.model.counted import settle_cells
from shoal.policy.model.file import BudgetModel, PolicyModel
from shoal.policy.model.method import method_of, settle_method
from shoal.policy.model.release import ReleaseModel
from shoal.policy.schema import (
    canonical_domain,
    canonical_labels,
    hash_of_population,
    hashes_of,
    population_file,
    spec_of,
)
from shoal.policy.text import editing
from shoal.policy.text.keys import every_key
from shoal.policy.text.problem import RefusedPolicyError
from shoal.policy.text.reading import read_yaml
from shoal.policy.treatment import lock_treatments
from shoal.policy.validation import validate

_OURS = {key.path.rpartition(".")[2] for key in every_key() if "[]" not in key.path}
_LATER = {"adapt", "cells", "counts", "never", "rounds", "rows", "share", "synthetic"}
_LATER |= {"label", "missing_values", "query", "sheet", "table", "treatments", "value_labels"}
_LATER |= {"alpha", "basic", "c", "count", "criteria", "distance", "enhanced", "entropy_l", "k_map", "local", "loss"}
_LATER |= {"favour", "population", "public", "recursive", "search", "singles", "total"}
"""Keys that came after the first locks: where a person's names stand, a name like one of them is in quotes, as it always was."""
_NAMED = ("attributes", "recoding", "crowds")
"""What holds names of a person's own."""
_DESCRIBED = {"label", "missing_values", "value_labels"}
"""The later keys of an attribute, which are no names where they stand."""


@dataclass(frozen=True)
class Lock:
    """The canonical text of a policy and its SHA-256 hash."""

    text: str = field(repr=False)
    sha256: str


@dataclass(frozen=True)
class Policy:
    """What a person asks for, with the schema and the unit that it means; immutable, and no row of the table is needed.

    `Policy.load` reads a file, `Policy.parse` its text, `Policy.of` plain values.

    Arguments  `model` is the file key by key, `schema` its attributes with domains and hierarchies, `unit` whose data are
               hidden, `text` the file as the person wrote it, `folder` where its hierarchies lie, `file` its name in
               errors, `hashes` the hash of the file that each hierarchy was read from, `population` the hash of the file that
               k-map is counted on
    Raises     PolicyError with everything that is wrong in a policy, each problem with its key, its line, what is allowed
               and what to do

    >>> age = {"role": "quasi", "type": "integer", "domain": [0, 110]}
    >>> keys = {
    ...     "version": 1,
    ...     "dataset": "visits",
    ...     "unit": "row",
    ...     "neighbours": "add_remove",
    ...     "attributes": {"age": age},
    ... }
    >>> Policy.of(keys).unit.words()
    'one row added or removed'
    """

    model: PolicyModel
    schema: Schema
    unit: Unit
    text: str = field(repr=False)
    folder: Path | None = None
    file: str = "policy"
    hashes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The hash of the file that an attribute's hierarchy was read from, by the attribute's name."""
    population: str | None = field(default=None, repr=False)
    """The hash of the population file that classes are counted on for k-map; None where none is asked for."""

    def __repr__(self) -> str:
        method = "no release" if self.release is None else self.release.method
        return f"<Policy '{self.dataset}' from {self.file}: {len(self.schema.attributes)} attributes, {method}>"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file; PolicyError with everything that is wrong in it."""
        if not isinstance(path, str | os.PathLike):
            raise UsageError("a policy file is named by its path", came=type(path).__name__, allowed="text or a path")
        where = Path(path)
        if (where / "policy.yaml").is_file():
            raise PolicyError(
                "a folder stands where a policy file should be named",
                came=where,
                fix="name the policy in it",
                step=NextCommand(replace=(str(path), str(where / "policy.yaml"))),
            )
        try:
            text = read_plain_file(where, LARGEST_YAML).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PolicyError(
                "the policy is not UTF-8 text",
                came=where,
                fix="name the policy where a policy belongs, the table where data do; a policy is saved as UTF-8",
            ) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "not a name of a file"
            near = near_path(where, (".yaml", ".yml")) if isinstance(error, FileNotFoundError) else None
            raise PolicyError(
                "the policy cannot be read",
                came=f"{where} ({why})",
                fix="name a policy file, or draft one: shoal init DATA" if near is None else f"did you mean {near}?",
                step=None if near is None else NextCommand(replace=(str(path), str(near))),
            ) from None
        return cls.parse(text, where.parent, str(where))

    @classmethod
    def parse(cls, text: str, folder: str | os.PathLike[str] | None = None, file: str = "policy") -> Policy:
        """Read the text of a policy; hierarchy files are looked for in `folder`, and `file` is named in errors."""
        if not isinstance(text, str):
            raise UsageError("a policy is parsed from its text", came=type(text).__name__, allowed="text")
        where = None if folder is None else Path(folder)
        document = read_yaml(text, file)
        model, attributes, problems = validate(document, where)
        if problems:
            raise RefusedPolicyError([replace(each, line=document.line(each.path)) for each in problems], file)
        schema = Schema(tuple(attributes.values()), model.file.format())
        unit = model.unit.unit(model.neighbours)
        population = population_file(model.release, where)
        counted = None if population is None else hash_of_population(population)
        return cls(model, schema, unit, text, where, file, hashes_of(model.attributes, where), counted)

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: str | os.PathLike[str] | None = None) -> Policy:
        """A policy from plain values: the keys of the file, with texts, numbers, dates, lists and mappings."""
        return cls.parse(editing.text_of(values), folder)

    # --- what was asked -------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> str:
        """The name under which the ledger keeps what was spent."""
        return self.model.dataset

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation of the dataset."""
        return self.model.neighbours

    @property
    def attributes(self) -> Mapping[str, AttributeModel]:
        """Each column as the file writes it; what it means is in `schema`."""
        return self.model.attributes

    @property
    def budget(self) -> BudgetModel | None:
        """The ceiling of the dataset, if the file names one."""
        return self.model.budget

    @cached_property
    def release(self) -> ReleaseModel | None:
        """What to publish, with every default written out; None for a policy that only checks."""
        if self.model.release is None:
            return None
        published = self.schema.published
        asked = settle_cells(settle_method(self.model.release, len(published)), published, self.unit)
        return method_of(asked).fill(asked, [attribute.name for attribute in published])

    def profiled_keys(self) -> tuple[str, ...]:
        """The domains and hierarchies that were drafted from the data and that nobody has confirmed, in alphabetical order.

        A domain that is read off its hierarchy was drafted with it. So a policy and its lock name the same keys.
        """
        return tuple(
            f"attributes.{name}.{key}"
            for name in sorted(self.model.attributes)
            for key in ("domain", "hierarchy")
            if self._is_profiled(name, key)
        )

    def profiled_columns(self) -> tuple[str, ...]:
        """The columns of which anything was drafted from the data and nobody has confirmed it, in alphabetical order.

        This is what people are told and what is counted: of a column domain, hierarchy or both may be left, and one may follow
        from the other.
        """
        found = dict.fromkeys(key.removeprefix("attributes.").rpartition(".")[0] for key in self.profiled_keys())
        return tuple(found)

    def _is_profiled(self, name: str, key: str) -> bool:
        asked = self.model.attributes[name]
        if key == "domain" and asked.domain is None:
            return self.schema[name].domain is not None and self._is_profiled(name, "hierarchy")
        return getattr(asked, key) is not None and getattr(asked.provenance, key) == "profiled"

    @property
    def population_path(self) -> Path | None:
        """The file that k-map is counted on; None where it is not asked for."""
        return population_file(self.model.release, self.folder)

    def weight(self, name: str) -> Fraction:
        """How much an attribute's detail counts when a recoding is chosen; 1 unless the policy says otherwise."""
        return self.model.attributes[name].weight or Fraction(1)

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
        return self.parse(editing.change_text(self.text, changes), self.folder, self.file)

    def lock(self) -> Lock:
        """The canonical text and its hash, the same for every file that means the same."""
        asked = self.model.model_copy(update={"release": self.release})
        return lock_of(asked, self.schema, self.hashes, self.population)

    def confirmed_lock(self) -> Lock:
        """The lock that the policy would have if everything in it were confirmed: what will happen, whoever has confirmed it."""
        if not self.profiled_keys():
            return self.lock()
        attributes = {
            name: each.model_copy(update={"provenance": ProvenanceModel()}) for name, each in self.attributes.items()
        }
        confirmed = self.model.model_copy(update={"release": self.release, "attributes": attributes})
        return lock_of(confirmed, self.schema, self.hashes, self.population)


# --- the lock --------------------------------------------------------------------------------------------------------
# Comments, blanks, the order of keys and the spelling of numbers are gone; defaults are written out; a file that a
# hierarchy reads stands there by the hash of its bytes, so that its name and folder do not count and its content does.


def lock_of(asked: PolicyModel, schema: Schema, hashes: Mapping[str, str], population: str | None = None) -> Lock:
    """The canonical text of what was asked, its defaults written out, and its hash.

    `hashes` has the hash of the file that an attribute's hierarchy was read from, by the attribute's name; `population` is that
    of the file that k-map is counted on.
    """
    values = {
        "version": asked.version,
        "dataset": asked.dataset,
        "unit": asked.unit.model_dump(mode="json") if asked.unit.column else "row",
        "neighbours": asked.neighbours,
        "file": asked.file.canonical(),
        "attributes": {
            name: _lock_attribute(asked.attributes[name], schema[name], hashes.get(name))
            for name in sorted(asked.attributes)
        },
        **({"treatments": lock_treatments(asked.treatments)} if asked.treatments else {}),
        "release": _lock_release(asked.release, schema, population) if asked.release else None,
        "budget": asked.budget.model_dump(mode="json", exclude={"accounting"}) if asked.budget else None,
    }
    text = "\n".join(_lines(values, ())) + "\n"
    return Lock(text, hashlib.sha256(text.encode("utf-8")).hexdigest())


def _lock_attribute(asked: AttributeModel, attribute: Attribute, file: str | None) -> dict[str, Any]:
    provenance = asked.provenance
    hierarchy = provenance.hierarchy if asked.hierarchy is not None else "declared"
    own = asked.domain is not None
    values = {
        "role": asked.role.value,
        "type": attribute.type.value,
        "domain": None
        if attribute.domain is None or attribute.type is Type.BOOLEAN
        else canonical_domain(attribute.domain, asked.domain, attribute.type),
        "hierarchy": _lock_hierarchy(asked, attribute, file),
        "missing": asked.missing.value,
        "outside": asked.outside.value,
        "weight": asked.model_dump(mode="json")["weight"] or "1",
        "provenance": {"domain": provenance.domain if own else hierarchy, "hierarchy": hierarchy},
    }
    described = {
        "label": asked.label,
        "value_labels": canonical_labels(asked, attribute.type),
        "missing_values": sorted(asked.missing_values),
        "format": asked.format,
        "decimal": asked.decimal,
    }
    return {**values, **{key: value for key, value in described.items() if value}}


def _lock_hierarchy(asked: AttributeModel, attribute: Attribute, file: str | None) -> Any:
    if asked.hierarchy is None or attribute.hierarchy is None:
        return None
    spec = spec_of(asked.hierarchy, attribute.type, attribute.domain)
    spec = {kind: _sort_groups(value) if kind == "groups" else value for kind, value in sorted(spec.items())}
    if file is None:
        return spec
    kind = "file" if asked.hierarchy.file is not None else "taxonomy"
    return {**spec, kind: {"sha256": file}}


def _sort_groups(groups: Any) -> Any:
    """Groups with their labels and members in the order of the alphabet; levels stay in theirs."""
    if isinstance(groups, Mapping):
        return {label: _sort_groups(groups[label]) for label in sorted(groups)}
    if isinstance(groups, list):
        return (
            sorted(groups) if all(isinstance(item, str) for item in groups) else [_sort_groups(item) for item in groups]
        )
    return groups


def _lock_release(asked: ReleaseModel, schema: Schema, population: str | None) -> dict[str, Any]:
    values = asked.model_dump(mode="json", exclude_none=True)
    recoding = values.get("recoding", {})
    for held, key in (
        (recoding, "levels"),
        *((recoding.get("search", {}), key) for key in ("levels", "finest", "coarsest")),
    ):
        if levels := held.get(key):
            held[key] = {name: levels[name] for name in sorted(levels)}
    if population is not None:
        values["criteria"]["k_map"]["population"] = {"sha256": population}
    for part in ("views", "counts"):
        for key in ("groups", "workload"):
            if key in values.get(part, {}):
                values[part][key] = sorted(sorted(group) for group in values[part][key])
    if asked.synthetic is not None and asked.synthetic.never is not None:
        rules = [
            {name: DeclaredValues.of(schema[name], each).words() for name, each in rule.items()}
            for rule in asked.synthetic.never
        ]
        values["synthetic"]["never"] = sorted(rules, key=_scalar)
    return values


def _lines(value: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """A mapping as block YAML, two blanks to a level; texts in JSON's quotes, lists on one line."""
    lines: list[str] = []
    ours, indent = _our_keys(path), "  " * len(path)
    for key, item in value.items():
        written = key if key in ours else _scalar(key)  # our own keys as they are; a person's names in quotes
        if isinstance(item, Mapping) and item:
            lines += [f"{indent}{written}:", *_lines(item, (*path, key))]
        else:
            lines.append(f"{indent}{written}: {_scalar(item)}")
    return lines


def _our_keys(path: tuple[str, ...]) -> Collection[str]:
    """The keys that are written without quotes at a place of the lock."""
    if not any(step in _NAMED for step in path) or path in (("release", "recoding"), ("release", "recoding", "search")):
        return _OURS
    return _OURS - _LATER | (_DESCRIBED if path[0] == "attributes" and len(path) == 2 else set())


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
