"""The whole error tree: what is wrong, what came, what is allowed, what to do.

    ShoalError                     exit 1   anything we raise on purpose
    ├── OutputError                exit 1   the work was done, and its result cannot be printed
    ├── UsageError                 exit 2   the request is malformed
    │   ├── ParameterError                  a number outside its range
    │   └── PolicyError                     a policy file that cannot be read or is not allowed
    ├── PreconditionError          exit 2   a theorem's premise does not hold, so its promise is not made
    │   └── CompositionError                guarantees that do not compose were asked to
    ├── TargetError                exit 3   the request is well formed and cannot be met
    │   ├── InfeasibleError                 no setting reaches the target
    │   └── VerificationError               something recomputed does not agree
    ├── BudgetError                exit 4   the ledger refuses
    │   └── LedgerError                     the ledger itself cannot be read, written or trusted
    └── DataError                  exit 5   the table is not what the policy says
        └── DomainError                     values outside a declared domain

Every message is built from the same four parts, so that people and programs read one grammar.
A message may quote the policy or the command line, never a record.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


def visible(text: object) -> str:
    r"""A text with everything that a terminal might act on spelled out, such as \x1b for the escape character.

    Names and labels come from files that others made. A message is read on a screen, so it shows them like this; the parts
    of an error, and JSON, have them as they are. A blank that ends no line ("99\u00a0%") is shown as it is.
    """
    words = str(text)
    if words.isprintable():
        return words
    seen = (each.isprintable() or each == "\u00a0" for each in words)
    return "".join(
        each if shown else each.encode("unicode_escape").decode("ascii")
        for each, shown in zip(words, seen, strict=True)
    )


@dataclass(frozen=True)
class NextCommand:
    """The command line to type after an error: another command, or the one that failed, with words replaced and added.

    >>> NextCommand(replace=("vists.csv", "visits.csv")).line(["init", "vists.csv"])
    'shoal init visits.csv'
    >>> NextCommand(("ledger", "show", "visits"), keep="--ledger").line(["release", "p.yaml", "--ledger", "l.sqlite"])
    'shoal ledger show visits --ledger l.sqlite'
    >>> NextCommand(option=("--out", "draft-2")).line(["init", "visits.csv", "--out=draft"])
    'shoal init visits.csv --out=draft-2'
    >>> NextCommand(without_value="--sheet").line(["init", "visits.csv", "--sheet", "a"])
    'shoal init visits.csv'
    >>> NextCommand(without="--new-ledger").line(["init", "visits.csv", "--new-ledger"])
    'shoal init visits.csv'
    """

    instead: tuple[str, ...] = ()
    """The words of another command."""
    take: str | None = None
    """A file's name that stands among them: the path by which the command that failed named it takes its place."""
    keep: str | None = None
    """An option that it takes over from the command that failed."""
    replace: tuple[str, str] | None = None
    """A word of the command that failed, or a path that it names, and what stands in its place."""
    swap: tuple[str, str] | None = None
    """Two words of the command that failed which change places."""
    option: tuple[str, str] | None = None
    """An option and its value, which takes the place of the one that the command that failed had, if it had one."""
    add: tuple[str, ...] = ()
    without: str | None = None
    """An option without a value that is left out."""
    without_value: str | None = None
    """An option that is left out together with its value."""
    only: tuple[str, ...] | None = None
    """The commands after which it is the next; None for all."""

    def line(self, given: Sequence[str]) -> str | None:
        """The whole line, after a command whose words were `given`; None where there is nothing to say."""
        if self.only is not None and not {*given[:1]} & {*self.only}:
            return None
        if self.instead:
            instead = [_typed(word, given) if word == self.take else word for word in self.instead]
            if None in instead:
                return None
            at = given.index(self.keep) if self.keep in given[:-1] else None
            return shlex.join(["shoal", *map(str, instead), *([] if at is None else given[at : at + 2])])
        words = [word for word in given if word != self.without]
        if self.without_value is not None and not _remove_option(words, self.without_value):
            return None
        if self.swap is not None:
            one, other = self.swap
            words = [other if word == one else one if word == other else word for word in words]
        if self.replace is not None and not _replace(words, *self.replace):
            return None
        if self.option is not None:
            _set_option(words, *self.option)
        return shlex.join(["shoal", *words, *self.add])


def _replace(words: list[str], old: str, new: str) -> bool:
    """Put `new` in the place of a word, or of the value in `--option=value`; False where none is `old` or names its path."""
    for at, word in enumerate(words):
        head, sign, own = word.partition("=") if word.startswith("--") and "=" in word else ("", "", word)
        if own == old:
            words[at] = f"{head}{sign}{new}"
            return True
        if own and os.path.abspath(own) == os.path.abspath(old):  # noqa: PTH100
            words[at] = f"{head}{sign}{_like(own, old, Path(new))}"
            return True
    return False


def _like(own: str, old: str, new: Path) -> Path:
    """A path inside or beside another one, spelled as that one was typed."""
    if new.parent == Path(old):
        return Path(own) / new.name
    return Path(own).with_name(new.name) if Path(own).name else new


def _set_option(words: list[str], name: str, value: str) -> None:
    """Give an option this value, where it stands or at the end."""
    for at, word in enumerate(words):
        if word == name and at + 1 < len(words):
            words[at + 1] = value
            return
        if word.startswith(f"{name}="):
            words[at] = f"{name}={value}"
            return
    words += [name, value]


def _remove_option(words: list[str], name: str) -> bool:
    """Take an option and its value out; False where it is not there."""
    for at, word in enumerate(words):
        if word == name or word.startswith(f"{name}="):
            del words[at : at + (2 if word == name else 1)]
            return True
    return False


def _typed(name: str, given: Sequence[str]) -> str | None:
    """The word that ends in this name of a file; None where there is none."""
    return next((word for word in given if word == name or word.endswith((f"/{name}", f"\\{name}"))), None)


class ShoalError(Exception):
    """The base of every error that Shoal raises on purpose; it carries the four parts of its message.

    Arguments  `wrong` says what is wrong; `came` what was given; `allowed` what would be right; `fix` what to do;
               `step` the command line that does it, where there is one.
    Raises nothing.

    >>> error = ShoalError("k is not a whole number", came="2.5", allowed="1, 2, 3, ...", fix="round it up")
    >>> str(error)
    'k is not a whole number; got 2.5; allowed: 1, 2, 3, ...; round it up'
    """

    exit_code: ClassVar[int] = 1
    outcome: str | None = None
    """What became of a run that ended in this error: told where it turns out that a signal was the cause."""

    def __init__(
        self,
        wrong: str,
        *,
        came: object = None,
        allowed: str | None = None,
        fix: str | None = None,
        step: NextCommand | None = None,
    ) -> None:
        self.wrong = wrong
        self.step = step
        self.came = None if came is None else str(came)
        self.allowed = allowed
        self.fix = fix
        super().__init__(str(self))

    @property
    def kind(self) -> str:
        """The class name, which JSON output carries."""
        return type(self).__name__

    def __str__(self) -> str:
        parts = [self.wrong]
        if self.came is not None:
            parts.append(f"got {self.came}")
        if self.allowed is not None:
            parts.append(f"allowed: {self.allowed}")
        if self.fix is not None:
            parts.append(self.fix)
        return visible("; ".join(parts))

    def to_json(self) -> dict[str, Any]:
        """The one shape of every error in JSON."""
        return {
            "kind": self.kind,
            "wrong": self.wrong,
            "came": self.came,
            "allowed": self.allowed,
            "fix": self.fix,
            "exit_code": self.exit_code,
        }


class OutputError(ShoalError):
    """The work was done, and its result cannot be printed."""


class UsageError(ShoalError):
    """The request itself is malformed."""

    exit_code = 2


class ParameterError(UsageError, ValueError):
    """A number outside the range its meaning allows."""


class PolicyError(UsageError):
    """A policy file that cannot be read, or asks for something that is not allowed."""


class PreconditionError(ShoalError):
    """A theorem's premise does not hold; names the theorem, because its promise is withheld."""

    exit_code = 2

    def __init__(
        self,
        theorem: str,
        wrong: str,
        *,
        came: object = None,
        allowed: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.theorem = theorem
        super().__init__(wrong, came=came, allowed=allowed, fix=fix)

    def __str__(self) -> str:
        return f"theorem '{self.theorem}': {super().__str__()}"

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "theorem": self.theorem}


class CompositionError(PreconditionError):
    """Guarantees that do not compose were asked to."""


class TargetError(ShoalError):
    """The request is well formed and cannot be met."""

    exit_code = 3


class InfeasibleError(TargetError):
    """No setting reaches the target; the message names the obstacle and the nearest reachable number."""


class VerificationError(TargetError):
    """Something that was recomputed does not agree with what was claimed or printed."""


class BudgetError(ShoalError):
    """The ledger refuses the charge."""

    exit_code = 4


class LedgerError(BudgetError):
    """The ledger itself cannot be read, written or trusted, so nothing may be spent."""


class DataError(ShoalError):
    """The table is not what the policy says it is.

    `rows` has the first rows that do not fit, counted from 1, by attribute. `values` has what stands in them, and is
    there only where the custodian asked to see it (`--show-values`): nothing else ever fills it.
    """

    exit_code = 5
    rows: Mapping[str, Sequence[int]] | None = None
    values: Mapping[str, Mapping[int, str]] | None = None

    def to_json(self) -> dict[str, Any]:
        shown = {name: {str(row): value for row, value in cells.items()} for name, cells in (self.values or {}).items()}
        return super().to_json() | ({} if self.values is None else {"values": shown})


class DomainError(DataError):
    """Values lie outside a declared domain."""
