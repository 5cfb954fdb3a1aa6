"""Files of statistics programs: Stata (.dta), SPSS (.sav, .zsav, .por) and SAS (.sas7bdat, .xpt), with the labels they carry.

What is stored is what is read: codes stay codes, and what they stand for becomes the file's codebook. How a column is read
depends on what the file declares of it (its storage type and its display format), never on its rows.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.schema import STANDARD, FileFormat
from shoal.data.type import Type
from shoal.engine.read.foreign import SPSS, STATA, readstat_process
from shoal.engine.read.foreign.cell import spell_span
from shoal.engine.read.source import STEP, Stamp, StoredColumns, load_library, refuse_rows
from shoal.engine.read.storage import EXACT, spelled_numbers
from shoal.errors import DataError, ShoalError

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_LINE: Final = 1 << 28
"""Bytes that what a file declares may have."""
MOST_LETTERS: Final = 1 << 30
"""Bytes that the texts of a column may have in the rows that are decoded at a time."""
DAY: Final = 86_400
_FIRST_DAY, _LAST_DAY = (int(np.datetime64(day, "D").astype(int)) for day in ("0001-01-01", "9999-12-31"))
_STATA_DAY = int(np.datetime64("1960-01-01", "D").astype(int))
_SPSS_DAY = int(np.datetime64("1582-10-14", "D").astype(int))

Numbers = npt.NDArray[np.float64]
T = TypeVar("T")
_READERS: Final = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""The function of the library for each ending."""


@dataclass(frozen=True)
class _Decoder:
    """How the values of one column become a column of Arrow: its type, and the function that converts some of them."""

    kind: pa.DataType
    convert: Callable[[Numbers], pa.Array] | None = None
    """None for texts, which need no conversion."""
    type: Type | None = None
    """The type that the file declares, where it is more than a number or a text."""


@dataclass(frozen=True)
class _Declared:
    """What a file declares: its number of rows, and of each column the storage type, the display format and the labels."""

    rows: int
    names: tuple[str, ...]
    labels: Mapping[str, str | None]
    stored: Mapping[str, str]
    shown: Mapping[str, str | None]
    value_labels: Mapping[str, Sequence[tuple[float | str, str]]]
    missing: Mapping[str, Sequence[tuple[float | str, float | str]]]


def open_statistical(path: Path, form: FileFormat = STANDARD) -> StoredColumns:
    """Open a file of Stata, SPSS or SAS, by its ending.

    Numbers of SPSS and SAS, and numbers with a fraction of Stata, are spelled: a whole number without a point, others in the
    shortest text that reads as the same number. So a column of codes reads as a category, an integer or a decimal. The missing
    values of each program are missing, and so is an empty text, because these programs have no other missing text. Codes that
    SPSS declares as missing are values here; the codebook lists them.

    Raises  DataError where the file cannot be read; UsageError where the library that reads it is not installed
    """
    if importlib.util.find_spec("pyreadstat") is None:
        load_library("pyreadstat", "files of Stata, SPSS and SAS")
    stamp = Stamp.of([path])
    with contextlib.closing(_Decoding(path, form, ())) as process:
        found = process.declared
    names = found.names
    if len(set(names)) != len(names):
        raise DataError("columns of the file share a name", came=path.name, fix="rename them in the program it is from")
    refuse_rows(path.name, found.rows)
    decoders = [_decoder(path, found, name) for name in names]

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if not places:
            return
        wanted = [(names[place], decoders[place]) for place in places]
        with contextlib.closing(_Decoding(path, form, wanted)) as process:
            for columns in process.parts():
                batch = pa.RecordBatch.from_arrays(columns, names=[name for name, _ in wanted])
                for start in range(0, batch.num_rows, STEP):
                    yield batch.slice(start, STEP)

    kinds = tuple(decoder.kind for decoder in decoders)
    codebook = _codebook(path, found, decoders)
    return StoredColumns(path.name, names, kinds, found.rows, stamp, opener, codebook=codebook)


class _Decoding:
    """A process that decodes a file, and what it gives. A broken file may crash it, or make it write nonsense."""

    def __init__(self, path: Path, form: FileFormat, wanted: Sequence[tuple[str, _Decoder]]) -> None:
        self._path, self._wanted = path, wanted
        suffix = path.suffix.lower()
        options: dict[str, Any] = {"user_missing": True} if suffix in (".sav", ".zsav") else {}
        if form.encoding != STANDARD.encoding and suffix != ".por":
            options["encoding"] = form.encoding  # files of old programs do not say it
        asked = {
            "path": str(path.absolute()),
            "reader": _READERS[suffix],
            "options": options,
            "columns": [name for name, _ in wanted],
        }
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of this package
            [sys.executable, "-P", readstat_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        )
        try:
            self._send(asked)
            self.declared = self._attempt(self._read_declared)
        except BaseException:
            self.close()
            raise

    def _send(self, asked: object) -> None:
        given = cast("BinaryIO", self._process.stdin)
        with contextlib.suppress(BrokenPipeError):  # that it is gone is noticed when nothing comes from it
            given.write(json.dumps(asked).encode() + b"\n")
            given.close()

    def close(self) -> None:
        """End the process, wherever it is."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._process.wait()

    def parts(self) -> Iterator[list[pa.Array]]:
        """The wanted columns, some thousand rows at a time."""
        while (columns := self._attempt(self._read_part)) is not None:
            yield columns

    def _attempt(self, work: Callable[[], T]) -> T:
        """Read something; what a broken file has made of it is not repeated."""
        failed: ShoalError | None = None
        try:
            return work()
        except ShoalError as error:
            failed = error
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001, S110 - whatever the process wrote
            pass
        if failed is not None:
            raise failed
        raise DataError(
            "the file cannot be read",
            came=self._path.name,
            fix="check that it is whole and what its name says it is; a file of an old program may need "
            "`file: {encoding: windows-1252}` in the policy",
        )

    def _read_declared(self) -> _Declared:
        held = json.loads(self._line())
        found = _Declared(**(held | {"names": tuple(held["names"])}))
        if not all(isinstance(name, str) for name in found.names) or not isinstance(found.rows, int):
            raise TypeError
        return found

    def _read_part(self) -> list[pa.Array] | None:
        rows = json.loads(self._line())
        if not isinstance(rows, int) or not 0 <= rows <= readstat_process.MOST_ROWS:
            raise TypeError
        if not rows:
            return None
        return [
            self._read_texts(rows) if each.convert is None else each.convert(self._read_numbers(rows))
            for _, each in self._wanted
        ]

    def _read_numbers(self, rows: int) -> Numbers:
        return np.frombuffer(self._bytes(8 * rows), dtype="<f8")

    def _read_texts(self, rows: int) -> pa.Array:
        """Texts; an empty one is missing."""
        import pyarrow as pa

        sizes = np.frombuffer(self._bytes(4 * rows), dtype="<i4")
        if (sizes < 0).any():
            raise ValueError
        ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        if ends[-1] > MOST_LETTERS:
            raise ValueError
        letters = self._bytes(int(ends[-1]))
        offsets, bits = pa.py_buffer(ends.astype(np.int32)), np.packbits(sizes > 0, bitorder="little")
        made = pa.Array.from_buffers(pa.string(), rows, [pa.py_buffer(bits), offsets, pa.py_buffer(letters)])
        made.validate(full=True)
        return made

    def _line(self) -> bytes:
        line = cast("BinaryIO", self._process.stdout).readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise EOFError
        return line

    def _bytes(self, count: int) -> bytes:
        held = cast("BinaryIO", self._process.stdout).read(count)
        if len(held) != count:
            raise EOFError
        return held


# --- what the file declares of a column -----------------------------------------------------------------------------


def _decoder(path: Path, found: _Declared, name: str) -> _Decoder:
    """Choose how a column is read by its storage type and its display format."""
    import pyarrow as pa

    stored, shown = found.stored[name], found.shown.get(name) or ""
    if stored.startswith("string"):
        return _Decoder(pa.string())
    suffix = path.suffix.lower()
    times = _times(suffix, shown, partial(_beyond, name, path.name))
    if times is not None:
        return times
    if stored in ("int8", "int16", "int32"):
        return _Decoder(pa.int64(), _whole)
    return _Decoder(spelled_numbers(), partial(_spelled, narrow=stored == "float" and suffix in STATA))


_SPSS_DATES: Final = frozenset({"DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"})
_SPSS_MOMENTS: Final = frozenset({"DATETIME", "YMDHMS"})
_SPSS_TIMES: Final = frozenset({"TIME", "DTIME", "MTIME"})
_SAS_DATES: Final = re.compile(
    r"(DATE|DAY|DDMMYY[BCDNPS]?|DOWNAME|JULDAY|JULIAN|MMDDYY[BCDNPS]?|MMYY[CDNPS]?|MONNAME|MONTH|MONYY|NENGO|QTRR?|WEEKDATE|"
    r"WEEKDATX|WEEKDAY|WORDDATE|WORDDATX|YEAR|YYMM[CDNPS]?|YYMMDD[BCDNPS]?|YYMON|YYQR?[CDNPS]?|[EB]8601DA|[EB]8601DN|"
    r"NLDATE[A-Z]*)"
)
_SAS_MOMENTS: Final = re.compile(
    r"(DATETIME|DATEAMPM|DTDATE|DTMONYY|DTWKDATX|DTYEAR|DTYYQC|MDYAMPM|[EB]8601DT|[EB]8601DZ|NLDATM[A-Z]*)"
)
_SAS_TIMES: Final = re.compile(r"(TIME|TIMEAMPM|HHMM|MMSS|HOUR|TOD|[EB]8601TM|[EB]8601TZ|NLTIM[A-Z]*)")
_MONTHS: Final = {"m": 1, "q": 3, "h": 6}
"""Months in the periods of Stata: months, quarters and half-years."""


def _times(suffix: str, shown: str, beyond: Callable[[], DataError]) -> _Decoder | None:
    """Give how dates and times are read where the display format is one of dates or times; None where it is not."""
    import pyarrow as pa

    if suffix in STATA:
        period = re.match(r"%-?(?:t([dcwmqh])|(d))", shown)
        kind = period and (period[1] or period[2])
    else:
        kind = _kind_of_format(suffix, re.sub(r"[0-9]*\.?[0-9]*$", "", shown.upper()))
    if kind is None:
        return None
    if kind == "clock":
        return _Decoder(pa.string(), _clock)
    if kind in ("c", "seconds"):
        first = _SPSS_DAY if suffix in SPSS else _STATA_DAY
        per_second = 1000 if kind == "c" else 1
        return _Decoder(pa.timestamp("us"), lambda values: _moments(values, first, per_second, beyond), Type.DATETIME)
    count_days = _DAYS[kind]
    return _Decoder(pa.date32(), lambda values: _days(count_days(values), beyond), Type.DATE)


def _kind_of_format(suffix: str, named: str) -> str | None:
    """Give what a format of SPSS or SAS shows: days, seconds since a day, a time of day, or something else."""
    if suffix in SPSS:
        kinds = (("days of seconds", _SPSS_DATES), ("seconds", _SPSS_MOMENTS), ("clock", _SPSS_TIMES))
        return next((kind for kind, formats in kinds if named in formats), None)
    patterns = (("d", _SAS_DATES), ("seconds", _SAS_MOMENTS), ("clock", _SAS_TIMES))
    return next((kind for kind, pattern in patterns if pattern.fullmatch(named)), None)


# --- from stored values to columns ----------------------------------------------------------------------------------


def _whole(values: Numbers) -> pa.Array:
    """Whole numbers of Stata, which fit into floating point numbers."""
    import pyarrow as pa

    return pa.array(values, from_pandas=True).cast(pa.int64())


def _spelled(values: Numbers, *, narrow: bool = False) -> pa.Array:
    """Spell numbers: whole ones without a point, others in the shortest text that reads as the same number.

    The numbers of a narrow column have half the bits, and their shortest text is that of as few: 0.1, and not 0.10000000149.
    """
    import pyarrow as pa
    from pyarrow import compute

    whole = (np.trunc(values) == values) & (np.abs(values) <= EXACT)
    bare = pa.array(np.where(whole, values, 0).astype(np.int64)).cast(pa.large_string())
    if whole.all():
        return pa.ExtensionArray.from_storage(spelled_numbers(), bare)
    rest = pa.array(values.astype(np.float32) if narrow else values, mask=np.isnan(values)).cast(pa.large_string())
    return pa.ExtensionArray.from_storage(spelled_numbers(), compute.if_else(pa.array(whole), bare, rest))


def spell_number(value: float) -> str:
    """Spell a number as the values of a column are spelled.

    >>> [spell_number(value) for value in (1.0, -9.0, 0.1, 2.0**60)]
    ['1', '-9', '0.1', '1.152921504606847e+18']
    """
    return str(_spelled(np.array([value], dtype=np.float64)).storage[0].as_py())


def _beyond(name: str, file: str) -> DataError:
    return DataError(
        f"column '{name}': its format says dates or times, and some values are none: days with a fraction, or beyond all years",
        came=file,
        allowed="the years 1 to 9999",
        fix="give the column a format of numbers, or of dates with times, in the program that the file is from",
    )


def _days(values: Numbers, beyond: Callable[[], DataError]) -> pa.Array:
    """Give days counted from 1970 as dates."""
    import pyarrow as pa

    absent = np.isnan(values)
    whole = np.where(absent, 0, values)
    if not ((np.trunc(whole) == whole) & (whole >= _FIRST_DAY) & (whole <= _LAST_DAY)).all():
        raise beyond()
    return pa.array(whole.astype(np.int32), mask=absent).cast(pa.date32())


def _moments(values: Numbers, first_day: int, per_second: int, beyond: Callable[[], DataError]) -> pa.Array:
    """Give seconds, or parts of them, counted from a day as times.

    A second with a fraction is stored as the nearest floating point number, some microseconds off: where a time in
    milliseconds is stored as this very number, it is that time.
    """
    import pyarrow as pa

    absent = np.isnan(values)
    counted = np.where(absent, 0, values)
    if not (np.abs(counted) < 1e12 * per_second).all():
        raise beyond()
    thousandths = np.rint(counted * (1000 // per_second))
    exact = thousandths / (1000 // per_second) == counted
    since = np.where(exact, thousandths * 1000, np.rint(counted * (1_000_000 // per_second)))
    micro = since.astype(np.int64) + np.int64(first_day) * DAY * 1_000_000
    low, high = (np.int64(day) * DAY * 1_000_000 for day in (_FIRST_DAY, _LAST_DAY + 1))
    if not ((micro >= low) & (micro < high))[~absent].all():
        raise beyond()
    return pa.array(micro, mask=absent).cast(pa.timestamp("us"))


def _clock(values: Numbers) -> pa.Array:
    """Spell times of day and spans of time as hours, minutes and seconds: 09:30:00, 26:00:00, -00:05:00.5."""
    import pyarrow as pa

    return pa.array([None if np.isnan(value) else _spell_time(float(value)) for value in values], pa.string())


def _spell_time(seconds: float) -> str:
    """A number beyond all times, which no format shows, is spelled as a number."""
    return spell_span(round(seconds * 1_000_000)) if abs(seconds) < 1e12 else spell_number(seconds)


def _first_of_period(counts: Numbers, months: int) -> Numbers:
    """Give the first day of periods of so many months, counted from 1960; a count that is not whole is refused as a day."""
    whole = _whole_or_zero(counts)
    days = (whole * months + (1960 - 1970) * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)
    return np.where(np.isnan(counts), np.nan, np.where(whole == counts, days, 0.5))


def _first_of_week(weeks: Numbers) -> Numbers:
    """Give the first day of Stata's weeks: 52 in each year, the first beginning on 1 January, the last longer."""
    whole = _whole_or_zero(weeks)
    years, week = np.divmod(whole, 52)
    first = (years + 1960 - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.float64)
    return np.where(np.isnan(weeks), np.nan, np.where(whole == weeks, first + 7 * week, 0.5))


def _whole_or_zero(counts: Numbers) -> npt.NDArray[np.int64]:
    near = np.abs(counts) < 1e6
    return np.where(near & (np.trunc(counts) == counts), counts, 0).astype(np.int64)


_DAYS: Final[dict[str, Callable[[Numbers], Numbers]]] = {
    "d": lambda days: days + _STATA_DAY,
    "days of seconds": lambda seconds: seconds / DAY + _SPSS_DAY,
    "w": _first_of_week,
    **{period: partial(_first_of_period, months=months) for period, months in _MONTHS.items()},
}
"""How each kind of dates is counted in days from 1970."""


# --- labels ---------------------------------------------------------------------------------------------------------


def _codebook(path: Path, found: _Declared, decoders: Sequence[_Decoder]) -> Codebook:
    """Give what the file says of its columns: variable labels, value labels and codes of missing values."""
    described = []
    for name, decoder in zip(found.names, decoders, strict=True):
        labels = {_code(path, value): str(label) for value, label in found.value_labels.get(name, ())}
        missing = _missing_codes(path, found.missing.get(name, ()), labels)
        values = tuple(CodedValue(value, label) for value, label in labels.items() if value not in missing)
        described.append(
            ColumnDescription(
                name,
                found.labels.get(name) or None,
                decoder.type,
                values or None,
                tuple(CodedValue(value, labels.get(value)) for value in missing),
            )
        )
    return Codebook(tuple(described), path.name)


def _missing_codes(
    path: Path, spans: Sequence[tuple[float | str, float | str]], labels: Mapping[str, str]
) -> tuple[str, ...]:
    """The codes that stand for missing values: those listed, and of a range those that have a label.

    In Stata these are .a to .z. They are missing when they are read; listed are those that have a label.
    """
    if path.suffix.lower() in STATA:
        return tuple(code for code in labels if re.fullmatch(r"\.[a-z]", code))
    codes: dict[str, None] = {}
    for low, high in spans:
        if low == high:
            codes[_code(path, low)] = None
        elif not isinstance(low, str) and not isinstance(high, str):
            codes.update(dict.fromkeys(code for code in labels if _is_between(code, low, high)))
    return tuple(codes)


def _code(path: Path, value: float | str) -> str:
    """Spell a code as the column's values are spelled. Texts have no labels in Stata: a letter is a missing code, such as .a"""
    if isinstance(value, str):
        return f".{value}" if path.suffix.lower() in STATA else value
    return spell_number(float(value))


def _is_between(code: str, low: float, high: float) -> bool:
    try:
        return low <= float(code) <= high
    except ValueError:
        return False
