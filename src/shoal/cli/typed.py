"""Numbers as people type them: read as text into exact arithmetic, never through a float."""

from __future__ import annotations

import re
from fractions import Fraction

from shoal.errors import ParameterError, UsageError

_SHAPE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?|[+-]?\d+/\d+", re.IGNORECASE)
_WORDS = re.compile(r"[+-]?(inf(inity)?|nan)", re.IGNORECASE)
_LONGEST = 60


def number(text: str, name: str) -> Fraction:
    """A finite number: 1, .2, 1e-6 or 1/3."""
    from shoal.guarantee.rounding import exact

    stripped = text.strip()
    if _WORDS.fullmatch(stripped):
        raise ParameterError(f"{name} is not finite", came=text, allowed="a finite number")
    if len(stripped) > _LONGEST or not _SHAPE.fullmatch(stripped):
        raise ParameterError(f"{name} is not a number", came=text, allowed="a number such as 0.2, 1e-6 or 1/3")
    return exact(stripped, name)


def whole(text: str, name: str) -> int:
    """A whole number from 1 up."""
    value = number(text, name)
    if value.denominator != 1 or value < 1:
        raise ParameterError(f"{name} is not a whole number from 1 up", came=text, allowed="1, 2, 3, ...")
    return int(value)


def fields(text: str, option: str, names: tuple[str, ...], spare: tuple[str, ...] = ()) -> dict[str, str]:
    """Read `k=20,beta=.15,times=3` or, in the order of `names`, `20,.15,times=3`."""
    found: dict[str, str] = {}
    shape = ",".join(f"{name}=..." for name in names) + "".join(f"[,{name}=...]" for name in spare)
    for place, part in enumerate(text.split(",")):
        name, given, value = part.partition("=")
        if not given:
            name, value = (names[place] if place < len(names) else ""), part
        name = name.strip()
        if name not in (*names, *spare) or name in found or not value.strip():
            raise UsageError(f"{option} cannot be read", came=text, allowed=shape)
        found[name] = value.strip()
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError(f"{option} lacks {' and '.join(missing)}", came=text, allowed=shape)
    return found
