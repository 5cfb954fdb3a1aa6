"""One thing that is wrong in a policy, and the error that lists them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

from shoal.errors import PolicyError, ShoalError, visible

Path = tuple[str | int, ...]

MOST_PROBLEMS = 100
"""How many problems of a policy are looked for and listed; a policy that has more is not one yet."""
_MOST_WORDS = 1000
"""Among more words than this, the nearest is not looked for."""
_SHOWN = 80
"""How many letters of what came are repeated in a message."""


@dataclass(frozen=True)
class Problem:
    """A key, and the four parts of a message about it."""

    path: Path
    wrong: str
    came: str | None = None
    allowed: str | None = None
    fix: str | None = None
    line: int | None = None
    column: int | None = None

    @classmethod
    def of(cls, path: Path, error: ShoalError) -> Problem:
        """What another room said, at the key that it speaks of."""
        return cls(path, error.wrong, None if error.came is None else excerpt(error.came), error.allowed, error.fix)

    def location(self, file: str) -> str:
        """The key and the line, as in `release.epsilon (policy.yaml, line 12)`."""
        column = "" if self.column is None else f", column {self.column}"
        where = file if self.line is None else f"{file}, line {self.line}{column}"
        return f"{dotted_path(self.path)} ({where})" if self.path else where

    def words(self, file: str) -> str:
        """The whole message about this key."""
        return str(
            PolicyError(f"{self.location(file)}: {self.wrong}", came=self.came, allowed=self.allowed, fix=self.fix)
        )


class RefusedPolicyError(PolicyError):
    """A policy with everything that is wrong in it, in the order of the file; prints as a list."""

    def __init__(self, problems: Sequence[Problem], file: str = "policy") -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0)[:MOST_PROBLEMS])
        self.left_out = len(problems) - len(self.problems)
        self.file = file
        first = self.problems[0]
        if len(self.problems) == 1:
            super().__init__(
                f"{first.location(file)}: {first.wrong}", came=first.came, allowed=first.allowed, fix=first.fix
            )
        else:
            more = " or more" if len(problems) >= MOST_PROBLEMS else ""
            super().__init__(f"{file}: {len(problems)} things{more} are wrong")

    @property
    def kind(self) -> str:
        """The name in the error tree: programs need not know that the list is a class of its own."""
        return PolicyError.__name__

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return super().__str__()
        listed = [f"  {problem.words(self.file)}" for problem in self.problems]
        return "\n".join([visible(self.wrong), *listed, *([f"  and {self.left_out:,} more"] if self.left_out else [])])

    def to_json(self) -> dict[str, Any]:
        listed = [{**asdict(problem), "path": dotted_path(problem.path)} for problem in self.problems]
        listed = [{key: item for key, item in each.items() if key != "column" or item is not None} for each in listed]
        return {**super().to_json(), "file": self.file, "problems": listed}


def dotted_path(path: Path) -> str:
    """A path as a person writes it: `attributes.age.domain[1]`; a key that holds a dot is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = repr(step[:_SHOWN]) if not step or set(step) & set(".[] '\"\n\t") else excerpt(step)
            text += f".{key}" if text else key
    return text


def excerpt(value: object) -> str:
    """What came, on one line and not too long; nothing at all has a name too."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{excerpt(key)}: {excerpt(item)}" for key, item in islice(value.items(), _SHOWN)) + "}"
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(excerpt(item) for item in islice(value, _SHOWN)) + "]"
    else:
        text = str(value)[: 2 * _SHOWN]
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    if not text:
        return "nothing"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def nearest(came: str, allowed: Sequence[str]) -> str | None:
    """`did you mean …?`, when one of the allowed words is close to what came.

    >>> nearest("epsilom", ["epsilon", "delta"])
    "did you mean 'epsilon'?"
    """
    close = close_to(came, allowed)
    return None if close is None else f"did you mean '{close}'?"


def close_to(came: str, allowed: Sequence[str]) -> str | None:
    """The allowed word that what came was probably meant to be."""
    if len(allowed) > _MOST_WORDS:
        return None
    by_small = {word.lower(): word for word in allowed}
    typed = came.lower()[:40]
    for attempt in (typed, typed.replace("_", "-"), typed.replace("-", "_")):
        if close := get_close_matches(attempt, by_small, n=1, cutoff=0.6):
            return by_small[close[0]]
    return None
