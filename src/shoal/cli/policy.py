"""`shoal policy`: check, show and compare policies, print their JSON Schema, and confirm what a draft read off the data."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, group, json_option
from shoal.cli.terminal.policy_file import load_policy
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.policy.confirmation import ProfiledKey
    from shoal.policy.confirmation_question import ConfirmationQuestion
    from shoal.policy.missing_codes import OpenCodes
    from shoal.policy.policy import Policy

LOCK = "policy.lock.yaml"
"""The locked plan of a release folder."""
LONGEST = 60
"""Letters of a value that are shown in a line; JSON has all."""


@group(
    "policy",
    examples=("shoal policy check policy.yaml", "shoal policy confirm policy.yaml"),
    next_step=("See what the policy promises.", "shoal plan policy.yaml"),
)
def policy() -> None:
    """Check a policy, show it with its defaults, compare two, and confirm what a draft read off the data."""


@command(
    "check",
    parent=policy,
    examples=("shoal policy check policy.yaml", "shoal policy check policy.yaml --json"),
    next_step=("Confirm what was drafted from the data, then plan.", "shoal policy confirm policy.yaml"),
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def check_policy(file: Path, as_json: bool) -> None:
    """Read a policy, and say what it asks for, what it promises, and what nobody has confirmed yet; no table is opened."""
    from shoal.policy.missing_codes import open_codes

    found = load_policy(file)
    roles: dict[str, list[str]] = {}
    for attribute in found.schema.attributes:
        roles.setdefault(attribute.role.value, []).append(attribute.name)
    profiled, undecided = list(found.profiled_keys()), open_codes(found)
    planned = _plan_fields(found)
    undeclared = [each.name for each in found.schema.attributes if each.published and each.domain is None]
    fields = {
        "file": str(file),
        "dataset": found.dataset,
        "unit": found.unit.words(),
        "attributes": roles,
        "profiled": profiled,
        "undeclared": undeclared,
        "undecided": [each.key for each in undecided],
        "plan": planned,
        "lock": found.lock().sha256,
    }
    if as_json:
        output.print_json(fields)
        return
    rows = [
        ("dataset", found.dataset),
        ("unit", found.unit.words()),
        *((role, ", ".join(names)) for role, names in roles.items()),
        *([("no domain", ", ".join(undeclared))] if undeclared else []),
        ("plan", "none: it asks for no release" if planned is None else planned["words"]),
        ("lock", found.lock().sha256[:16]),
    ]
    output.print_line(f"{file} is a policy without errors")
    output.print_facts(rows)
    for note in planned["notes"] if planned is not None else ():
        output.note(note)
    if planned is None:
        domains = "fill in the domains that are missing, then " if undeclared else ""
        output.note(
            f"nothing can be released: {domains}add a `release:` block such as `release: {{epsilon: 1, delta: 1e-6}}` "
            f"(a draft has one: take the # off its lines), and check again: shoal policy check {shlex.quote(str(file))}"
        )
    if undecided:
        _tell_undecided(undecided, file)
    if profiled:
        columns = found.profiled_columns()
        output.print_paragraph(
            f"read off the data, confirmed by nobody: {output.count_text(len(columns), 'column')}: {', '.join(columns)}"
        )
        output.note(f"confirm what is known without the data: shoal policy confirm {shlex.quote(str(file))}")


def _plan_fields(found: Policy) -> dict[str, Any] | None:
    """The plan in short; None for a policy that asks for no release."""
    from shoal.publish.plan.methods import plan

    if found.release is None:
        return None
    made = plan(found)
    first = made.claims[0]
    return {
        "method": found.release.method,
        "guarantee": first.guarantee.to_saved(),
        "status": first.status.value,
        "words": made.headline,
        "notes": made.notes,
    }


@command(
    "show",
    parent=policy,
    examples=("shoal policy show policy.yaml", "shoal policy show visits-2026 --json"),
    next_step=("Compare it with what was released.", "shoal policy diff visits-2026 policy.yaml"),
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def show_policy(file: Path, as_json: bool) -> None:
    """Show a policy, or the plan of a release folder, with all defaults written out, as it is locked and hashed."""
    text = _lock_text(file)
    if as_json:
        output.print_json({"file": str(file), "sha256": _hash(text), "keys": dict(_leaves(_read_lock(text)))})
    else:
        output.print_lines(text.rstrip("\n"))
        output.note(f"lock {_hash(text)}")


@command(
    "diff",
    parent=policy,
    examples=("shoal policy diff visits-2026 policy.yaml", "shoal policy diff policy.yaml policy.yaml --json"),
    next_step=("See what the second one promises.", "shoal plan policy.yaml"),
)
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@json_option
def diff_policies(first: Path, second: Path, as_json: bool) -> None:
    """List the keys in which two policies differ in meaning; comments, order, spelling and defaults do not count.

    Each of the two is a policy file, a locked plan (policy.lock.yaml), or a release folder, which holds one.
    """
    texts = [_lock_text(each) for each in (first, second)]
    one, other = (dict(_leaves(_read_lock(text))) for text in texts)
    differs = [key for key in dict.fromkeys((*one, *other)) if one.get(key, _ABSENT) != other.get(key, _ABSENT)]
    if as_json:
        fields = [{"key": key, "first": one.get(key), "second": other.get(key)} for key in differs]
        output.print_json({"same": not differs, "locks": [_hash(text) for text in texts], "differences": fields})
        return
    if not differs:
        output.print_line(f"no difference in meaning: both have the lock {_hash(texts[0])[:16]}")
        return
    rows = [(key, _value_text(one.get(key, _ABSENT)), _value_text(other.get(key, _ABSENT))) for key in differs]
    output.print_table(("key", str(first), str(second)), rows)


@command(
    "schema",
    parent=policy,
    examples=("shoal policy schema", "shoal policy schema --json"),
    next_step=(
        "Save it, name it in the first line of a policy (# yaml-language-server: $schema=FILE), and an editor knows its keys.",
        "shoal policy check policy.yaml",
    ),
)
@json_option
def print_schema(as_json: bool) -> None:
    """Print the JSON Schema (draft 7) of policy files, for editors and other programs."""
    from shoal.policy.text.keys import json_schema, json_schema_text

    if as_json:
        output.print_json({"schema": json_schema()})
    else:
        output.print_lines(json_schema_text().rstrip("\n"))


# --- confirming ------------------------------------------------------------------------------------------------------


@command(
    "confirm",
    parent=policy,
    examples=("shoal policy confirm policy.yaml", "shoal policy confirm policy.yaml --yes age.domain zip"),
    next_step=("See what the policy promises now.", "shoal plan policy.yaml"),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("more", nargs=-1, metavar="[KEY]...")
@click.option(
    "--yes",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Confirm this one and those after it: age.domain, or age for all.",
)
@click.option("--all", "every", is_flag=True, help="Confirm everything that was drafted from the data.")
@json_option
def confirm_policy(file: Path, more: Sequence[str], keys: Sequence[str], every: bool, as_json: bool) -> None:
    """Declare, one by one, what a draft read off the data and you know without them: from a codebook, a law, an instrument.

    What is confirmed becomes `declared` in FILE; comments stay. What is not stays `profiled`, and the certificate says so. Values
    that look like codes for missing ones are asked about first; --yes hours.missing_values takes those of a column for such.
    """
    from shoal.files.write import write
    from shoal.policy.confirmation import confirm, find_profiled, profiled
    from shoal.policy.missing_codes import open_codes, settle_codes

    if more and not keys:
        raise UsageError("keys are confirmed by --yes", came=" ".join(more), fix="write --yes before the first of them")
    keys = (*keys, *more)
    found = load_policy(file)
    with progress.spinner("looking for what came from the data"):
        waiting, codes = profiled(found), open_codes(found)
    asked = not every and not keys and bool(waiting or codes)
    if asked:
        _refuse_nobody([*codes, *waiting], as_json=as_json)
        given = _ask(found, codes, file)
    else:
        missing = [each for each in codes if set(each.names) & set(keys)]
        said = settle_codes(found, missing)
        others = [key for key in keys if not any(key in each.names for each in missing)]
        given = _Answers(said, list(profiled(said) if every else find_profiled(said, others)), missing)
    with progress.stages("declaring") as stage:
        made, chosen = confirm(given.policy, given.chosen), given.chosen
        before, after = found.profiled_columns(), made.profiled_columns()
        if made.text != found.text:
            stage("writing the policy")
            _refuse_changed(file, found)
            write(file, made.dump(), force=True)
            output.note_effect(
                f"what {file} says of {output.count_text(len(before) - len(after), 'column')} became declared"
            )
        stage("looking for what is left")
        left, undecided = [each.key for each in profiled(made)], open_codes(made)
    if as_json:
        output.print_json(
            {
                "file": str(file),
                "confirmed": [*(code.key for code in given.missing), *(each.key for each in chosen)],
                "left": left,
                "undecided": [each.key for each in undecided],
            }
        )
        return
    if asked:  # whoever was asked has just read them
        output.tell()
        output.print_line(f"declared: {len(before) - len(after):,} of {output.count_text(len(before), 'column')}")
    else:
        _tell_chosen(given)
    if undecided:
        _tell_undecided(undecided, file)
    if not waiting and not codes:
        output.print_line("nothing in the policy was drafted from the data: there is nothing to confirm")
    elif not left:
        output.print_line("everything in the policy is declared")
    else:
        output.print_paragraph(
            f"still read off the data: {output.count_text(len(after), 'column')}: {', '.join(after)}"
        )
        output.note(
            "write what is known into the file and say `provenance: declared`, or let the certificate say how it is"
        )
    output.tell(f"next: shoal plan {shlex.quote(str(file))}")


def _tell_chosen(given: _Answers) -> None:
    """Say what was settled by keys that were named."""
    for each in given.chosen:
        output.print_paragraph(f"declared: {each.statement}")
    for code in given.missing:
        output.print_paragraph(f"missing values of '{code.attribute}': {', '.join(code.codes)}")


def _tell_undecided(codes: Sequence[OpenCodes], file: Path) -> None:
    """Say which columns have values of which nobody has said whether they stand for a missing one."""
    listed = "; ".join(f"{each.attribute}: {', '.join(each.codes)}" for each in codes)
    output.print_paragraph(f"may stand for missing values, and count as values like others: {listed}")
    output.note(
        f"say which do: shoal policy confirm {shlex.quote(str(file))}, at a terminal, or with --yes "
        f"{' '.join(shlex.quote(each.names[-1]) for each in codes)}"
    )


def _refuse_nobody(waiting: Sequence[ProfiledKey | OpenCodes], *, as_json: bool) -> None:
    """Refuse to ask where nobody can answer."""
    if as_json or not output.can_ask():
        raise UsageError(
            "nobody is here to be asked",
            came=f"{output.count_text(len(waiting), 'key')} that a draft read off the data",
            allowed=f"a terminal, --yes KEY, or --all; keys: {', '.join(each.key for each in waiting)}",
            fix="confirm only what is known without the data",
        )


class _StoppedError(Exception):
    """A person has answered enough."""


@dataclass
class _Answers:
    """What a person has said so far: the policy with the domains that were typed, the keys that were confirmed, missing codes."""

    policy: Policy
    chosen: list[ProfiledKey] = field(default_factory=list)
    missing: list[OpenCodes] = field(default_factory=list)
    told: set[str] = field(default_factory=lambda: {""})
    """Sentences that were printed, which are not printed again."""


def _ask(policy: Policy, codes: Sequence[OpenCodes], file: Path) -> _Answers:
    """Put the questions; what was answered with yes, and the policy with what was typed."""
    given = _Answers(policy)
    with contextlib.suppress(_StoppedError):
        if codes:
            _ask_codes(codes, given)
        _ask_profiled(file, given)
    return given


def _ask_codes(codes: Sequence[OpenCodes], given: _Answers) -> None:
    """Ask which codes stand for a missing value, before the domains are shown that depend on it."""
    from shoal.policy.missing_codes import settle_codes

    alike: dict[str, list[OpenCodes]] = {}
    for each in codes:
        alike.setdefault(", ".join(each.codes), []).append(each)
    output.tell(f"Values that may stand for missing ones, in {output.count_text(len(codes), 'column')}", bold=True)
    output.tell_paragraph(_CODES)
    values: list[OpenCodes] = []
    try:
        _put_codes(list(alike.values()), given.missing, values)
    finally:
        given.policy = settle_codes(given.policy, given.missing, values)
    output.tell()


_CODES = "yes: such cells are missing, and the domains go without the codes. no: they are values like others."
_WHY_CODES = (
    "A code such as 99 that is read as a number moves every mean towards it and widens the bounds, so that labels are coarser "
    "and noise is larger. Answer by the codebook or the questionnaire, which hold whoever is in the table."
)


def _put_codes(lines: Sequence[Sequence[OpenCodes]], missing: list[OpenCodes], values: list[OpenCodes]) -> None:
    """Ask about columns with the same codes, a line for each set of codes; each, line by line and then column by column."""
    columns = [each for line in lines for each in line]
    output.tell_facts([(", ".join(line[0].codes), ", ".join(each.attribute for each in line)) for line in lines])
    answers = ("yes", "no", *(("each",) if len(columns) > 1 else ()), "why", "stop")
    question = "Do they stand for a missing value in all of these columns?" if len(columns) > 1 else _ONE_CODE
    while (answer := output.ask(f"  {question} [{'/'.join(answers)}] ", answers)) == "why":
        output.tell_paragraph(_WHY_CODES, indent="  ", further="  ")
    if answer == "stop":
        raise _StoppedError
    if answer == "each":
        for part in lines if len(lines) > 1 else [[each] for each in columns]:
            output.tell()
            _put_codes([part], missing, values)
    else:
        (missing if answer == "yes" else values).extend(columns)


_ONE_CODE = "Does it stand for a missing value there?"


def _ask_profiled(file: Path, given: _Answers) -> None:
    """Ask what of the policy is known without the table."""
    from shoal.policy.confirmation import profiled
    from shoal.policy.confirmation_question import confirmation_questions

    policy = given.policy
    questions = confirmation_questions(policy, profiled(policy))
    if not questions:
        return
    output.tell(
        f"What the policy says of {output.count_text(len(policy.profiled_columns()), 'column')} was read off the data: "
        f"{output.count_text(len(questions), 'question')}.",
        bold=True,
    )
    output.tell_paragraph(_INTRODUCTION)
    if any(" counted: " in each.finding for question in questions for each in question.columns):
        output.tell_paragraph(_COUNTED)
    for number, each in enumerate(questions, 1):
        output.tell()
        output.tell(f"{number} of {len(questions)}: {each.subject}", bold=True)
        _put(each, file, given)


_INTRODUCTION = (
    "What is read off a table can tell of somebody in it: the oldest, the only one with a value. Answer yes to what you would "
    "have written without this table: it becomes declared, on your word. After a no the certificate says that the plan was tuned "
    "on the data. Also: other (you type what you know), each (one by one), why, stop (keeps the answers). The first letter is "
    "enough."
)


_COUNTED = (
    "This policy publishes noisy counts: of each column what is said to be counted, of pairs of columns the same in larger "
    "cells. Wider steps are not published."
)


def _put(question: ConfirmationQuestion, file: Path, given: _Answers) -> None:
    """Put one question, as often as it takes; each, into its parts."""
    _show(question, file, given.told)
    parts, typable = question.open(), _typable(question, given.policy)
    answers = ("yes", "no", *(("other",) if typable else ()), *(("each",) if parts else ()), "why", "stop")
    while (answer := output.ask(f"  {question.question} [{'/'.join(answers)}] ", answers)) == "why":
        output.tell_paragraph(question.why, indent="  ", further="  ")
    if answer == "stop":
        raise _StoppedError
    if answer == "yes":
        given.chosen.extend(question.keys)
    elif answer == "other":
        _put_rest(question, _type(typable, given), file, given)
    elif answer == "each":
        for part in parts:
            output.tell()
            output.tell(f"  {part.subject}", bold=True)
            _put(part, file, given)
    else:
        output.tell("  It stays as it is.")


def _typable(question: ConfirmationQuestion, policy: Policy) -> list[str]:
    """The columns of a question whose domain stands in the policy itself, so that another can be typed."""
    keys = (key for key in question.keys if "domain" in key.parts)
    return [key.attribute for key in keys if policy.attributes[key.attribute].domain is not None]


def _type(names: Sequence[str], given: _Answers) -> set[str]:
    """Let a person type the domains of columns; those that were typed are declared."""
    from shoal.data.type import Type
    from shoal.errors import PolicyError
    from shoal.policy.confirmation import declare_domain

    dated = all(given.policy.attributes[name].type in (Type.DATE, Type.DATETIME) for name in names)
    bounds = "2020-01-01 to 2024-12-31" if dated else "0 to 120"
    output.tell_paragraph(
        f"Type two bounds ({bounds}), values with commas between them, or a pattern, as the column has it; Enter leaves it, "
        "stop ends the questions.",
        indent="  ",
        further="  ",
    )
    typed = set()
    for name in names:
        while line := output.ask_line(f"  {name}:"):
            if line.lower() == "stop" and not _is_value(given.policy, name, line):
                raise _StoppedError
            try:
                given.policy = declare_domain(given.policy, name, line)
            except PolicyError as error:
                output.tell_paragraph(f"{error}", indent="    ", further="    ")
            else:
                typed.add(name)
                break
    return typed


def _is_value(policy: Policy, name: str, line: str) -> bool:
    """Whether a word that ends the questions is one of the values that a column has."""
    return line in getattr(policy.schema[name].domain, "values", ())


def _put_rest(question: ConfirmationQuestion, typed: set[str], file: Path, given: _Answers) -> None:
    """Ask for what is left of a question after some domains were typed."""
    from shoal.policy.confirmation import profiled
    from shoal.policy.confirmation_question import confirmation_questions

    asked = {part for key in question.keys for part in key.keys}
    left = [key for key in profiled(given.policy) if asked.intersection(key.keys)]
    output.tell(f"  Declared as typed: {', '.join(sorted(typed)) or 'nothing'}.")
    for each in confirmation_questions(given.policy, left):
        _put(each, file, given)


def _show(question: ConfirmationQuestion, file: Path, told: set[str]) -> None:
    """Show what a yes declares: a line for each column, or for columns that are alike; groups with their members.

    What proposed bounds are is said once.
    """
    alone = len({key.attribute for key in question.keys}) == 1
    for each in question.columns:
        if len(each.names) > 1:
            output.tell_paragraph(f"{', '.join(each.names)}:", indent="  ", further="  ")
            output.tell_paragraph(each.finding, indent="      ", further="      ")
        elif alone and each.finding and not each.groups:
            output.tell_paragraph(each.finding, indent="  ", further="  ")
        if each.groups:
            output.tell_facts(each.groups)
            if each.finding:
                output.tell_paragraph(each.finding, indent="  ", further="  ")
    single = [(each.names[0], each.finding) for each in question.columns if len(each.names) == 1]
    if single and not alone:
        output.tell_facts(single)
    if question.seen not in told:
        output.tell_paragraph(question.seen, indent="  ", further="  ")
        told.add(question.seen)
    if question.shortened:
        output.tell_paragraph(f"All of them stand in {file}, or in the hierarchy file that it names.", indent="  ")


def _refuse_changed(file: Path, found: Policy) -> None:
    """Refuse to write over what somebody else wrote while the questions were answered."""
    from shoal.data.plain_file import LARGEST_YAML, read_plain_file

    try:
        text = read_plain_file(file, LARGEST_YAML).decode("utf-8-sig")
    except (OSError, ValueError):
        text = None
    if text != found.text:
        raise UsageError(
            "the policy was changed while it was being confirmed",
            came=file,
            fix="nothing was written: confirm it again",
        )


# --- locks -----------------------------------------------------------------------------------------------------------

_ABSENT = object()
"""What stands for a key that is not there."""


def _lock_text(path: Path) -> str:
    """The canonical text of a policy file, or the one that a release folder or a lock file holds."""
    from shoal.data.plain_file import LARGEST_YAML, read_plain_file
    from shoal.errors import PolicyError
    from shoal.policy.policy import Policy

    place = path / LOCK if path.is_dir() else path
    try:
        text = read_plain_file(place, LARGEST_YAML).decode("utf-8-sig")
        _read_lock(text)
    except OSError as error:
        raise PolicyError(
            "the policy cannot be read",
            came=f"{place} ({error.strerror})",
            fix="name a policy file or a release folder",
        ) from None
    except ValueError:  # no lock: a policy as a person writes it
        return Policy.load(path).lock().text
    return text


def _read_lock(text: str) -> dict[str, Any]:
    from shoal.publish.verify.standalone import read_lock

    return read_lock(text)


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def _leaves(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a lock that holds a value, with dots between its parts, and the number of an item of a list of mappings."""
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, f"{before}{name}.")
        elif isinstance(item, list) and item and all(isinstance(each, dict) for each in item):
            for place, each in enumerate(item):
                yield from _leaves(each, f"{before}{name}[{place}].")
        else:
            yield f"{before}{name}", item


def _value_text(value: object) -> str:
    import json

    if value is _ABSENT:
        return "-"
    return _shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _shown(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
