r"""Which regular expressions may declare a domain: those that are matched in a time proportional to the text's length.

Python tries the ways in which an expression can read a text one after the other, and some expressions have exponentially
many. So a pattern is written in a small part of Python's syntax, and then its ways are counted. The rule, in full:

Syntax      letters; `.`; classes `[a-z]`, `[^a-z]`; groups `(...)` and `(?:...)`; `|`; the repeats `?`, `*`, `+`, `{n}`, `{m,n}`,
            `{m,}`, `{,n}`; `^` as the first and `$` as the last letter of the whole. The signs `. ^ $ * + ? { } [ ] ( ) | \`
            stand for themselves after `\`, and so does every other sign of ASCII. `\d \D \w \W \s \S` are classes;
            `\t \n \r \f \v \xhh \uhhhh \Uhhhhhhhh` are letters. In a class `[`, and `]` even as the first member, are
            written with `\`; `-` stands for itself as the first or last member; `--`, `&&`, `||` and `~~` with no `\` before
            their first sign are refused. A class holds at least one letter.
Sizes       at most 1000 printable letters, groups at most 20 deep, counts at most 1000, and at most 2000 places: a letter, `.`
            or class is a place, and a repeat has its places as often as it may be read at most (`*`, `+` once, `{m,}` m
            times, at least once).
Repeats     what may be read more than once cannot be empty: `(a?)*` is refused.
Tries       Having read some text, the pattern has one *way* for each sequence of choices that reads it: which alternative, and
            after each part of a repeat whether to go on or to stop. Each way has *tries*: one for each place that may
            come next, by each sequence of choices that leads to it, and one for each sequence of choices that ends the
            pattern there. For every text the tries of all its ways add up to at most 100. Texts whose ways lie
            at the same places, equally many at each, count as one state, and the tries of all states add up to at most 20,000.
            For this count, `\s` and the first 128 letters are exact; of the letters above, `\d` and `\w` are taken to hold
            all that are no blanks (`\s`), and `\D` and `\W` all; a class that denies `\w` holds what `\W` does.
Texts       a text of more than 10,000 letters matches no pattern.

Each step of Python's matcher is one of these tries, so a text of n letters takes at most 100 (n + 1) of them.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn

from shoal.errors import PolicyError

LONGEST_TEXT = 10_000
"""A text of more letters matches no pattern."""
LONGEST_PATTERN = 1000
DEEPEST_GROUP = 20
MOST_TIMES = 1000
MOST_PLACES = 2000
MOST_TRIES = 100
MOST_TRIES_OF_STATES = 20_000

_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")
_SPECIAL = frozenset(".^$*+?{}[]()|\\")
_REPEATS = frozenset("?*+{")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_CODES = {"x": 2, "u": 4, "U": 8}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_DOUBLED = ("--", "&&", "||", "~~")
_LAST = 0x10FFFF

LetterSet = tuple[tuple[int, int], ...]
"""A set of letters: ranges of code points, in order, none touching the next."""


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that is not written or matched as this file says.

    Raises     PolicyError that says what stands in the way and how to write it instead.

    >>> check_pattern("[A-Z][0-9]{2}([.][0-9]{1,2})?")
    >>> check_pattern("(a+)+")
    Traceback (most recent call last):
    shoal.errors.PolicyError: a pattern that can read a text in too many ways; got (a+)+; ...
    """
    problem = _problem(pattern)
    if problem is not None:
        wrong, allowed, fix = problem
        raise PolicyError(wrong, came=_show(pattern), allowed=allowed, fix=fix)


@lru_cache(maxsize=256)
def _problem(pattern: str) -> tuple[str, str | None, str | None] | None:
    """What stands in the way of a pattern, what is allowed, and what to do; None where nothing does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _count_tries(_build(_Reader(pattern).read()))
            re.compile(pattern)
    except _Refusal as refusal:
        return refusal.wrong, refusal.allowed, refusal.fix
    except (re.error, Warning, OverflowError, RecursionError):
        return "a domain's pattern is no regular expression", None, None
    return None


class _Refusal(Exception):  # noqa: N818  (turned into a PolicyError by `check_pattern`)
    """A pattern is not as it must be."""

    def __init__(self, wrong: str, allowed: str | None = None, fix: str | None = None) -> None:
        super().__init__(wrong)
        self.wrong, self.allowed, self.fix = wrong, allowed, fix


def _show(pattern: str) -> str:
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in pattern[:80])
    return shown if len(pattern) <= 80 else f"{shown}… ({len(pattern):,} letters)"


# --- sets of letters ---------------------------------------------------------------------------------------------------


def _union(ranges: Iterable[tuple[int, int]]) -> LetterSet:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def _complement(letters: LetterSet) -> LetterSet:
    ends = [-1, *(end for pair in letters for end in pair), _LAST + 1]
    return tuple((low + 1, high - 1) for low, high in zip(ends[::2], ends[1::2], strict=True) if low + 1 <= high - 1)


def _ascii(text: str) -> LetterSet:
    return _union((ord(letter), ord(letter)) for letter in text)


_DIGITS = ((0x30, 0x39),)
_WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_BLANKS: LetterSet = (
    (0x09, 0x0D),
    (0x1C, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
_ABOVE: LetterSet = ((0x80, _LAST),)
_ABOVE_NO_BLANKS = _complement(_union([(0, 0x7F), *_BLANKS]))
_CLASSES: dict[str, LetterSet] = {
    "d": _union([*_DIGITS, *_ABOVE_NO_BLANKS]),
    "D": _union([*_complement(_DIGITS), *_ABOVE]),
    "w": _union([*_WORD, *_ABOVE_NO_BLANKS]),
    "W": _union([*_complement(_WORD), *_ABOVE]),
    "s": _BLANKS,
    "S": _complement(_BLANKS),
}
_ANY_BUT_LINE_END = _complement(_ascii("\n"))


# --- reading -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A letter, `.` or class: the letters that may stand there."""

    letters: LetterSet


@dataclass(frozen=True)
class _Sequence:
    """Parts that are read one after another."""

    parts: tuple[_Node, ...]


@dataclass(frozen=True)
class _Choice:
    """Alternatives, one of which is read."""

    parts: tuple[_Node, ...]


@dataclass(frozen=True)
class _Repeat:
    """A part that is read from `low` to `high` times; None stands for no end."""

    part: _Node
    low: int
    high: int | None


_Node = _Place | _Sequence | _Choice | _Repeat


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST_PATTERN:
            fix = "list the values, or declare a looser pattern"
            raise _Refusal("a pattern is too long", f"at most {LONGEST_PATTERN} letters", fix)
        if not pattern.isprintable():
            raise _Refusal("a pattern with letters that cannot be seen", r"escapes such as \t and \u00a0")
        self.text, self.at, self.depth = pattern, 0, 0
        self.end = len(pattern)

    def read(self) -> _Node:
        if self.text.startswith("^"):
            self.at = 1
        body = self.text[self.at :]
        if body.endswith("$") and (len(body) - len(body[:-1].rstrip("\\")) - 1) % 2 == 0:
            self.end -= 1
        found = self._choice()
        if self.at < self.end:
            self._broken()
        return found

    def _next(self) -> str:
        return self.text[self.at] if self.at < self.end else ""

    def _broken(self) -> NoReturn:
        raise _Refusal("a domain's pattern is no regular expression")

    def _choice(self) -> _Node:
        parts = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Choice(tuple(parts))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeats(self._atom()))
        return parts[0] if len(parts) == 1 else _Sequence(tuple(parts))

    def _atom(self) -> _Node:
        sign = self._next()
        self.at += 1
        if sign == "(":
            return self._group()
        if sign == "[":
            return _Place(self._class())
        if sign == ".":
            return _Place(_ANY_BUT_LINE_END)
        if sign == "\\":
            return _Place(self._escape()[0])
        if sign in "^$":
            fix = "leave it out: a pattern always matches the whole text"
            raise _Refusal(f"`{sign}` inside a pattern", "^ first and $ last", fix)
        if sign in _REPEATS:
            self._broken()
        if sign in _SPECIAL:
            raise _Refusal(f"`{sign}` by itself in a pattern", f"\\{sign}", f"write \\{sign} for the sign itself")
        return _Place(((ord(sign), ord(sign)),))

    def _group(self) -> _Node:
        self.depth += 1
        if self.depth > DEEPEST_GROUP:
            raise _Refusal("a pattern with groups too deep", f"at most {DEEPEST_GROUP} inside each other")
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self._next() == "?":
            fix = "say which texts match, not what stands around them, back or ahead: [Aa] for (?i)a"
            raise _Refusal("a group of a kind that a pattern may not have", "(...) and (?:...)", fix)
        found = self._choice()
        if self._next() != ")":
            self._broken()
        self.at += 1
        self.depth -= 1
        return found

    def _repeats(self, part: _Node) -> _Node:
        sign = self._next()
        if sign not in _REPEATS or not sign:
            return part
        self.at += 1
        if sign == "{":
            low, high = self._counts()
        else:
            low, high = {"?": (0, 1), "*": (0, None), "+": (1, None)}[sign]
        if self._next() in ("?", "+"):
            raise _Refusal(
                "a lazy or possessive repeat", "?, *, +, {n}, {m,n}", f"leave the second sign, {self._next()}, out"
            )
        if self._next() in ("*", "{"):
            self._broken()
        return _Repeat(part, low, high)

    def _counts(self) -> tuple[int, int | None]:
        close = self.text.find("}", self.at)
        found = re.fullmatch(r"([0-9]*)(,?)([0-9]*)", self.text[self.at : close], re.ASCII) if close >= 0 else None
        if found is None or not (found[1] or found[3]):
            raise _Refusal("`{` by itself in a pattern", "{n}, {m,n}, {m,}, {,n}", "write \\{ for the sign itself")
        self.at = close + 1
        if any(len(each) > 4 or int(each) > MOST_TIMES for each in (found[1], found[3]) if each):
            raise _Refusal("a pattern repeats a letter too often", f"at most {MOST_TIMES} times")
        low = int(found[1] or 0)
        high = low if not found[2] else int(found[3]) if found[3] else None
        if high is not None and high < low:
            self._broken()
        return low, high

    def _escape(self) -> tuple[LetterSet, bool, str]:
        r"""The letters of what follows a `\`, whether it is one letter, and the sign that follows."""
        sign = self._next()
        self.at += 1
        if sign and sign in _SIGNS:
            return ((ord(sign), ord(sign)),), True, sign
        if sign in _CONTROLS:
            return _ascii(_CONTROLS[sign]), True, sign
        if sign in _CLASSES:
            return _CLASSES[sign], False, sign
        if sign in _CODES:
            digits = self.text[self.at : min(self.end, self.at + _CODES[sign])]
            if len(digits) == _CODES[sign] and set(digits) <= _HEXADECIMAL and int(digits, 16) <= _LAST:
                self.at += len(digits)
                return ((int(digits, 16), int(digits, 16)),), True, sign
        allowed = r"\d \w \s \D \W \S \t \n \r \f \v \x.. \u.... \U........ and \ before a sign"
        raise _Refusal("an escape that a pattern may not have", allowed, "write the letters out")

    def _class(self) -> LetterSet:
        denied = self._next() == "^"
        self.at += denied
        ranges: list[tuple[int, int]] = []
        classes: list[str] = []
        while self._next() != "]":
            letters, single, sign = self._member()
            if self._next() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self._refuse_doubled()
                self.at += 1
                last, last_single, _ = self._member()
                if not (single and last_single) or last[0][0] < letters[0][0]:
                    self._broken()
                letters = ((letters[0][0], last[0][0]),)
            if single:
                ranges += letters
            else:
                classes.append(sign)
        if not ranges and not classes:
            self._broken()
        self.at += 1
        if denied:
            inside = [*ranges, *(each for sign in classes for each in _complement(_CLASSES[sign.swapcase()]))]
            found = _complement(_union(inside))
        else:
            found = _union([*ranges, *(each for sign in classes for each in _CLASSES[sign])])
        if not found:
            raise _Refusal("a class without letters", "a class that holds a letter")
        return found

    def _member(self) -> tuple[LetterSet, bool, str]:
        """The letters of a member of a class, whether it is one letter, and the sign that says so."""
        sign = self._next()
        if not sign:
            self._broken()
        self._refuse_doubled()
        self.at += 1
        return self._escape() if sign == "\\" else (((ord(sign), ord(sign)),), True, sign)

    def _refuse_doubled(self) -> None:
        """Raise where a sign comes that other or later versions read in another way."""
        sign, pair = self._next(), self.text[self.at : self.at + 2]
        if sign == "[" or pair in _DOUBLED:
            wrong = f"`{sign if sign == '[' else pair}` in a class"
            raise _Refusal(wrong, f"\\{sign}", f"write \\{sign} for the sign itself")


# --- building: which place may follow which, and by how many sequences of choices -----------------------------------------


@dataclass
class _Part:
    """A part of the pattern: by how many sequences of choices it begins and ends at each place, and is empty."""

    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    empty: int = 0


@dataclass
class _Automaton:
    """The places of a pattern, and by how many sequences of choices one follows another."""

    letters: list[LetterSet] = field(default_factory=list)
    follow: list[Counter[int]] = field(default_factory=list)
    whole: _Part = field(default_factory=_Part)

    def place(self, letters: LetterSet) -> _Part:
        self.letters.append(letters)
        self.follow.append(Counter())
        at = len(self.letters) - 1
        return _Part(Counter({at: 1}), Counter({at: 1}))

    def join(self, one: _Part, other: _Part) -> _Part:
        """One part, and then the other; uses both up."""
        self._lead(one.last, other.first)
        if one.empty:
            one.first.update({place: one.empty * times for place, times in other.first.items()})
        if other.empty:
            other.last.update({place: other.empty * times for place, times in one.last.items()})
        return _checked(_Part(one.first, other.last, one.empty * other.empty))

    def loop(self, part: _Part) -> _Part:
        """A part once or more often."""
        self._lead(part.last, part.first)
        return part

    def _lead(self, last: Counter[int], first: Counter[int]) -> None:
        for place, times in last.items():
            follow = self.follow[place]
            for after, more in first.items():
                follow[after] += times * more


def _checked(part: _Part) -> _Part:
    """The part, unless a way that comes to its beginning has too many tries already."""
    if part.first.total() + part.empty > MOST_TRIES:
        _refuse_ways()
    return part


def _refuse_ways() -> NoReturn:
    raise _Refusal(
        "a pattern that can read a text in too many ways",
        f"at most {MOST_TRIES} tries for each letter",
        "let each part begin with a letter that the part before it cannot hold: a+ for (a+)+, [^@]+@[^@]+ for .+@.+; "
        "list many words as `values`",
    )


def _size(node: _Node) -> int:
    """The number of places of a pattern, each as often as it may be read."""
    if isinstance(node, _Place):
        return 1
    if isinstance(node, _Repeat):
        return _size(node.part) * (max(node.low, 1) if node.high is None else node.high)
    return sum(map(_size, node.parts))


def _build(node: _Node) -> _Automaton:
    if (size := _size(node)) > MOST_PLACES:
        raise _Refusal("a pattern has too many places", f"at most {MOST_PLACES:,}, not {size:,}", "repeat less often")
    found = _Automaton()
    found.whole = _add(node, found)
    return found


def _add(node: _Node, found: _Automaton) -> _Part:
    if isinstance(node, _Place):
        return found.place(node.letters)
    if isinstance(node, _Repeat):
        return _add_repeat(node, found)
    if isinstance(node, _Choice):
        choice = _Part()
        for each in node.parts:
            part = _add(each, found)
            choice.first.update(part.first)
            choice.last.update(part.last)
            choice.empty += part.empty
        return _checked(choice)
    sequence = _Part(empty=1)
    for each in node.parts:
        sequence = found.join(sequence, _add(each, found))
    return sequence


def _add_repeat(node: _Repeat, found: _Automaton) -> _Part:
    def once() -> _Part:
        part = _add(node.part, found)
        if part.empty and node.high != 1:
            fix = "let the repeated part hold a letter: a* for (a?)*"
            raise _Refusal("a pattern repeats what may be empty", None, fix)
        return part

    tail = _Part(empty=1)
    if node.high is None:
        tail = found.loop(once())
        tail.empty += node.low == 0
    else:
        for _ in range(node.high - node.low):
            tail = found.join(once(), tail)
            tail.empty += 1
    for _ in range(node.low - (node.high is None)):
        tail = found.join(once(), tail)
    return _checked(tail)


# --- walking -----------------------------------------------------------------------------------------------------------

START = -1
"""Where a walk through a pattern begins, before its first place."""
_MOST_LETTERS = 128


@dataclass(frozen=True)
class PatternGraph:
    """A pattern as places: the letters of each, which places may follow it, and how many more letters its end takes at least."""

    letters: dict[int, str]
    """The printable letters of ASCII that may stand at a place; where there are none, the first others."""
    after: dict[int, tuple[int, ...]]
    ends: dict[int, bool]
    """Whether a text may end after a place."""
    distance: dict[int, int]


def pattern_graph(pattern: str) -> PatternGraph:
    """The places of a pattern, to walk through: every text that a walk spells with ASCII letters matches.

    >>> graph = pattern_graph("a|b[0-9]+")
    >>> [graph.letters[place] for place in graph.after[START]]
    ['a', 'b']
    """
    found = _build(_Reader(pattern).read())
    after = {place: tuple(found.follow[place]) for place in range(len(found.letters))}
    after[START] = tuple(found.whole.first)
    ends = {place: bool(found.whole.last[place]) for place in range(len(found.letters))}
    ends[START] = bool(found.whole.empty)
    distance = {place: 0 for place in after if ends[place]}
    reached, steps = set(distance), 0
    while reached:
        steps += 1
        reached = {place for place in after if place not in distance and reached.intersection(after[place])}
        distance.update(dict.fromkeys(reached, steps))
    return PatternGraph({place: _spell(letters) for place, letters in enumerate(found.letters)}, after, ends, distance)


def _spell(letters: LetterSet) -> str:
    """Letters of a set that can be seen: those of ASCII, or the first others."""
    plain = "".join(chr(code) for low, high in letters for code in range(max(low, 0x20), min(high, 0x7E) + 1))
    if plain:
        return plain
    return "".join(chr(code) for low, high in letters for code in range(low, min(high, low + _MOST_LETTERS) + 1))


# --- counting tries ----------------------------------------------------------------------------------------------------

State = tuple[tuple[int, int], ...]
"""The places at which ways have come to, and how many have come to each."""


def _count_tries(found: _Automaton) -> None:
    """Go through every state that some text leads to; raise where the tries are too many."""
    start = found.whole
    after: list[tuple[Counter[int], int]] = [(start.first, start.empty)]
    seen: set[State] = set()
    total = 0
    while after:
        following, ends = after.pop()
        tries = following.total() + ends
        total += tries
        if tries > MOST_TRIES or total > MOST_TRIES_OF_STATES:
            _refuse_ways()
        for places in _by_letter(found, following):
            state = tuple((place, following[place]) for place in places)
            if state not in seen:
                seen.add(state)
                after.append(_step(found, state))


def _step(found: _Automaton, state: State) -> tuple[Counter[int], int]:
    """The places that may follow a state, with their numbers of ways, and the number of ways that may end there."""
    following: Counter[int] = Counter()
    for place, ways in state:
        for after, times in found.follow[place].items():
            following[after] += ways * times
    return following, sum(ways * found.whole.last[place] for place, ways in state)


def _by_letter(found: _Automaton, following: Counter[int]) -> set[tuple[int, ...]]:
    """The places that one letter may lead to, for each letter that leads to any."""
    groups: dict[LetterSet, list[int]] = {}
    for place in following:
        groups.setdefault(found.letters[place], []).append(place)
    edges = sorted({edge for letters in groups for low, high in letters for edge in (low, high + 1)})
    number = {edge: i for i, edge in enumerate(edges)}
    reached: list[list[int]] = [[] for _ in edges]
    for letters, places in groups.items():
        for low, high in letters:
            for between in reached[number[low] : number[high + 1]]:
                between.extend(places)
    return {tuple(sorted(places)) for places in reached if places}
