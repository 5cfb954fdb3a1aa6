"""Work that was done for other programs: hierarchy files and project files of ARX, lists of key variables of sdcMicro.

    ARX           attribute types and data types, a hierarchy for each attribute (`.deid` projects, or CSV and JSON lists)
    sdcMicro      keyVars, numVars, sensibleVar, weightVar, hhId and so on, as the arguments of `createSdcObj` are called

Roles and types that a person gave there are that person's word. So are hierarchies, which were written for a domain.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.data.codebook import Codebook, ColumnDescription
from shoal.data.plain_file import LARGEST_HIERARCHY, advise, near_path, read_plain_file
from shoal.data.schema import Role
from shoal.data.type import Type
from shoal.draft.markup import MarkupElement, read_markup
from shoal.errors import UsageError

Rows = tuple[tuple[str, ...], ...]
"""The lines of a hierarchy: a value, then its labels from fine to coarse."""

MOST_FILES = 10_000
"""Files of an ARX project: one for each hierarchy, and a dozen more."""
_DEFINITION, _PROJECT = "input/definition.xml", "project.xml"

ARX_ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFIER,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI,
    "SENSITIVE_ATTRIBUTE": Role.CONFIDENTIAL,
    "INSENSITIVE_ATTRIBUTE": Role.OTHER,
}
"""The attribute types of ARX."""
ARX_TYPES = {
    "Integer": Type.INTEGER,
    "Decimal": Type.DECIMAL,
    "Date/Time": Type.DATE,
    "Date": Type.DATE,
    "Ordinal": Type.ORDINAL,
    "String": Type.CATEGORY,
}
"""The data types of ARX; a string there is a value without an order, as in most of its hierarchies."""
SDC_ROLES = {
    "keyVars": Role.QUASI,
    "numVars": Role.QUASI,
    "pramVars": Role.QUASI,
    "ghostVars": Role.QUASI,
    "strataVar": Role.QUASI,
    "sensibleVar": Role.CONFIDENTIAL,
    "sensitiveVar": Role.CONFIDENTIAL,
    "weightVar": Role.WEIGHT,
    "excludeVars": Role.DROP,
}
"""The arguments of sdcMicro's `createSdcObj`."""
SDC_UNIT = "hhId"
_ROLE_WORDS = {
    **{word.casefold(): role for word, role in ARX_ROLES.items()},
    **{word.removesuffix("_ATTRIBUTE").casefold(): role for word, role in ARX_ROLES.items()},
    **{word.casefold(): role for word, role in SDC_ROLES.items()},
    **{role.value: role for role in Role},
    "sensitive": Role.CONFIDENTIAL,
    "quasi-identifier": Role.QUASI,
    "quasi-identifying": Role.QUASI,
    "key": Role.QUASI,
    "id": Role.IDENTIFIER,
}
"""Every word for a role that a list of attributes may use."""


@dataclass(frozen=True)
class Settings:
    """What another program was told about a table: roles, types, hierarchies, and whose rows belong together.

    `hierarchies` has the lines of each attribute's hierarchy and where they were read; `notes` says what was not taken over.
    """

    source: str
    roles: Mapping[str, Role] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, tuple[Rows, str]] = field(default_factory=dict)
    unit: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def codebook(self) -> Codebook:
        """The types and date formats as a codebook, which a draft reads like any other."""
        names = dict.fromkeys((*self.types, *self.formats))
        return Codebook(
            tuple(ColumnDescription(name, type=self.types.get(name), format=self.formats.get(name)) for name in names),
            self.source,
        )


# --- hierarchies --------------------------------------------------------------------------------------------------------


def match_hierarchies(folder: str | os.PathLike[str], names: Iterable[str]) -> dict[str, tuple[Rows, str]]:
    """The hierarchy files of a folder that belong to columns: `age.csv`, `adult_hierarchy_age.csv`, `hierarchy-age.csv`.

    A file belongs to the column whose name its own name is, or ends with after a sign; of several columns the longest name
    counts, and a file of a column's very name comes before others. Small and large letters are the same.

    Raises     UsageError for a folder that is none, for two files that belong to one column, and for a file that is no hierarchy.
    """
    where = Path(folder)
    if not where.is_dir():
        near = near_path(where)
        likely = near if near is not None and near.is_dir() else None
        raise UsageError(
            "there is no such folder of hierarchies",
            came=where,
            **advise(where, likely, "name a folder with one CSV file a column"),
        )
    columns = sorted(names, key=len, reverse=True)
    found: dict[str, Path] = {}
    for path in sorted(where.glob("*.csv")):
        name = next((name for name in columns if _belongs(path.stem, name)), None)
        if name is None:
            continue
        if name in found and _plain(found[name].stem) == _plain(path.stem):
            raise UsageError(
                f"column '{name}': two hierarchy files have its name",
                came=f"{found[name].name}, {path.name}",
                fix="keep one",
            )
        if name not in found or _plain(path.stem) == _plain(name):
            found[name] = path
        elif _plain(found[name].stem) != _plain(name):
            raise UsageError(
                f"column '{name}': two hierarchy files may be meant",
                came=f"{found[name].name}, {path.name}",
                fix="keep one",
            )
    return {name: (_read_hierarchy(path), path.name) for name, path in found.items()}


def _belongs(stem: str, name: str) -> bool:
    own, column = _plain(stem), _plain(name)
    return bool(column) and (own == column or own.endswith(f" {column}"))


def _plain(text: str) -> str:
    """A name in small letters, with one blank for every run of signs."""
    return " ".join(re.split(r"[\W_]+", text.casefold())).strip()


def _read_hierarchy(path: Path) -> Rows:
    try:
        content = read_plain_file(path, LARGEST_HIERARCHY, UsageError)
    except OSError as error:
        raise UsageError("a hierarchy file cannot be read", came=f"{path} ({error.strerror})") from None
    return hierarchy_rows(content, path.name)


def hierarchy_rows(content: bytes, source: str, delimiter: str | None = None) -> Rows:
    """The lines of a hierarchy as ARX writes it: no header, one line for each value, all with as many labels."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("a hierarchy file is not UTF-8 text", came=source, fix="save it as UTF-8") from None
    sign = delimiter or max((";", ",", "\t"), key=text.partition("\n")[0].count)
    try:
        rows = tuple(tuple(row) for row in csv.reader(io.StringIO(text), delimiter=sign) if row)
    except csv.Error as error:
        raise UsageError("a hierarchy file is no CSV file", came=f"{source} ({error})") from None
    if not rows or len({len(row) for row in rows}) > 1:
        raise UsageError(
            "a hierarchy file does not have one line of as many labels for each value",
            came=source,
            fix="export it again",
        )
    return rows


# --- settings -----------------------------------------------------------------------------------------------------------


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """Read what another program was told: an ARX project (`.deid`), or a list of attributes or key variables as CSV or JSON.

    CSV       one line for each attribute, with heads such as `attribute, type` (ARX) or `variable, role` (sdcMicro)
    JSON      {"age": "QUASI_IDENTIFYING_ATTRIBUTE", ...}, or {"keyVars": ["age", "sex"], "weightVar": "w", "hhId": "house"}

    Raises     UsageError where it is none of these, or gives one attribute two roles.
    """
    where = Path(path)
    ending = where.suffix.lower()
    if ending == ".deid":
        return _of_project(where)
    if ending not in (".csv", ".json"):
        raise UsageError("settings of an unknown kind", came=where, allowed=".deid, .csv, .json")
    try:
        text = read_plain_file(where, LARGEST_HIERARCHY, UsageError).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the settings are not UTF-8 text", came=where, fix="save them as UTF-8") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a name of a file"
        near = near_path(where) if isinstance(error, FileNotFoundError) else None
        raise UsageError("the settings cannot be read", came=f"{where} ({why})", **advise(where, near)) from None
    if ending == ".csv":
        return _of_pairs(_pairs_of_csv(text, where.name), where.name)
    pairs, other = _pairs_of_json(text, where.name)
    made = _of_pairs(pairs, where.name)
    if not other:
        return made
    note = f"{where.name} says things that are not known here and were passed over: {', '.join(other[:6])}"
    return replace(made, notes=(*made.notes, note + (f" and {len(other) - 6} more" if len(other) > 6 else "")))


def _of_pairs(pairs: Iterable[tuple[str, str]], source: str) -> Settings:
    """Settings from pairs of a column and the word for its role."""
    roles: dict[str, Role] = {}
    units: list[str] = []
    for name, word in pairs:
        if word.casefold() == SDC_UNIT.casefold():
            units.append(name)
            roles.setdefault(name, Role.IDENTIFIER)
            continue
        role = _ROLE_WORDS.get(word.casefold())
        if role is None:
            raise UsageError(
                f"column '{name}': a role that is not known",
                came=f"{word} in {source}",
                allowed=", ".join((*ARX_ROLES, *SDC_ROLES, SDC_UNIT, *(role.value for role in Role))),
            )
        if roles.get(name, role) is not role:
            raise UsageError(
                f"column '{name}': the settings give it two roles",
                came=f"{roles[name].value}, and {role.value} in {source}",
                fix="keep one of the two",
            )
        roles[name] = role
    if len(units) > 1:
        raise UsageError(
            "the settings name two columns whose rows belong together", came=f"{', '.join(units)} in {source}"
        )
    if not roles:
        raise UsageError("the settings name no column", came=source)
    notes = []
    if units:
        notes.append(
            f"'{units[0]}' says which rows belong together: in sdcMicro a household, here the unit whose rows are hidden together"
        )
    return Settings(source, roles, unit=units[0] if units else None, notes=tuple(notes))


def _pairs_of_csv(text: str, source: str) -> list[tuple[str, str]]:
    first = text.partition("\n")[0]
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=max((",", ";", "\t"), key=first.count)) if any(row)]
    heads = [each.strip().casefold() for each in rows[0]] if rows else []
    names = [head for head in heads if head in ("attribute", "variable", "column", "name")]
    words = [head for head in heads if head in ("type", "role", "attribute type", "attribute_type", "kind")]
    if not names or not words:
        raise UsageError(
            "the settings have no head that names columns and their roles",
            came=f"{', '.join(heads)[:200]} in {source}",
            allowed="attribute or variable, and type or role",
        )
    name, word = heads.index(names[0]), heads.index(words[0])
    return [
        (row[name].strip(), row[word].strip())
        for row in rows[1:]
        if len(row) > max(name, word) and row[name].strip() and row[word].strip()
    ]


def _pairs_of_json(text: str, source: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Columns and the words for their roles, and the keys that say something else."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError("the settings are no JSON", came=source) from None
    if isinstance(told, dict) and isinstance(told.get("attributes"), dict | list):
        told = told["attributes"]
    found: list[tuple[str, str]] = []
    other: list[str] = []
    if isinstance(told, list):
        for each in told:
            name, word = (
                _first(each, ("name", "attribute", "variable")),
                _first(each, ("type", "role", "attributeType")),
            )
            found += [(name, word)] if name and word else []
    elif isinstance(told, dict):
        arguments = {*SDC_ROLES, SDC_UNIT}
        for key, value in told.items():
            word = _first(value, ("type", "role", "attributeType"))
            if key in arguments:
                found += [(name, key) for name in _names(value, key, source)]
            elif word:
                found.append((key, word))
            elif isinstance(value, str) and value.casefold() in _ROLE_WORDS:
                found.append((key, value))
            else:
                other.append(key)
    if not found:
        raise UsageError(
            "the JSON holds no settings that are known",
            came=source,
            allowed='{"age": "QUASI_IDENTIFYING_ATTRIBUTE"}, or {"keyVars": ["age"], "sensibleVar": "income"}',
        )
    return found, other


def _first(value: Any, keys: Sequence[str]) -> str | None:
    if not isinstance(value, dict):
        return None
    return next((value[key].strip() for key in keys if isinstance(value.get(key), str) and value[key].strip()), None)


def _names(value: Any, key: str, source: str) -> list[str]:
    """The names that an argument of sdcMicro lists; ghost variables are lists inside each other."""
    if isinstance(value, str):
        return [value]
    if value is None or value == {}:  # R's NULL, as jsonlite writes it
        return []
    if isinstance(value, list):
        return [name for each in value for name in _names(each, key, source)]
    raise UsageError(
        f"{key} names columns by their numbers" if isinstance(value, int | float) else f"{key} names no columns",
        came=source,
        allowed="names of columns",
        fix="in R: names(data)[keyVars]",
    )


# --- ARX projects ---------------------------------------------------------------------------------------------------------


def _of_project(path: Path) -> Settings:
    """The attribute types, data types and hierarchies of an ARX project; its table and its results are not unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_project(archive, path.name)
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no ARX project"
        raise UsageError("the ARX project cannot be read", came=f"{path} ({why})", fix="save it again in ARX") from None


def _read_project(archive: zipfile.ZipFile, source: str) -> Settings:
    if len(archive.infolist()) > MOST_FILES:
        raise UsageError("the ARX project holds too many files", came=source, allowed=f"at most {MOST_FILES:,}")
    names = set(archive.namelist())
    if _DEFINITION not in names:
        raise UsageError(
            "the ARX project holds no settings of attributes", came=source, allowed=f"a file {_DEFINITION}"
        )
    project = read_markup(_unpacked(archive, _PROJECT, source), source) if _PROJECT in names else None
    separator = None if project is None else project.text_of("separator")
    roles: dict[str, Role] = {}
    types: dict[str, Type] = {}
    formats: dict[str, str] = {}
    hierarchies: dict[str, tuple[Rows, str]] = {}
    notes: list[str] = []
    for each in read_markup(_unpacked(archive, _DEFINITION, source), source).below("assigment"):
        name, word = each.text_of("name"), each.text_of("type")
        if name is None or word is None:
            continue
        role = ARX_ROLES.get(word, Role.QUASI if word.startswith("GeneralizationHierarchy") else None)
        if role is None:
            notes.append(f"'{name}': ARX's attribute type {word} is not known here, so its role was not taken over")
        else:
            roles[name] = role
        _take_type(each, name, types, formats, notes)
        place = f"input/{each.text_of('ref') or f'hierarchies/{name}.csv'}"
        if place in names:
            rows = hierarchy_rows(_unpacked(archive, place, source), f"{source}: {place}", separator)
            hierarchies[name] = (rows, f"{source}: {place}")
    if not roles:
        raise UsageError("the ARX project gives no attribute a type", came=source)
    return Settings(source, roles, types, formats, hierarchies, notes=tuple(notes))


def _take_type(
    each: MarkupElement, name: str, types: dict[str, Type], formats: dict[str, str], notes: list[str]
) -> None:
    """The data type of an attribute, and the form of its dates where it can be said in our signs."""
    word, form = each.text_of("datatype"), each.text_of("format")
    kind = ARX_TYPES.get(word or "")
    if kind is None:
        return
    if kind is Type.DATE and form is not None:
        signs = date_signs(form)
        if signs is None:
            notes.append(f"'{name}': ARX's date format {form} is not known here; write the format into the policy")
            return
        formats[name] = signs
        kind = Type.DATETIME if re.search("[Hhms]", form) else Type.DATE
    types[name] = kind


_JAVA_SIGNS = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "ss": "%S", "a": "%p",
}  # fmt: skip


def date_signs(form: str) -> str | None:
    """A date format in the signs of Java, as ARX has them, in those of a policy; None where a sign is not known.

    >>> date_signs("dd.MM.yyyy"), date_signs("yyyy-MM-dd HH:mm"), date_signs("w yyyy")
    ('%d.%m.%Y', '%Y-%m-%d %H:%M', None)
    """
    found = []
    for part in re.findall(r"[A-Za-z]+|[^A-Za-z]+", form):
        if part[0].isalpha():
            runs = [match[0] for match in re.finditer(r"(.)\1*", part)]
            if not all(run in _JAVA_SIGNS for run in runs):
                return None
            found += [_JAVA_SIGNS[run] for run in runs]
        elif "'" in part or "%" in part:
            return None
        else:
            found.append(part)
    return "".join(found)


def _unpacked(archive: zipfile.ZipFile, name: str, source: str) -> bytes:
    with archive.open(name) as file:
        content = file.read(LARGEST_HIERARCHY + 1)
    if len(content) > LARGEST_HIERARCHY:
        raise UsageError(
            "a file of the ARX project is too large", came=f"{name} in {source}", allowed=f"{LARGEST_HIERARCHY:,} bytes"
        )
    return content
