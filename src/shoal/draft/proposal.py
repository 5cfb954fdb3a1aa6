"""A domain and a hierarchy for a column that was recognized: whole code lists, round bounds, round intervals, groups of words.

Bounds never are the lowest and the highest value of the people in a table, but round numbers beyond them.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from shoal.data.domain import Interval, Pattern
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.data.hierarchy.suggest import neighbours, round_number, suggest
from shoal.data.schema import Role
from shoal.data.type import Type, decimal_text
from shoal.draft.codes.table import Labels, plain_words
from shoal.draft.profile import ANSWERS, ColumnProfile
from shoal.draft.recognize.column import Recognition
from shoal.engine.read.storage import Storage

Origin = Literal["declared", "profiled"]
WRITTEN = 40
"""Values that are written into the policy itself; longer lists go into a file beside it."""
GROUPED = 12
"""From this many values on, a category without known groups gets some."""
RARE = 0.02
"""A value with a smaller share of the rows is put into the group `other`."""
_SENTINELS = frozenset(
    sign * int(digit * length) for sign in (1, -1) for digit in "98" for length in (1, 2, 3, 4, 5, 6, 8)
) | {-1, -2, -3, -4, -5, -6, -7}
"""Numbers that often stand for a missing value."""
_MOST_WHOLE = Fraction(2**63 - 1)
_SMALLEST_STEP = Fraction(1, 10**12)
"""The finest bounds of decimals: those of finer numbers would have to be written with an exponent."""
_LAST_YEAR = 9999
_LONGEST_VALUE = 1000
_LONGEST_BY_MONTH = 500
"""Years of a domain beyond which months are not told apart: such dates are mistakes or fillers."""
WEIGHT_CLASSES = 5
"""About so many classes of a survey weight are proposed."""
WEIGHT_NOTE = (
    "neither the published counts nor the estimates made of them are weighted by it: it is one more column in every table; "
    "write role: drop to leave it out, unless recipients need to know how people were sampled"
)
THOUSANDS_NOTE = (
    "the comma was read as a decimal mark, 1,500 as one and a half; if it stands between thousands, take it out of the file: no "
    "policy reads such numbers"
)
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
RESERVED = (MISSING, SUPPRESSED)
"""Texts that no value may be: they are labels of releases."""

_NATURAL: Mapping[str, tuple[int, int, dict[str, Any]]] = {
    "age": (0, 120, {"intervals": [5, 10, 20, 40]}),
    "month": (1, 12, {"cuts": [[4, 7, 10], [7]]}),
    "birth month": (1, 12, {"cuts": [[4, 7, 10], [7]]}),
    "quarter": (1, 4, {"cuts": [[3]]}),
    "week": (1, 53, {"intervals": [4, 12], "origin": 1}),
    "day": (1, 31, {"intervals": [5, 10], "origin": 1}),
    "hour": (0, 23, {"cuts": [[6, 12, 18], [12]]}),
    "birth year": (1900, 2039, {"intervals": [5, 10, 20, 40]}),
}
"""Bounds and intervals that follow from what a column is about, whatever its values are."""


@dataclass(frozen=True)
class Proposal:
    """A domain and a hierarchy as a policy writes them, where each came from, and what is to be said about them.

    `rows` is what a hierarchy file lists: each value with its labels. `codes` are values that may stand for a missing one, and
    `without` and `hierarchy_without` the domain and the hierarchy that would do if they did.
    """

    domain: Any = None
    hierarchy: Any = None
    rows: tuple[Labels, ...] | None = None
    provenance: Origin = "profiled"
    notes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    without: Any = None
    missing_values: tuple[str, ...] = ()
    hierarchy_provenance: Origin | None = None
    """Where the hierarchy came from, if not from where the domain did."""
    outside: str | None = None
    """What happens to values that no domain can hold, where there are such."""
    assumed: tuple[str, ...] | None = None
    """Those of `missing_values` that nobody said to be missing codes; None: all."""
    hierarchy_without: Any = None


def propose(profile: ColumnProfile, found: Recognition) -> Proposal:
    """The domain and the hierarchy of a column that is published."""
    kind = found.type
    if kind is None:
        return Proposal()
    if kind is Type.BOOLEAN:
        return Proposal(hierarchy="auto", provenance="declared")
    if kind in (Type.INTEGER, Type.DECIMAL):
        return _weights(profile, found, kind) if found.role is Role.WEIGHT else _numbers(profile, found, kind)
    if not profile.looked_at:
        return Proposal(provenance="declared")
    if kind in (Type.DATE, Type.DATETIME):
        return _dates(profile, found, kind)
    formed = _forms(profile) if kind is Type.TEXT else None
    return formed or _categories(profile, found)


# --- numbers ---------------------------------------------------------------------------------------------------------------


def _numbers(profile: ColumnProfile, found: Recognition, kind: Type) -> Proposal:
    natural = _NATURAL.get(found.subject or "")
    if natural is not None and (kind is Type.INTEGER or found.subject == "age"):
        low, high, hierarchy = natural
        inside = not profile.looked_at or (low <= (profile.lowest or 0) and (profile.highest or 0) <= high)
        if inside:
            codes = _as_written(profile, _sentinels(profile))
            active = _words_missing(profile)
            return Proposal([low, high], hierarchy, None, "declared", (), codes, None, active)
    if not profile.looked_at or profile.lowest is None or profile.highest is None:
        return Proposal(provenance="declared")
    codes = _sentinels(profile)
    domain = _round_ends(profile.lowest, profile.highest, found, whole=kind is Type.INTEGER)
    if kind is Type.INTEGER and profile.storage is Storage.FLOAT and _coded(profile, found):
        listed = sorted(int(float(value)) for value in profile.counts or ())
        written = _as_written(profile, codes)
        return Proposal({"values": listed}, "auto", None, "profiled", (), written, None, _words_missing(profile))
    rest = [value for value in (*profile.lows, *profile.highs) if _spell(value) not in codes]
    without = _round_ends(min(rest), max(rest), found, whole=kind is Type.INTEGER) if codes and rest else None
    if natural is not None and without is not None and natural[0] <= min(rest) <= max(rest) <= natural[1]:
        without = [natural[0], natural[1]]
    hierarchy = _steps(profile, domain, kind, codes)
    other = None if without is None else _steps(profile, without, kind, codes)
    other = natural[2] if natural is not None and without == [natural[0], natural[1]] else other
    notes = (THOUSANDS_NOTE,) if found.decimal == "," and _in_thousands(profile) else ()
    written = _as_written(profile, codes)
    made = Proposal(domain, hierarchy, None, "profiled", notes, written, without, _words_missing(profile))
    return made if other == hierarchy else replace(made, hierarchy_without=other)


def _weights(profile: ColumnProfile, found: Recognition, kind: Type) -> Proposal:
    """A few wide classes: a weight to its last digit names the group from which somebody was sampled, or somebody."""
    made = _numbers(profile, found, kind)
    made = replace(made, notes=(WEIGHT_NOTE, *made.notes), hierarchy_without=None)
    if made.domain is None or not isinstance(made.domain, list):
        return made
    low, high = (Fraction(str(end)) for end in made.without or made.domain)
    step = max(round_number((high - low) / WEIGHT_CLASSES), Fraction(1) if kind is Type.INTEGER else _SMALLEST_STEP)
    return replace(made, hierarchy={"intervals": [_number(step)]} if step < high - low else made.hierarchy)


def _coded(profile: ColumnProfile, found: Recognition) -> bool:
    """Whether whole numbers were stored as floating point ones, and stand for something."""
    few = profile.counts is not None and profile.distinct <= 30
    return few and found.subject in (
        "sex",
        "race",
        "marital",
        "education",
        "region",
        "state",
        "employment",
        "relationship",
    )


def _words_missing(profile: ColumnProfile) -> tuple[str, ...]:
    """Words among numbers: without taking them for missing the column would not read as numbers at all."""
    return tuple(sorted(profile.gaps))


def _sentinels(profile: ColumnProfile) -> tuple[str, ...]:
    """Numbers at either end that look like codes for missing values: all nines or eights, or negative beside no other."""
    lows, highs = list(profile.lows), list(profile.highs)
    found: list[float] = []
    while len(highs) > 1 and _is_sentinel(highs[-1]) and highs[-1] >= 88 and highs[-1] - highs[-2] >= 2:
        found.append(highs.pop())
    for last in (99, 999, 9999):  # 97, 98 and 99 together, far from every other number
        run = _last_run(highs, last)
        if len(run) > 1 and highs[-len(run) - 1] <= run[0] / 2:
            found += run
    while len(lows) > 1 and _is_sentinel(lows[0]) and lows[0] < 0 and (lows[-1] >= 0):
        found.append(lows.pop(0))
    return tuple(_spell(value) for value in sorted(set(found)))


def _as_written(profile: ColumnProfile, codes: Sequence[str]) -> tuple[str, ...]:
    """Codes as the texts of a column spell them, `99.0` or `99,0`: a missing code of a text is compared letter by letter."""
    if profile.storage is not Storage.TEXT or profile.counts is None:
        return tuple(codes)
    spelled: dict[str, list[str]] = {code: [] for code in codes}
    for text in profile.counts if codes else ():
        if text not in profile.gaps and _spell(float(text.replace(",", "."))) in spelled:
            spelled[_spell(float(text.replace(",", ".")))].append(text.strip())
    return tuple(dict.fromkeys(text for code, texts in spelled.items() for text in texts or [code]))


def _in_thousands(profile: ColumnProfile) -> bool:
    """Whether every comma stands before three digits, as one between thousands does."""
    texts = [text.strip() for text in profile.counts or () if "," in text and text not in profile.gaps]
    return bool(texts) and all(_THOUSANDS.fullmatch(text) for text in texts)


def _last_run(numbers: Sequence[float], last: int) -> list[float]:
    """The highest numbers, up to three that follow each other and end with `last`, where a gap lies before them."""
    tail = [value for value in numbers[-3:] if value == math.floor(value) and last - 2 <= value <= last]
    while tail and tail != [float(last - len(tail) + 1 + place) for place in range(len(tail))]:
        tail.pop(0)
    before = len(numbers) - len(tail)
    return tail if tail and before and numbers[before - 1] <= tail[0] - 2 else []


def _is_sentinel(value: float) -> bool:
    return value == math.floor(value) and int(value) in _SENTINELS


def _spell(value: float) -> str:
    return str(int(value)) if value == math.floor(value) else repr(value)


def _round_ends(low: float, high: float, found: Recognition, *, whole: bool) -> list[Any]:
    """Round numbers beyond both ends; nought stays an end of what is never negative."""
    if found.subject in ("year", "birth year") and 1000 <= low <= high <= 3000:
        return [int(low // 10 * 10), int(high // 10 * 10 + 10)]
    exact_low, exact_high = Fraction(low), Fraction(high)
    span = max(exact_high - exact_low, abs(exact_high), abs(exact_low)) or Fraction(1)
    step = round_number(span / 10)
    step = max(step, Fraction(1) if whole else _SMALLEST_STEP)
    top = (math.floor(exact_high / step) + 1) * step
    if exact_high <= 0:
        top = Fraction(0) if exact_high < 0 or exact_low < 0 else step
    bottom = Fraction(0) if 0 <= exact_low <= span / 2 else (math.ceil(exact_low / step) - 1) * step
    if whole:
        bottom, top = (max(-_MOST_WHOLE, min(_MOST_WHOLE, end)) for end in (bottom, top))
    return [_number(bottom), _number(top)]


def _number(value: Fraction) -> Any:
    """A number as a policy writes it."""
    return int(value) if value.denominator == 1 else decimal_text(value)


def _steps(profile: ColumnProfile, domain: Sequence[Any], kind: Type, codes: Sequence[str]) -> Any:
    """Round intervals; where most people are crowded at one end, intervals that widen with the number."""
    low, high = (Fraction(str(end)) for end in domain)
    if not codes and profile.quantiles is not None and _crowded(profile.quantiles, float(high)):
        cuts = _widening(profile.quantiles, low, high, kind)
        if cuts is not None:
            return {"cuts": cuts}
    ends = (int(low), int(high)) if kind is Type.INTEGER else (low, high)
    return suggest(kind, Interval(*ends)) or "auto"


def _crowded(quantiles: Sequence[float], high: float) -> bool:
    """Whether three quarters of the rows lie in the lowest twelfth of the domain, so that equal intervals tell little apart."""
    return quantiles[0] >= 0 and high > 100 and quantiles[3] < high / 12


def _widening(quantiles: Sequence[float], low: Fraction, high: Fraction, kind: Type) -> list[list[Any]] | None:
    """Cut points 1, 2 and 5 times the powers of ten, and the powers of ten alone."""
    middle = max(quantiles[2], quantiles[3], 1.0)
    first = max(0, math.floor(math.log10(middle)) - 1)
    last = math.floor(math.log10(float(high)))
    fine = [Fraction(step * 10**power) for power in range(first, last + 1) for step in (1, 2, 5)]
    if quantiles[1] == 0 and kind is Type.INTEGER:
        fine = [Fraction(1), *fine]  # none is something else than little
    if low < 0:
        fine = [Fraction(0), *fine]
    fine = [at for at in dict.fromkeys(fine) if low < at < high]
    coarse = [at for at in fine if not at or str(int(at)).rstrip("0") == "1"]
    if len(fine) < 3:
        return None
    return (
        [[_number(at) for at in fine], [_number(at) for at in coarse]]
        if 1 < len(coarse) < len(fine)
        else [[_number(at) for at in fine]]
    )


# --- dates, forms -------------------------------------------------------------------------------------------------------------


def _dates(profile: ColumnProfile, found: Recognition, kind: Type) -> Proposal:
    """Whole years around the dates; whole decades where they lie far apart, as dates of birth do."""
    if profile.years is None:
        return Proposal()
    first, last = profile.years
    if last - first > 10 or found.subject == "birth date":
        first, last = first // 10 * 10, last // 10 * 10 + 9
    first, last = max(first, 1), min(last, 9999)
    filled = last == _LAST_YEAR
    end = "9999-12-30" if filled else f"{last:04d}-12-31" if kind is Type.DATE else f"{last + 1:04d}-01-01"
    domain = [f"{first:04d}-01-01", end]
    ends = [dt.datetime.fromisoformat(end) for end in domain]
    interval = Interval(*(ends if kind is Type.DATETIME else [end.date() for end in ends]))
    hierarchy = suggest(kind, interval) if last - first < _LONGEST_BY_MONTH else {"date": ["year", "decade"]}
    notes = (
        ("dates in the year 9999 look like fillers; 9999-12-31 counts as missing (outside: suppress)",)
        if filled
        else ()
    )
    outside = "suppress" if filled else None
    return Proposal(domain, hierarchy, None, "profiled", notes, (), None, tuple(sorted(profile.gaps)), outside=outside)


def _forms(profile: ColumnProfile) -> Proposal | None:
    """Codes of one length, described place by place; their ends are hidden one after another. None where they have no form."""
    pattern = profile.pattern
    digits = {len(f"{end:.0f}") for end in (profile.lowest, profile.highest) if end is not None}
    if pattern is None and profile.storage is Storage.INTEGER and len(digits) == 1 and (profile.lowest or 0) > 0:
        pattern = f"[0-9]{{{len(f'{profile.highest:.0f}')}}}"
    active = tuple(sorted(profile.gaps))
    if pattern is None or Pattern(pattern).letters is None:
        return None
    return Proposal({"pattern": pattern}, {"mask": "right"}, None, "profiled", (), (), None, active)


# --- categories -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueGroups:
    """Labels above values, value by value, and what is to be said about them."""

    rows: tuple[Labels, ...]
    words: str = ""

    def levels(self) -> list[dict[str, list[str]]]:
        """The levels of `groups`, where each lists members of the level before."""
        levels: list[dict[str, list[str]]] = []
        for depth in range(1, len(self.rows[0])):
            level: dict[str, list[str]] = {}
            for row in self.rows:
                members = level.setdefault(row[depth], [])
                if row[depth - 1] not in members:
                    members.append(row[depth - 1])
            levels.append(level)
        return levels


def groups_of(profile: ColumnProfile, found: Recognition, values: Sequence[str]) -> tuple[ValueGroups | None, bool]:
    """Labels above values, if there are any, and whether they were chosen by how often each value occurs."""
    if found.type is Type.ORDINAL:
        return _ordinal_groups(found, values), False
    made = _category_groups(profile, found, values)
    return made, made is not None and made.words.startswith(_BY_SHARE)


_BY_SHARE = "values with less than"


def _categories(profile: ColumnProfile, found: Recognition) -> Proposal:
    counts = profile.counts or {}
    reserved = tuple(value for value in counts if value in RESERVED)
    present = [value for value in counts if value not in reserved and is_writable(value)]
    if not present:
        return Proposal()
    gaps = (value for value in present if value in profile.gaps and value.strip().casefold() not in ANSWERS)
    codes = tuple(sorted(gaps)) or _code_numbers(profile, found)
    values = _domain_values(profile, found, present)
    groups, _ = groups_of(profile, found, values)
    rare = sum(count < 5 for value, count in counts.items() if value in set(present))
    notes = []
    outside = "suppress" if len(present) + len(reserved) < len(counts) else None
    if outside is not None:
        notes.append(
            "some cells hold an empty text, or one that no policy can hold; they count as missing (outside: suppress)"
        )
    if reserved:
        notes.append(f"{_quoted(reserved)} cannot be a value, because releases use it as a label; it counts as missing")
    if found.codes is None and found.order is None and rare and profile.rows > 100:
        some = "1 of these values occurs" if rare == 1 else f"{rare} of these values occur"
        notes.append(f"{some} in fewer than five rows, and the list is published: take it from a codebook")
    made = Proposal(values, "auto", None, "profiled", tuple(notes), codes, None, reserved, outside=outside)
    if groups is None:
        return made
    made = replace(made, notes=(*notes, groups.words))
    if goes_into_file(values):
        return replace(made, domain=None, hierarchy=None, rows=groups.rows)
    return replace(made, hierarchy={"groups": groups.levels()})


def _code_numbers(profile: ColumnProfile, found: Recognition) -> tuple[str, ...]:
    """Codes of a list of numbers: those at either end of any numbers, and 7, 8 and 9 behind a gap, up to 9."""
    if not profile.numeric:
        return ()
    numbers = {float(value.replace(",", ".")): value for value in profile.counts or () if value not in profile.gaps}
    tail = _last_run(sorted(numbers), 9) if found.codes is None else []
    return (*_sentinels(profile), *(numbers[value] for value in tail))


def _domain_values(profile: ColumnProfile, found: Recognition, present: Sequence[str]) -> list[str]:
    """The values that may occur: a whole list of codes, all steps of a scale from the first to the last, or what was seen."""
    whole = None if found.codes is None else found.codes.domain_of(present)
    if whole is not None:
        return list(whole)
    if found.codes is not None and found.codes.ordered and found.codes.codes is not None:
        place = {plain_words(code): at for at, code in enumerate(found.codes.codes)}
        return sorted(present, key=lambda value: (place.get(plain_words(value), len(place)), value))
    if found.order is not None:
        return [*found.order, *(value for value in sorted(present) if value not in found.order)]
    if profile.numeric:
        numbers = sorted(
            (value for value in present if value not in profile.gaps),
            key=lambda text: (float(text.replace(",", ".")), text),
        )
        codes = set(_code_numbers(profile, found))
        scale = [value for value in numbers if value not in codes] or numbers
        low, high = (int(float(scale[end].replace(",", "."))) for end in (0, -1))
        steps = [str(step) for step in range(low, high + 1)] if high - low < 30 else []
        if found.type is Type.ORDINAL and set(scale) <= set(steps):
            below = [value for value in numbers if value not in steps and float(value.replace(",", ".")) < low]
            numbers = [*below, *steps, *(value for value in numbers if value not in steps and value not in below)]
        return [*numbers, *sorted(value for value in present if value in profile.gaps)]
    return sorted(present)


def goes_into_file(values: Sequence[str]) -> bool:
    """Whether a list is too long for the policy itself; a file cannot hold texts of several lines."""
    return len(values) > WRITTEN and not any("\n" in value or "\r" in value for value in values)


def _quoted(values: Sequence[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


def is_writable(value: str) -> bool:
    """Whether a policy can hold a text: not an empty one, one with a NUL or half a surrogate pair, or a very long one."""
    return (
        bool(value)
        and len(value) <= _LONGEST_VALUE
        and not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in value)
    )


def _ordinal_groups(found: Recognition, values: Sequence[str]) -> ValueGroups | None:
    """Labels that a scale or a table of codes has; neighbours together where there are none."""
    labelled = _scale_rows(found, values) or (None if found.codes is None else found.codes.rows(values))
    if labelled is not None and len({row[1:] for row in labelled}) > 1:
        return ValueGroups(tuple(labelled))
    if len(values) > WRITTEN:
        return ValueGroups(tuple(_rows_of_levels(values, neighbours(values))))
    return None


def _scale_rows(found: Recognition, values: Sequence[str]) -> list[Labels] | None:
    scale = found.scale
    if scale is None or not scale.labels:
        return None
    rows: list[Labels] = []
    for value in values:
        at = scale.place(value)
        rows.append((value, *(scale.labels[at] if at is not None else ("other",) * len(scale.labels[0]))))
    return rows


def _rows_of_levels(values: Sequence[str], levels: Sequence[Mapping[str, Sequence[str]]]) -> list[Labels]:
    """Each value with its label at every level, where a level groups labels of the level before."""
    rows = {value: [value] for value in values}
    for level in levels:
        above = {member: label for label, members in level.items() for member in members}
        for row in rows.values():
            row.append(above[row[-1]])
    return [tuple(row) for row in rows.values()]


def _category_groups(profile: ColumnProfile, found: Recognition, values: Sequence[str]) -> ValueGroups | None:
    """ValueGroups of a table of codes, of a scale, of common beginnings, or `other` for what is rare."""
    if found.codes is not None:
        return _known(found.codes.rows(values), found.codes.words)
    scaled = _scale_rows(found, values)
    if scaled is not None:
        return _known(scaled, "")
    if len(values) < GROUPED:
        return None
    prefix = _by_prefix(values)
    if prefix is not None:
        return ValueGroups(tuple(prefix), "the groups are common beginnings of the values: name better ones")
    rare = _by_share(profile, values)
    if rare is not None:
        return ValueGroups(
            tuple(rare), f"{_BY_SHARE} {RARE:.0%} of the rows are grouped as `other`: name better groups"
        )
    return ValueGroups(tuple((value,) for value in values)) if len(values) > WRITTEN else None


def _known(rows: Iterable[Labels], words: str) -> ValueGroups | None:
    listed = _merging(list(rows))
    said = f"the groups are those of {words}" if words else ""
    return (
        ValueGroups(tuple(listed), said)
        if listed and len(listed[0]) > 1 and len({row[1:] for row in listed}) > 1
        else None
    )


def _merging(rows: list[Labels]) -> list[Labels]:
    """The rows without levels at which no two labels of the level before become one."""
    if not rows:
        return rows
    kept, before = [0], len(rows)
    for depth in range(1, len(rows[0])):
        labels = len({row[depth] for row in rows})
        if labels < before:
            kept.append(depth)
            before = labels
    return [tuple(row[depth] for depth in kept) for row in rows]


def _by_prefix(values: Sequence[str]) -> list[Labels] | None:
    """ValueGroups by the first word, or by the first letters of codes of one length; None where they tell nothing."""
    firsts = [plain_words(value).split(" ")[0] or value for value in values]
    if _tells(firsts):
        return [(value, f"{first}…") for value, first in zip(values, firsts, strict=True)]
    lengths = {len(value) for value in values}
    if len(lengths) > 1 or max(lengths) < 2 or any(" " in value for value in values):
        return None
    for letters in range(1, max(lengths)):
        heads = [value[:letters] for value in values]
        if _tells(heads):
            return [(value, f"{head}…") for value, head in zip(values, heads, strict=True)]
    return None


def _tells(heads: Sequence[str]) -> bool:
    """Whether beginnings make a few groups, most of which have several members."""
    groups = len(set(heads))
    single = sum(heads.count(head) == 1 for head in set(heads))
    return 2 <= groups <= len(heads) / 2 and single <= groups / 3


def _by_share(profile: ColumnProfile, values: Sequence[str]) -> list[Labels] | None:
    """What is rare in one group; every frequent value in its own."""
    counts = profile.counts or {}
    rare = {value for value in values if counts.get(value, 0) < RARE * profile.present}
    if len(rare) < max(2, len(values) / 4) or len(rare) == len(values):
        return None
    label = "other" if "other" not in values else "all other values"
    return [(value, label if value in rare else value) for value in values]
