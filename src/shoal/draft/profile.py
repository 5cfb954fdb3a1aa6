"""What is read off a column: how it is stored, what its values read as, how many there are, how far they reach.

A table is read once, in batches. Of each column at most `MOST_DISTINCT` different values are kept; beyond that a sample of fixed
size of the different values, with the rows of each, tells how many there are and how often they repeat.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from shoal.data.date_format import DateFormat
from shoal.engine.read.storage import DATE, FALSE, INTEGER, MOMENT, NUMBER, TRUE, Storage, plain, storage_of

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.read.source import StoredColumns

MOST_DISTINCT = 20_000
"""Different values of a column that are kept; a policy lists no more."""
SAMPLED = 4096
"""Different values, and numbers, that a sample of a column holds."""
LONGEST_PATTERN = 24
"""Letters of a code whose places are compared."""
_HEAD = 48
"""Letters of a text that its hash is made of."""

_GAP_WORDS = (
    "na|n/a|#n/a|n.a.|n.a|nan|null|none|nil|missing|.|-|--|---|?|??|*|***|\\\\n|#null!|(null)|<na>|<null>|k.a.|k. a.|"
    "keine angabe|not available|not applicable|not specified|not stated|not reported|not known|unknown|unkown|unspecified|"
    "undefined|refused|don't know|dont know|no answer|no response|prefer not to say|not a fatal(n/a)|s/d|sin dato|inconnu|"
    "unbekannt|desconocido"
)
GAPS: Final = frozenset(_GAP_WORDS.split("|"))
"""Texts, in small letters, that often stand for a missing value; what they mean in a table, only its custodian knows."""
ANSWERS: Final = frozenset({"none", "nil"})
"""Those of them that are an answer where values are words: no religion, no insurance."""
_NUMBERS: Final = {
    "integer": rf"^\s*({INTEGER})\s*$",
    "decimal": rf"(?i)^\s*({NUMBER})\s*$",
    "decimal comma": r"^\s*[+-]?[0-9]+(,[0-9]+)?\s*$",
}
FORMS: Final = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y%m%d",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d%b%Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%Y.%m.%d",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%Y/%m/%d %H:%M:%S",
    "%d%b%Y %H:%M:%S",
    "%d%b%Y:%H:%M:%S",
)
"""Forms of dates that are looked for, in this order, where dates are stored as text and not as in 2024-12-31."""
_SHAPES: Final = {
    "an e-mail address": r"^\s*[^@\s]+@[^@\s]+\.[A-Za-z]{2,}\s*$",
    "a web address": r"(?i)^\s*(https?://|www\.)\S+\s*$",
    "a random identifier (UUID)": r"(?i)^\s*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\s*$",
    "a hash": r"(?i)^\s*([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})\s*$",
    "an address on the network": r"^\s*([0-9]{1,3}\.){3}[0-9]{1,3}\s*$",
    "a social security number": r"^\s*[0-9]{3}-[0-9]{2}-[0-9]{4}\s*$",
    "a telephone number": r"^\s*(\+[0-9][0-9 ()./-]{6,18}[0-9]|\(?0?[0-9]{2,5}\)?[ ./-][0-9]{2,4}[ ./-][0-9]{3,}[0-9 -]*)\s*$",
    "an account number (IBAN)": r"^\s*[A-Z]{2}[0-9]{2}[ ]?([A-Z0-9]{4}[ ]?){2,7}[A-Z0-9]{1,4}\s*$",
    "a point on the map": r"^\s*-?[0-9]{1,3}\.[0-9]{4,}\s*,?\s*-?[0-9]{1,3}\.[0-9]{4,}\s*$",
}
"""Texts by whose form alone one sees what they are; of several forms the first is named."""
SHAPES: Final = tuple(_SHAPES)


def pattern_of(form: str) -> str:
    """The pattern of a date format, with a name for the group of each sign.

    >>> pattern_of("%y%m%d")
    '(?P<g0>[0-9]{2})(?P<g1>0[1-9]|1[0-2])(?P<g2>0[1-9]|[12][0-9]|3[01])'
    """
    number = itertools.count()
    return re.sub(r"(?<!\\)\(", lambda _: f"(?P<g{next(number)}>", DateFormat(form).pattern)


@dataclass(frozen=True)
class ColumnProfile:
    """What was read off one column; `rows` is 0 and nothing else is known where no value was looked at."""

    name: str
    storage: Storage
    rows: int = 0
    missing: int = 0
    counts: Mapping[str, int] | None = field(default_factory=dict, repr=False)
    """The different values as text, each with its rows; None where they are more than `MOST_DISTINCT`."""
    distinct: int = 0
    """How many different values there are; an estimate where `counts` is None."""
    most_rows: int = 0
    """The most rows with one value: of those in the sample, where `counts` is None."""
    typical_rows: float = 0.0
    """The rows of a value in the middle of all values, sorted by how often they occur."""
    readings: frozenset[str] = frozenset()
    """What all texts read as, those left out that look like missing codes: `integer`, `decimal`, `decimal comma`, `boolean`,
    `date`, `datetime`, or a date format."""
    shapes: frozenset[str] = frozenset()
    """Forms that all texts have, such as that of `an e-mail address`."""
    lowest: float | None = None
    highest: float | None = None
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    """The lowest and the highest different numbers, a few of each."""
    years: tuple[int, int] | None = None
    """The first and the last year of dates and times."""
    whole: bool = False
    """Whether all numbers are whole."""
    midnight: bool = False
    """Whether all times are at midnight."""
    counting: bool = False
    """Whether the numbers of the rows count up by one."""
    leading_zero: bool = False
    shortest: int = 0
    longest: int = 0
    mean_length: float = 0.0
    mean_words: float = 0.0
    pattern: str | None = None
    """A regular expression for codes of one length: letters and digits place by place."""
    quantiles: tuple[float, float, float, float, float] | None = None
    """The 1 %, 25 %, 50 %, 75 % and 99 % points of a sample of the numbers."""
    gaps: Mapping[str, int] = field(default_factory=dict)
    """Texts that look like missing codes, as they are spelled, with their rows."""

    @property
    def present(self) -> int:
        """The rows that have a value."""
        return self.rows - self.missing

    @property
    def looked_at(self) -> bool:
        """Whether any value was looked at."""
        return self.rows > 0

    @property
    def constant(self) -> bool:
        """Whether every row has the same value, or none."""
        return self.looked_at and self.distinct <= 1

    @property
    def near_unique(self) -> bool:
        """Whether nearly every row has a value of its own."""
        return self.present > 20 and self.distinct >= 0.95 * self.present

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return self.storage in (Storage.INTEGER, Storage.FLOAT) or bool(
            self.readings & {"integer", "decimal", "decimal comma"}
        )

    def values(self) -> list[str]:
        """The different values without those that look like missing codes; empty where they are too many to keep."""
        return [value for value in self.counts or () if value not in self.gaps]


@dataclass(frozen=True)
class TableProfile:
    """What was read off a table: its columns in order."""

    name: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    looked_at: bool = True


def profile_table(
    stored: StoredColumns,
    *,
    schema_only: bool = False,
    missing: Mapping[str, Sequence[str]] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TableProfile:
    """Read all columns of a table once; with `schema_only`, their names and how they are stored, and no value.

    `missing` has codes that are known to stand for missing values, by the name of the column; they count as missing. A column
    whose values no declared type reads is described by its storage alone. `progress` is told the rows that were read, and all.
    """
    kinds = [storage_of(kind) for kind in stored.kinds]
    if schema_only:
        columns = [ColumnProfile(name, kind) for name, kind in zip(stored.names, kinds, strict=True)]
        return TableProfile(stored.name, 0, tuple(columns), looked_at=False)
    places = [place for place, kind in enumerate(kinds) if kind not in (Storage.OTHER, Storage.NOTHING)]
    codes = missing or {}
    watched = {place: _watch(kinds[place], stored.rows, codes.get(stored.names[place], ())) for place in places}
    rows = 0
    if places:
        for batch in stored.opener(places):
            rows += batch.num_rows
            for at, place in enumerate(places):
                watched[place].add(plain(batch.column(at)))
            progress(rows, stored.rows)
    rows = rows or stored.rows
    columns = [
        watched[place].profile(name, rows)
        if place in watched
        else ColumnProfile(name, kind, rows, rows if kind is Storage.NOTHING else 0)
        for place, (name, kind) in enumerate(zip(stored.names, kinds, strict=True))
    ]
    stored.stamp.verify()
    return TableProfile(stored.name, rows, tuple(columns))


def _watch(kind: Storage, rows: int, codes: Sequence[str]) -> _Watch:
    if kind is Storage.TEXT:
        return _TextWatch(rows, kind, codes)
    if kind in (Storage.INTEGER, Storage.FLOAT):
        return _NumberWatch(rows, kind, codes)
    if kind in (Storage.DATE, Storage.MOMENT):
        return _TimeWatch(rows, kind, codes)
    return _Watch(rows, kind, codes)


class _Watch:
    """What is kept of a column while its batches come: missing values, and different values with their rows."""

    def __init__(self, rows: int, kind: Storage, codes: Sequence[str]) -> None:
        self.kind = kind
        self.codes = tuple(codes)
        self.rows = rows
        self.missing = 0
        self.counts: Counter[str] | None = Counter()
        self.sketch: _Sketch | None = None

    def add(self, column: pa.Array) -> None:
        """Take a batch in."""
        from pyarrow import compute

        if self.codes:
            column = self.without_codes(column)
        self.missing += column.null_count
        found = compute.value_counts(column.drop_null())
        values, numbers = found.field("values"), found.field("counts").to_numpy(zero_copy_only=False)
        self.keep(values, numbers)
        self.see(values, numbers, column)

    def without_codes(self, column: pa.Array) -> pa.Array:
        """The column with its missing codes missing."""
        import pyarrow as pa
        from pyarrow import compute

        texts = column.cast(pa.string())
        if self.kind is Storage.FLOAT:
            texts = compute.replace_substring_regex(texts, r"\.0$", "")
        return compute.if_else(compute.is_in(texts, pa.array(self.codes)), pa.scalar(None, column.type), column)

    def keep(self, values: pa.Array, numbers: npt.NDArray[np.int64]) -> None:
        """Count the different values, exactly as long as they are few."""
        if self.counts is not None and len(values) <= MOST_DISTINCT:
            for value, number in zip(self.spell(values), numbers.tolist(), strict=True):
                self.counts[value] += number
            if len(self.counts) <= MOST_DISTINCT:
                return
            numbers = np.fromiter(self.counts.values(), dtype=np.int64, count=len(self.counts))
            hashes = _hash_texts(_text_array(list(self.counts)))
        else:
            hashes = _hash_texts(_text_array(self.spell(values)) if self.kind is not Storage.TEXT else values)
            if self.counts:
                held = np.fromiter(self.counts.values(), dtype=np.int64, count=len(self.counts))
                hashes = np.concatenate([hashes, _hash_texts(_text_array(list(self.counts)))])
                numbers = np.concatenate([numbers, held])
        self.counts = None
        self.sketch = self.sketch or _Sketch()
        self.sketch.add(hashes, numbers)

    def spell(self, values: pa.Array) -> list[str]:
        """The values as texts, as a policy spells them."""
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values.to_pylist()]

    def see(self, values: pa.Array, numbers: npt.NDArray[np.int64], column: pa.Array) -> None:
        """Look at what the kind of storage has to tell."""

    def found(self) -> dict[str, Any]:
        """What the kind of storage has to tell, at the end."""
        return {}

    def profile(self, name: str, rows: int) -> ColumnProfile:
        """The profile, when all batches were seen."""
        if self.counts is not None:
            each = sorted(self.counts.values())
            distinct = len(each)
        else:
            assert self.sketch is not None  # noqa: S101 - one of the two is kept
            each, distinct = sorted(self.sketch.numbers.tolist()), self.sketch.distinct()
        return ColumnProfile(
            name,
            self.kind,
            rows,
            self.missing,
            None if self.counts is None else dict(self.counts),
            min(distinct, rows - self.missing),
            each[-1] if each else 0,
            float(each[len(each) // 2]) if each else 0.0,
            **self.found(),
        )


class _TextWatch(_Watch):
    """A column of texts: what all of them read as, which forms they have, how long they are."""

    def __init__(self, rows: int, kind: Storage, codes: Sequence[str]) -> None:
        super().__init__(rows, kind, codes)
        self.readings: dict[str, str] = {
            **_NUMBERS,
            "boolean": rf"(?i)^\s*({'|'.join((*TRUE, *FALSE))})\s*$",
            "date": rf"^\s*({DATE})\s*$",
            "datetime": rf"(?i)^\s*({MOMENT})\s*$",
            **{form: rf"(?i)^\s*{pattern_of(form)}\s*$" for form in FORMS},
        }
        self.shapes = dict(_SHAPES)
        self.gaps: Counter[str] = Counter()
        self.numbers = _NumberRange(rows)
        self.years = _Years()
        self.seen = 0
        self.letters = self.words = 0
        self.shortest, self.longest = 1 << 30, 0
        self.leading_zero = False
        self.places: _Places | None = _Places()
        self.whole = True

    def see(self, values: pa.Array, numbers: npt.NDArray[np.int64], column: pa.Array) -> None:  # noqa: ARG002
        import pyarrow as pa
        from pyarrow import compute

        bare = compute.utf8_trim_whitespace(values)
        gap = compute.is_in(compute.utf8_lower(bare), pa.array(sorted(GAPS)))
        if compute.any(gap).as_py():
            held = gap.to_numpy(zero_copy_only=False)
            for text, number in zip(values.filter(gap).to_pylist(), numbers[held].tolist(), strict=True):
                self.gaps[text] += number
            keep = compute.invert(gap)
            values, bare, numbers = values.filter(keep), bare.filter(keep), numbers[~held]
        if not len(values):
            return
        self.seen += int(numbers.sum())
        self._measure(values, numbers)
        for tests in (self.readings, self.shapes):
            for name in [name for name, form in tests.items() if not _all_match(values, form)]:
                del tests[name]
        self._numbers(bare, numbers)
        self._dates(bare)
        if self.places is not None and not self.places.add(values):
            self.places = None

    def _measure(self, values: pa.Array, numbers: npt.NDArray[np.int64]) -> None:
        from pyarrow import compute

        lengths = compute.utf8_length(values).to_numpy(zero_copy_only=False)
        blanks = compute.count_substring(values, " ").to_numpy(zero_copy_only=False)
        self.letters += int((lengths * numbers).sum())
        self.words += int(((blanks + 1) * numbers).sum())
        self.shortest, self.longest = min(self.shortest, int(lengths.min())), max(self.longest, int(lengths.max()))

    def _numbers(self, bare: pa.Array, numbers: npt.NDArray[np.int64]) -> None:
        """Follow the range of numbers as long as all texts are numbers."""
        from pyarrow import compute

        if not self.readings.keys() & _NUMBERS.keys():
            return
        if "integer" in self.readings and not self.leading_zero:
            self.leading_zero = bool(compute.any(compute.match_substring_regex(bare, r"^[+-]?0[0-9]")).as_py())
        comma = "decimal" not in self.readings
        texts = compute.replace_substring(bare, ",", ".") if comma else bare
        found = compute.replace_substring_regex(texts, r"^\+", "").cast("float64").to_numpy(zero_copy_only=False)
        self.whole = self.whole and bool(np.all(found == np.floor(found)))
        if np.abs(found).max() >= 2.0**63:
            self.readings.pop("integer", None)  # digits that are no whole number of 64 bits
        self.numbers.add(found, numbers)

    def _dates(self, bare: pa.Array) -> None:
        """Follow the years as long as all texts are dates of some form."""
        from pyarrow import compute

        if "datetime" in self.readings:
            self.years.add(compute.utf8_slice_codeunits(bare, 0, 4).cast("int64").to_numpy(zero_copy_only=False))
            return
        form = next((form for form in FORMS if form in self.readings), None)
        if form is None:
            return
        signs = DateFormat(form).signs
        place = next(at for at, sign in enumerate(signs) if sign in ("%Y", "%y"))
        found = compute.extract_regex(bare, rf"(?i)^{pattern_of(form)}$").field(place).cast("int64")
        years = found.to_numpy(zero_copy_only=False)
        if signs[place] == "%y":
            years = np.where(years >= 69, years + 1900, years + 2000)
        self.years.add(years)

    def found(self) -> dict[str, Any]:
        readings = frozenset(self.readings) if self.seen else frozenset()
        numeric = bool(readings & _NUMBERS.keys())
        dated = bool(readings - _NUMBERS.keys() - {"boolean"})
        forms = [form for form in FORMS if form in readings]
        if forms and self.years.odd:  # 99991231 is eight digits and no date
            readings -= set(forms)
        return {
            "readings": readings,
            "shapes": frozenset(self.shapes) if self.seen else frozenset(),
            "leading_zero": self.leading_zero,
            "shortest": self.shortest if self.seen else 0,
            "longest": self.longest,
            "mean_length": self.letters / self.seen if self.seen else 0.0,
            "mean_words": self.words / self.seen if self.seen else 0.0,
            "pattern": self.places.pattern() if self.places is not None and self.seen else None,
            "gaps": dict(self.gaps),
            "whole": self.whole and numeric,
            **(self.numbers.found() if numeric else {}),
            "years": self.years.found() if dated else None,
        }


class _NumberWatch(_Watch):
    """A column of numbers: how far they reach, whether they are whole, whether they count the rows."""

    def __init__(self, rows: int, kind: Storage, codes: Sequence[str]) -> None:
        super().__init__(rows, kind, codes)
        self.numbers = _NumberRange(rows)
        self.whole = True
        self.counting = kind is Storage.INTEGER
        self.last: int | None = None

    def spell(self, values: pa.Array) -> list[str]:
        if self.kind is Storage.INTEGER:
            return [str(value) for value in values.to_pylist()]
        return [str(int(value)) if value == int(value) else repr(value) for value in values.to_pylist()]

    def add(self, column: pa.Array) -> None:
        from pyarrow import compute

        if self.kind is Storage.FLOAT:
            lost = compute.invert(compute.is_finite(column)).fill_null(False)
            self.missing += int(compute.sum(lost).as_py() or 0)
            column = column.filter(compute.invert(lost))
        super().add(column)

    def see(self, values: pa.Array, numbers: npt.NDArray[np.int64], column: pa.Array) -> None:
        if not len(values):
            return
        found = values.to_numpy(zero_copy_only=False)
        self.whole = self.whole and bool(np.all(found == np.floor(found)))
        self.numbers.add(found.astype(np.float64), numbers)
        if self.counting:
            rows = column.to_numpy(zero_copy_only=False)
            steps = column.null_count == 0 and bool(np.all(np.diff(rows) == 1))
            self.counting = steps and (self.last is None or int(rows[0]) == self.last + 1)
            self.last = int(rows[-1]) if self.counting else None

    def found(self) -> dict[str, Any]:
        return {"whole": self.whole, "counting": self.counting and self.rows > 1, **self.numbers.found()}


class _TimeWatch(_Watch):
    """A column of dates or times: the years they lie in, and whether there is a time of day."""

    def __init__(self, rows: int, kind: Storage, codes: Sequence[str]) -> None:
        super().__init__(rows, kind, codes)
        self.years = _Years()
        self.midnight = True

    def spell(self, values: pa.Array) -> list[str]:
        return list(values.cast("string").to_pylist())

    def see(self, values: pa.Array, numbers: npt.NDArray[np.int64], column: pa.Array) -> None:  # noqa: ARG002
        from pyarrow import compute

        if not len(values):
            return
        self.years.add(compute.year(values).to_numpy(zero_copy_only=False))
        if self.kind is Storage.MOMENT and self.midnight:
            days = values.cast("date32", safe=False).cast(values.type)
            self.midnight = bool(compute.all(compute.equal(days, values)).as_py())

    def found(self) -> dict[str, Any]:
        return {"years": self.years.found(), "midnight": self.midnight}


class _Years:
    """The first and the last year."""

    def __init__(self) -> None:
        self.ends: tuple[int, int] | None = None
        self.odd = False

    def add(self, years: npt.NDArray[Any]) -> None:
        low, high = int(years.min()), int(years.max())
        self.ends = (low, high) if self.ends is None else (min(low, self.ends[0]), max(high, self.ends[1]))
        self.odd = not 1800 <= self.ends[0] <= self.ends[1] <= 2200

    def found(self) -> tuple[int, int] | None:
        return self.ends


class _NumberRange:
    """The ends of a column of numbers, and a sample of them."""

    EDGE = 4

    def __init__(self, rows: int) -> None:
        self.every = max(1, rows // SAMPLED)
        self.lows: npt.NDArray[np.float64] = np.zeros(0)
        self.highs: npt.NDArray[np.float64] = np.zeros(0)
        self.sample: list[npt.NDArray[np.float64]] = []
        self.skip = 0

    def add(self, values: npt.NDArray[np.float64], numbers: npt.NDArray[np.int64]) -> None:
        """Take different values and their rows in."""
        sorted_values = np.sort(values)
        self.lows = np.unique(np.concatenate([self.lows, sorted_values[: self.EDGE]]))[: self.EDGE]
        self.highs = np.unique(np.concatenate([self.highs, sorted_values[-self.EDGE :]]))[-self.EDGE :]
        order = np.argsort(values, kind="stable")
        ends = np.cumsum(numbers[order])
        points = np.arange(self.skip, int(ends[-1]), self.every)
        self.skip = int((self.skip - int(ends[-1])) % self.every)
        self.sample.append(values[order][np.searchsorted(ends, points, side="right")])

    def found(self) -> dict[str, Any]:
        if not len(self.lows):
            return {}
        sample = np.concatenate(self.sample) if self.sample else np.zeros(0)
        at = np.quantile(sample, [0.01, 0.25, 0.5, 0.75, 0.99]) if len(sample) else None
        return {
            "lowest": float(self.lows[0]),
            "highest": float(self.highs[-1]),
            "lows": tuple(self.lows.tolist()),
            "highs": tuple(self.highs.tolist()),
            "quantiles": None if at is None else tuple(at.tolist()),
        }


class _Places:
    """Codes of one length: at each place a digit, a capital letter, a small letter, or the same sign in all."""

    _CLASSES = ("[0-9]", "[A-Z]", "[a-z]")

    def __init__(self) -> None:
        self.low: Any = None
        self.high: Any = None

    def add(self, values: pa.Array) -> bool:
        """Take texts in; False where they have no common form."""
        from pyarrow import compute

        lengths = compute.binary_length(values)
        ends = compute.min_max(lengths)
        length = ends["min"].as_py()
        if length != ends["max"].as_py() or not 2 <= length <= LONGEST_PATTERN:
            return False
        if self.low is not None and len(self.low) != length:
            return False
        bytes_of = np.frombuffer("".join(values.to_pylist()).encode(), dtype=np.uint8)
        if len(bytes_of) != length * len(values) or bool((bytes_of >= 128).any()):
            return False
        table = bytes_of.reshape(len(values), length)
        low, high = table.min(axis=0), table.max(axis=0)
        self.low = low if self.low is None else np.minimum(self.low, low)
        self.high = high if self.high is None else np.maximum(self.high, high)
        return True

    def pattern(self) -> str | None:
        """The regular expression; None where a place mixes classes, or nothing but signs is left."""
        if self.low is None:
            return None
        parts: list[str] = []
        for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True):
            both = chr(low), chr(high)
            place = next(
                (
                    name
                    for name, within in zip(self._CLASSES, ("09", "AZ", "az"), strict=True)
                    if within[0] <= both[0] <= both[1] <= within[1]
                ),
                None,
            )
            if place is None and low == high:
                place = both[0] if both[0].isalnum() or both[0] in " _" else f"\\{both[0]}"
            if place is None:
                place = "[0-9A-Z]" if all(each.isdigit() or each.isupper() for each in both) else None
            if place is None:
                return None
            parts.append(place)
        return _merge(parts)


def _merge(parts: Sequence[str]) -> str:
    """Equal places one after the other, written with their number."""
    written = ""
    at = 0
    while at < len(parts):
        times = 1
        while at + times < len(parts) and parts[at + times] == parts[at]:
            times += 1
        written += parts[at] if times == 1 else f"{parts[at]}{{{times}}}"
        at += times
    return written


class _Sketch:
    """A sample of fixed size of the different values, those with the smallest hashes, with the exact rows of each."""

    def __init__(self) -> None:
        self.hashes = np.zeros(0, dtype=np.uint64)
        self.numbers = np.zeros(0, dtype=np.int64)

    def add(self, hashes: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int64]) -> None:
        """Take different values in; one that was left out once stays out, because the largest hash kept only falls."""
        if len(self.hashes) == SAMPLED:
            small = hashes <= self.hashes[-1]
            hashes, numbers = hashes[small], numbers[small]
        together, place = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        counted = np.bincount(place, weights=np.concatenate([self.numbers, numbers]), minlength=len(together))
        self.hashes, self.numbers = together[:SAMPLED], counted[:SAMPLED].astype(np.int64)

    def distinct(self) -> int:
        """An estimate of how many different values there are."""
        if len(self.hashes) < SAMPLED:
            return len(self.hashes)
        return int((SAMPLED - 1) * (2.0**64 / float(self.hashes[-1])))


def _text_array(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    return pa.array(texts, pa.string())


def _all_match(values: pa.Array, form: str) -> bool:
    from pyarrow import compute

    return bool(compute.all(compute.match_substring_regex(values, form)).as_py())


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _hash_texts(values: pa.Array) -> npt.NDArray[np.uint64]:
    """A number of 64 bits for each text, the same on every machine; only the first letters and the length count."""
    import pyarrow as pa
    from pyarrow import compute

    heads = compute.utf8_slice_codeunits(values.cast(pa.string()), 0, _HEAD)
    lengths = compute.binary_length(values.cast(pa.string())).to_numpy(zero_copy_only=False).astype(np.uint64)
    if not len(heads):
        return np.zeros(0, dtype=np.uint64)
    heads = pa.concat_arrays([heads])
    offsets = np.frombuffer(heads.buffers()[1], dtype=np.int32)[heads.offset : heads.offset + len(heads) + 1]
    starts, sizes = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    data = np.frombuffer(heads.buffers()[2] or b"", dtype=np.uint8)[int(offsets[0]) : int(offsets[-1])]
    powers = np.cumprod(np.full(int(sizes.max()) + 1, _ODD, dtype=np.uint64))
    total = np.zeros(len(heads), dtype=np.uint64)
    if len(data):
        place = np.arange(len(data)) - np.repeat(starts - int(offsets[0]), sizes)
        terms = (data.astype(np.uint64) + np.uint64(1)) * powers[place]
        held = sizes > 0
        total[held] = np.add.reduceat(terms, (starts - int(offsets[0]))[held])
    return _mix(total + lengths * np.uint64(0xD1342543DE82EF95))


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Spread the bits of a number over all of it (the last step of SplitMix64)."""
    mixed = numbers + _ODD
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
