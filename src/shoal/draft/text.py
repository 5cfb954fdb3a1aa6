"""The words of a draft: the policy with a comment for each column, its hierarchy files, and how they are written down."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.data.schema import STANDARD, Role
from shoal.draft.codes.table import Labels
from shoal.errors import NextCommand, PolicyError, UsageError
from shoal.files.write import free_name, refuse_overwriting, write
from shoal.policy.confirmation import profiled
from shoal.policy.confirmation_question import confirmation_questions
from shoal.policy.model.method import MOST_COLUMNS
from shoal.policy.text.reading import read_yaml

if TYPE_CHECKING:
    from shoal.draft.draft import Draft, DraftedColumn

WIDTH = 118
_ROOM = WIDTH - 22
"""The longest line that has room for a remark."""
POLICY_FILE = "policy.yaml"
SCHEMA_FILE = "policy.schema.json"
"""The JSON Schema of policies, which lies beside a draft so that editors know its keys."""
_SAFE = re.compile(r"(?:\w|[.-](?=[0-9]))[\w./+-]*(?: [\w./+-]+)*", re.ASCII)
"""What YAML reads as it is written, without quotes."""
_TITLES = {
    Role.IDENTIFIER: "identifier",
    Role.QUASI: "quasi-identifier",
    Role.CONFIDENTIAL: "confidential",
    Role.OTHER: "other",
    Role.WEIGHT: "weight",
    Role.DROP: "dropped",
}
TITLES: Mapping[Role, str] = _TITLES
"""How the role of a column is called in a sentence."""


def policy_text(draft: Draft) -> str:
    """The text of the policy; PolicyError where it would not be read as it was meant."""
    lines = [*_head(draft), *_table(draft), "", "attributes:"]
    for column in draft.columns:
        lines += ["", *_attribute(column)]
    lines += ["", *_release(draft)]
    text = "\n".join(lines) + "\n"
    _check_same_meaning(text, draft)
    return text


def _head(draft: Draft) -> Iterator[str]:
    yield "# yaml-language-server: $schema=policy.schema.json"
    yield "#"
    looked = (
        f"from the names of its columns and from its {draft.rows:,} rows"
        if draft.looked_at
        else "from the names of its columns; no value was looked at"
    )
    yield from _comment(f"A draft of a policy for {draft.source}, made {looked}. It is a proposal: read every line.")
    if draft.looked_at:
        yield from _comment(
            "What says `provenance: profiled` was read off the table itself. Until a person confirms it (`shoal policy confirm "
            "policy.yaml`), a release is proved for a plan tuned on the data, and its certificate says so. Better than to "
            "confirm is to replace a profiled list by that of a codebook."
        )
    for note in draft.notes:
        yield from _comment(f"Check: {note}.")


def _table(draft: Draft) -> Iterator[str]:
    yield ""
    yield "version: 1"
    yield f"dataset: {scalar(draft.dataset)}"
    yield ""
    yield from _unit(draft)
    yield "neighbours: add_remove"
    written = _file(draft)
    if written:
        yield ""
        yield from _comment("How the file is written. It is fixed here, because no row may decide it.")
        yield f"file: {flow(written)}"


def _unit(draft: Draft) -> Iterator[str]:
    unit = draft.unit
    yield from _comment("Whose contribution is hidden.")
    if unit.column is None:
        yield from _comment(
            f"{unit.reason[0].upper()}{unit.reason[1:]}. If a person can have several rows, name the column"
        )
        yield from _comment("that numbers people: unit: {column: ..., max_rows: 1}")
        yield "unit: row"
        return
    rows = f" A person in the middle has about {unit.typical_rows:,} rows." if unit.typical_rows > 1 else ""
    yield from _comment(
        f"'{unit.column}': {unit.reason}.{rows} With max_rows: 1, one row of each person, drawn at random, takes part. "
        "A larger number keeps more rows and costs more privacy, because the promise then covers all of them at once. Choose it "
        "from what is known of the subject, not from this table."
    )
    yield f"unit: {flow({'column': unit.column, 'max_rows': unit.max_rows})}"


def _file(draft: Draft) -> dict[str, Any]:
    form = draft.file
    found: dict[str, Any] = {}
    if form.encoding != STANDARD.encoding:
        found["encoding"] = form.encoding
    if form.delimiter is not None and form.delimiter != ",":
        found["delimiter"] = "tab" if form.delimiter == "\t" else form.delimiter
    if form.decimal != STANDARD.decimal:
        found["decimal"] = form.decimal
    if form.missing:
        found["missing"] = list(form.missing)
    for key in ("sheet", "table", "query"):
        if getattr(form, key) is not None:
            found[key] = getattr(form, key)
    return found


def _attribute(column: DraftedColumn) -> Iterator[str]:
    """The comment and the keys of one column."""
    yield from _comment(f"{_TITLES[column.role].capitalize()}: {column.reason}.", "  ")
    if column.assumed:
        listed = ", ".join(column.assumed)
        yield from _comment(
            f"Check: {listed} counts as missing; the column would not read as its type otherwise.", "  "
        )
    for note in column.notes:
        yield from _comment(f"{note[0].upper()}{note[1:]}.", "  ")
    if not column.published:
        yield f"  {scalar(column.name)}: {flow(keys_of(column))}"
        return
    yield f"  {scalar(column.name)}:"
    for key, value in keys_of(column).items():
        lines = list(_key(key, value, "    "))
        if key == "domain" and column.domain_provenance == "profiled" and len(lines) == 1 and len(lines[0]) < _ROOM:
            lines = [f"{lines[0]}  # read off the data"]
        yield from lines
    if not column.complete:
        yield "    # domain: ...   # fill in what may occur: [low, high], a list of values, or {pattern: ...}"
    yield from _candidates(column)


def keys_of(column: DraftedColumn) -> dict[str, Any]:
    """The keys of a column as the policy holds them, in the order in which they are written."""
    found: dict[str, Any] = {"role": column.role.value}
    if column.label is not None:
        found["label"] = column.label
    if column.type is not None:
        found["type"] = column.type.value
    if not column.published:
        return found
    for key in ("format", "decimal", "domain", "hierarchy"):
        if getattr(column, key) is not None:
            found[key] = getattr(column, key)
    if column.value_labels:
        found["value_labels"] = dict(column.value_labels)
    if column.missing_values:
        found["missing_values"] = list(column.missing_values)
    if column.outside is not None:
        found["outside"] = column.outside
    origins = {
        key: origin
        for key, origin in (("domain", column.domain_provenance), ("hierarchy", column.hierarchy_provenance))
        if origin == "profiled" and (key in found or (key == "domain" and column.file is not None))
    }
    if origins:
        both = len(origins) == 2 or column.file is not None
        found["provenance"] = "profiled" if both else origins
    return found


def _candidates(column: DraftedColumn) -> Iterator[str]:
    """Values that may stand for a missing one, with what to write if they do."""
    if not column.candidates:
        return
    several = len(column.candidates) > 1
    listed = ", ".join(column.candidates)
    verb = "look like codes for missing values" if several else "looks like a code for a missing value"
    line = f"missing_values: {flow([*column.missing_values, *column.candidates])}"
    said = (
        f"{listed} {verb}. Nothing was assumed: shoal policy confirm asks. If {'they are' if several else 'it is one'}, take the "
        "sign # off the next line"
    )
    if column.domain_without is not None:  # read again by `shoal.policy.missing_codes`
        said += f" and write domain: {flow(column.domain_without)}"
        if column.hierarchy_without is not None:
            said += f" and hierarchy: {flow(column.hierarchy_without)}"
    elif column.rows is not None:
        said += f" and take {'them' if several else 'it'} out of {column.file}"
    elif isinstance(column.domain, list) and column.type is not None and not column.type.numeric:
        said += f" and take {'them' if several else 'it'} out of domain and hierarchy"
    yield from _comment(f"{said}:", "    ")
    yield f"    # {line}"


def _release(draft: Draft) -> Iterator[str]:
    """What is published; a comment as long as a domain is missing."""
    off = "" if draft.complete else "# "
    if off:
        yield from _comment(
            "Some published columns have no domain yet. Fill them in above, then take the sign # off the lines below: without "
            "domains nothing can be promised."
        )
    yield from _comment(
        "What is published, and what is promised of it. The method is left out: it follows from the number of columns "
        "(`shoal plan policy.yaml` says which it is, and `shoal plan policy.yaml --compare` what others would give)."
    )
    row = "one row" if draft.unit.column is None else "one person's rows"
    yield from _comment(
        f"With {row} in the table, the probability of any conclusion is at most e^epsilon times what it is without, plus delta; "
        "and the other way round."
    )
    yield f"{off}release:"
    yield f"{off}  epsilon: 1      # e^1 is a factor of 2.7; smaller hides more"
    yield f"{off}  delta: 1e-6     # keep it far below one over the number of people"
    published = sum(column.role not in (Role.IDENTIFIER, Role.DROP) for column in draft.columns)
    if published <= MOST_COLUMNS:  # of more columns noisy counts are published, whose sum tells it
        yield f"{off}  total: {{epsilon: 0.01}}  # the number of records, with noise, so that estimates have an upper end"
    yield ""
    yield from _comment(
        "The ceiling for everything that is ever published of this table, under this name in the ledger."
    )
    yield f"{off}budget: {{epsilon: 3, delta: 1e-5}}"


def _questions(many: int) -> str:
    return f"{many:,} question{'s' * (many != 1)}"


def sentences(draft: Draft) -> list[str]:
    """What was looked at, whose contribution is hidden, and what a person has to decide."""
    if draft.looked_at:
        noted = f" The look is noted in the ledger {draft.ledger}." if draft.ledger is not None else ""
        said = [f"Looked at: all {draft.rows:,} rows of {draft.source}.{noted}"]
    else:
        said = [f"Looked at: the names and types of the columns of {draft.source}, and no value."]
    unit = draft.unit
    if unit.column is None:
        said.append(f"Unit of privacy: one row; {unit.reason}.")
    else:
        said.append(f"Unit of privacy: one row of each '{unit.column}', drawn at random; {unit.reason}.")
    columns = len(draft.policy.profiled_columns())
    if columns:
        asked = len(confirmation_questions(draft.policy, profiled(draft.policy)))
        said.append(
            f"What the policy says of {columns:,} column{'s' * (columns != 1)} was read off the table (profiled). Until you "
            f"confirm it, which takes {_questions(asked)}, a release is proved for a plan tuned on the data."
        )
    open_columns = [column.name for column in draft.columns if not column.complete]
    if open_columns:
        said.append(f"Fill in the domain of {', '.join(open_columns)}: without domains nothing can be promised.")
    codes = [column.name for column in draft.columns if column.candidates]
    if codes:
        said.append(f"Values that may stand for missing ones: {', '.join(codes)}. `confirm` asks about them.")
    assumed = [column.name for column in draft.columns if column.assumed]
    if assumed:
        said.append(f"Read as missing, because the column has no other type with them: words in {', '.join(assumed)}.")
    return [*said, *(f"Check: {note}." for note in draft.notes)]


def fields(draft: Draft) -> dict[str, Any]:
    """The draft as plain values."""
    unit = draft.unit
    return {
        "dataset": draft.dataset,
        "source": draft.source,
        "rows": draft.rows if draft.looked_at else None,
        "looked_at": draft.looked_at,
        "ledger": draft.ledger,
        "unit": "row" if unit.column is None else {"column": unit.column, "max_rows": unit.max_rows},
        "complete": draft.complete,
        "profiled": list(draft.profiled),
        "columns": [
            {
                "name": column.name,
                "role": column.role.value,
                "type": None if column.type is None else column.type.value,
                "reason": column.reason,
                "provenance": {"domain": column.domain_provenance, "hierarchy": column.hierarchy_provenance},
                "missing_candidates": list(column.candidates),
                "notes": list(column.notes),
            }
            for column in draft.columns
        ],
        "notes": list(draft.notes),
    }


# --- YAML -------------------------------------------------------------------------------------------------------------


def _comment(text: str, indent: str = "") -> list[str]:
    return [
        f"{indent}# {line}" for line in textwrap.wrap(_one_line(text), WIDTH - len(indent) - 2, break_long_words=False)
    ]


def _one_line(text: str) -> str:
    """A text without anything that would end a comment or act on a terminal."""
    return "".join(each if each.isprintable() else " " for each in text)


def scalar(value: object) -> str:
    """One value in YAML: in quotes, unless no reader could take it for anything but what it is."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if _SAFE.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in quoted)


def flow(value: object) -> str:
    """A value in YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def _key(key: str, value: object, indent: str) -> Iterator[str]:
    """One key, on one line where it fits."""
    line = f"{indent}{scalar(key)}: {flow(value)}"
    if len(line) <= WIDTH or not isinstance(value, Mapping | list | tuple):
        yield line
        return
    yield f"{indent}{scalar(key)}:"
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _key(str(name), item, indent + "  ")
        return
    if all(isinstance(item, Mapping) for item in value):
        for item in value:
            yield from _item(item, indent + "  ")
        return
    yield from _wrapped(value, indent + "  ")


def _item(item: Mapping[str, Any], indent: str) -> Iterator[str]:
    """A mapping in a list, its first key after the dash."""
    lines = [line for name, value in item.items() for line in _key(str(name), value, indent + "  ")]
    yield f"{indent}- {lines[0].strip()}"
    yield from lines[1:]


def _wrapped(values: Sequence[object], indent: str) -> Iterator[str]:
    """A list over several lines."""
    line = f"{indent}["
    for place, value in enumerate(values):
        piece = flow(value) + ("]" if place == len(values) - 1 else ",")
        if len(line) + len(piece) + 1 > WIDTH and not line.endswith("["):
            yield line.rstrip()
            line = f"{indent} "
        line += piece + " "
    yield line.rstrip()


def _check_same_meaning(text: str, draft: Draft) -> None:
    """Raise where the text is read otherwise than it was meant: a file is never written on trust."""
    tree = read_yaml(text).tree
    meant = {column.name: _texts(keys_of(column)) for column in draft.columns}
    if not isinstance(tree, dict) or tree.get("attributes") != meant:
        raise PolicyError(
            "these columns cannot be written so that they are read the same", fix="write the policy by hand"
        )


def _texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- files ------------------------------------------------------------------------------------------------------------


def hierarchy_text(rows: Iterable[Labels]) -> str:
    """A hierarchy as ARX writes it: each value with its labels from fine to coarse, semicolons between them."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    writer.writerows((*row, "*") for row in rows)
    return out.getvalue()


def schema_text() -> str:
    """The JSON Schema of policies."""
    return resources.files("shoal.policy").joinpath("policy.schema.json").read_text("utf-8")


def save(draft: Draft, folder: Path, *, force: bool) -> Path:
    """Write all files of a draft into a folder; the policy is the last, so that it is never there without the others."""
    contents = _contents(draft)
    _ = draft.policy  # what is written is a policy that loads
    refuse_existing(draft, folder, force=force)
    new = [path for path in (folder, folder / "hierarchies") if not path.exists()]
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            fresh = not path.exists()
            if not _holds(path, content):
                write(path, content, force=force)
            written += [path] if fresh else []
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        for path in reversed(new):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        raise
    return folder / POLICY_FILE


def refuse_existing(draft: Draft, folder: Path, *, force: bool) -> None:
    """Raise UsageError where a file of the draft is there and may not be replaced."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            "a file stands where the folder of the draft should be", came=folder, fix="name another folder"
        )
    if not folder.exists():
        return
    for name, content in _contents(draft).items():
        path = folder / name
        if path.parent.is_dir() and not (name == SCHEMA_FILE and _holds(path, content)):
            try:
                refuse_overwriting(path, force=force)
            except UsageError as error:
                free = free_name("draft" if folder == Path() else str(folder))
                error.step = NextCommand(option=("--out", free), only=("init",))
                raise


def _contents(draft: Draft) -> dict[str, str]:
    return {SCHEMA_FILE: schema_text(), **draft.files(), POLICY_FILE: draft.policy_text()}


def _holds(path: Path, content: str) -> bool:
    """Whether a file has this very content already."""
    return path.is_file() and path.read_bytes() == content.encode()
