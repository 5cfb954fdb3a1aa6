r"""The letters at each place of a simple pattern such as `[0-9]{5}`, so that its texts can be counted.

Simple means: letters, escaped letters, `\d`, and classes of letters and ranges, each perhaps with `{n}`.
"""

from __future__ import annotations

import re

_ATOM = re.compile(
    r"(?:(?P<digit>\\d)|\\(?P<escaped>[^\w\s])|\[(?P<letters>(?:\\.|[^\]\\^])(?:\\.|[^\]\\])*)\]"
    r"|(?P<plain>[^\\\[\](){}.*+?|^$]))"
    r"(?:\{(?P<times>[0-9]+)\})?"
)
_MEMBER = re.compile(r"(?P<first>\\.|[^\\])(?:-(?P<last>\\.|[^\\]))?", re.DOTALL)
_LONGEST = 1000


def places(pattern: str) -> tuple[str, ...] | None:
    """The letters allowed at each place in order, or None where the pattern is not simple."""
    found: list[str] = []
    pattern = pattern.removeprefix("^").removesuffix("$") if not pattern.endswith("\\$") else pattern.removeprefix("^")
    at = 0
    while at < len(pattern):
        atom = _ATOM.match(pattern, at)
        if atom is None:
            return None
        letters = _letters(atom)
        if letters is None:
            return None
        found += [letters] * int(atom["times"] or 1)
        if len(found) > _LONGEST:
            return None
        at = atom.end()
    return tuple(found) if found else None


def _letters(atom: re.Match[str]) -> str | None:
    if atom["digit"]:
        return "0123456789"
    if atom["letters"] is None:
        return atom["escaped"] or atom["plain"]
    members: set[str] = set()
    for member in _MEMBER.finditer(atom["letters"]):
        if member["first"] == r"\d" and member["last"] is None:
            members.update("0123456789")
            continue
        ends = [_single(member["first"]), _single(member["last"] or member["first"])]
        if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            return None
        members.update(map(chr, range(ord(ends[0]), ord(ends[1]) + 1)))
    return "".join(sorted(members))


def _single(text: str) -> str | None:
    """The one letter that a member of a class stands for, where that is plain."""
    if not text.startswith("\\"):
        return text
    return None if text[1].isalnum() else text[1]
