"""Numbers as people type them: read as text into exact arithmetic, never through a float."""

from __future__ import annotations

from fractions import Fraction

from shoal.errors import ParameterError, UsageError

_LEAST = Fraction(1, 10**300)
"""Below it a number other than 0 has no float, and no meaning in a guarantee."""


def read_number(text: str, name: str) -> Fraction:
    """Read a finite number exactly: 1, .2, 1e-6 or 1/3."""
    from shoal.guarantee import rounding

    found = rounding.read_number(text, name)
    if found and abs(found) < _LEAST:
        raise ParameterError(f"{name} is too small to mean anything", came=text, allowed="0, or from 1e-300")
    return found


def read_whole(text: str, name: str, least: int = 1) -> int:
    """Read a whole number from `least` up."""
    value = read_number(text, name)
    if value.denominator != 1 or value < least:
        allowed = ", ".join(str(least + i) for i in range(3)) + ", ..."
        raise ParameterError(f"{name} is not a whole number from {least} up", came=text, allowed=allowed)
    return int(value)


def read_fields(text: str, option: str, names: tuple[str, ...], spare: tuple[str, ...] = ()) -> dict[str, str]:
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
