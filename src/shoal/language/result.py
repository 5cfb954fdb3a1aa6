"""What a question gives, whether a release or a session was asked: a value, or one for each group, with its interval.

found = asked.mean("income", by="sex", where="age >= 65")     asked: a loaded release, or a session
found.level                                                   each interval contains the true value with this probability
found.epsilon, found.delta                                    the price; 0 where a release was asked
found.frame, found.plot(), found                              a frame, axes of matplotlib, a table in a notebook
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import UsageError, visible
from shoal.guarantee.rounding import exact_text

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

VERSION = 1
MOST_SHOWN = 60
"""Groups that a notebook or a screen shows; a frame has all of them."""
NO_BOUND = "no bound"
FRAMES = ("pandas", "polars", "arrow")
FrameKind = Literal["pandas", "polars", "arrow"]


@dataclass(frozen=True)
class ResultRow:
    """One group of a result: its labels, the value, the ends of its interval, and what is to be known about it."""

    labels: tuple[str, ...]
    value: Any
    low: Any
    high: Any
    note: str | None = None


@dataclass(frozen=True)
class Result:
    """The result of a question to a release or a session: the same for both.

    Every interval is pointwise: it contains the true value with probability `level` or more. A value is None where there is none
    to use, and `note` says why; an end is None, or infinite, where nothing bounds it.

    >>> found = Result("count", (), (ResultRow((), 120, 95.3, 160.2),), 0.95, "published count / beta", "'table'")
    >>> found.value, found
    (120, <Result count: 120, 0.95 interval 95 to 161, from 'table'>)
    """

    question: str
    """The question in words."""
    by: tuple[str, ...]
    """The attributes that form the groups; none for one value."""
    rows: tuple[ResultRow, ...]
    level: float
    method: str
    """How the values and intervals were computed."""
    source: str
    """What they were computed from: tables of a release, or a charge of a session's ledger."""
    scope: tuple[str, ...] = ()
    """What the values and intervals are about, where that is not every record and value as it is."""
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    """What was charged for it, together with epsilon; nothing for a release."""
    free: bool = True
    """Whether nothing was charged: a release was asked, or the answer was on record."""
    frames: FrameKind | None = None
    """The kind of frame that `frame` gives; None for the first that is installed."""

    # --- one value ---------------------------------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The value of a result without groups."""
        return self._single.value

    @property
    def low(self) -> Any:
        """The lower end of the interval of a result without groups."""
        return self._single.low

    @property
    def high(self) -> Any:
        """The upper end of the interval of a result without groups."""
        return self._single.high

    @property
    def note(self) -> str | None:
        """What is to be known about a result without groups; None for most."""
        return self._single.note

    @property
    def _single(self) -> ResultRow:
        if self.by or len(self.rows) != 1:
            raise UsageError(
                "a result of several groups has no single value",
                came=f"{len(self.rows):,} groups of {', '.join(self.by)}",
                fix="go through it row by row, or take its frame",
            )
        return self.rows[0]

    def __float__(self) -> float:
        if self.value is None:
            raise UsageError("a result without a value is no number", came=self.note)
        return float(self.value)

    # --- several -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[ResultRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, labels: str | tuple[str, ...]) -> ResultRow:
        """The row of a group, by its label, or by its labels in the order of `by`."""
        wanted = (labels,) if isinstance(labels, str) else tuple(labels)
        found = next((row for row in self.rows if row.labels == wanted), None)
        if found is None:
            few = "; ".join(", ".join(row.labels) for row in self.rows[:8])
            raise UsageError("no group of these labels", came=", ".join(wanted), allowed=few)
        return found

    # --- in words ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self.by:
            said = f"{len(self.rows):,} groups of {' x '.join(self.by)}, {level_text(self.level)} intervals"
        else:
            row = self.rows[0]
            value, low, high = interval_texts(row)
            said = (
                f"{value}, {level_text(self.level)} interval {low} to {high}"
                if row.value is not None
                else str(row.note)
            )
        return visible(f"<Result {self.question}: {said}, from {self.source}{self._paid()}>")

    def _paid(self) -> str:
        if not self.epsilon:
            return ""
        price = f"({exact_text(self.epsilon)}, {exact_text(self.delta)})"
        return f", for {price}" + (" paid before" if self.free else "")

    def words(self) -> str:
        """The result in sentences, the ends of its intervals rounded outwards."""
        about = f"; of {'; '.join(self.scope)}" if self.scope else ""
        how = f"from {self.source}: {self.method}{self._paid()}"
        lines = []
        for row in self.rows:
            value, low, high = interval_texts(row)
            name = f"{', '.join(row.labels)}: " if row.labels else ""
            ends = f"{value} ({level_text(self.level)} interval {low} to {high})" if row.value is not None else ""
            lines.append(name + "; ".join(part for part in (ends, row.note) if part))
        return "\n".join(visible(line) for line in (*lines, f"{self.question}{about}; {how}"))

    def _repr_html_(self) -> str:
        """The result as a small table, for notebooks; every text of it is escaped."""
        head = "".join(
            f"<th scope='col'>{escape(name)}</th>" for name in (*self.by, "value", "from", "to", *self._noted)
        )
        body = []
        for row in self.rows[:MOST_SHOWN]:
            numbers = interval_texts(row)
            cells = [f"<th scope='row'>{escape(label)}</th>" for label in row.labels]
            cells += [f"<td style='text-align:right'>{escape(text)}</td>" for text in numbers]
            cells += [f"<td>{escape(row.note or '')}</td>"] * len(self._noted)
            body.append(f"<tr>{''.join(cells)}</tr>")
        more = len(self.rows) - MOST_SHOWN
        rest = f"<p>and {more:,} more groups: take the frame</p>" if more > 0 else ""
        price = f"for ({exact_text(self.epsilon)}, {exact_text(self.delta)})" if self.epsilon else "at no price"
        again = ", paid before" if self.epsilon and self.free else ""
        said = [f"{level_text(self.level)} intervals, {price}{again}, from {self.source}", self.method, *self.scope]
        below = "<br>".join(escape(visible(text)) for text in said)
        return (
            f"<table><caption>{escape(visible(self.question))}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table>{rest}<p><small>{below}</small></p>"
        )

    @property
    def _noted(self) -> tuple[str, ...]:
        return ("note",) if any(row.note for row in self.rows) else ()

    def to_json(self) -> dict[str, Any]:
        """The result as plain values; an end without a bound is None, numbers of the guarantee are exact text."""
        return {
            "version": VERSION,
            "question": self.question,
            "by": list(self.by),
            "rows": [
                {
                    "labels": list(row.labels),
                    "value": row.value,
                    "low": _finite(row.low),
                    "high": _finite(row.high),
                    "note": row.note,
                }
                for row in self.rows
            ],
            "level": self.level,
            "method": self.method,
            "source": self.source,
            "scope": list(self.scope),
            "epsilon": exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "free": self.free,
        }

    # --- as a frame, as a picture ---------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """One row for each group, as an Arrow table; its metadata says level, method and price."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            name: pa.array([row.labels[i] for row in self.rows]) for i, name in enumerate(self.by)
        }
        for name in ("value", "low", "high", "note"):
            taken = f"{name} (result)" if name in columns else name
            found = [getattr(row, name) for row in self.rows]
            mixed = name != "note" and any(isinstance(each, float) for each in found)
            columns[taken] = pa.array([float(each) if mixed and each is not None else each for each in found])
        said = {name: str(value) for name, value in self.to_json().items() if name not in ("rows", "by", "version")}
        return pa.table(columns).replace_schema_metadata(said)

    def to_pandas(self) -> Any:
        """One row for each group, as a pandas frame."""
        return self._framed("pandas", lambda table: table.to_pandas())

    def to_polars(self) -> Any:
        """One row for each group, as a Polars frame."""

        def made(table: pa.Table) -> Any:
            import polars as pl

            return pl.from_arrow(table)

        return self._framed("polars", made)

    @property
    def frame(self) -> Any:
        """One row for each group, as the kind of frame that the table was handed over in; else pandas, Polars or Arrow."""
        if self.frames is not None:
            return {"pandas": self.to_pandas, "polars": self.to_polars, "arrow": self.to_arrow}[self.frames]()
        from importlib.util import find_spec

        if find_spec("pandas"):
            return self.to_pandas()
        return self.to_polars() if find_spec("polars") else self.to_arrow()

    def _framed(self, package: str, make: Any) -> Any:
        try:
            return make(self.to_arrow())
        except ImportError:
            raise UsageError(f"{package} is not installed", fix=f"install {package}, or use to_arrow()") from None

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the values with their intervals, one line for each group; gives the axes of matplotlib."""
        from shoal.page.intervals import IntervalDiagram, IntervalLine, draw_intervals

        lines = [
            IntervalLine(", ".join(row.labels) or self.question, _place(row.low), _place(row.value), _place(row.high))
            for row in self.rows
        ]
        dates = any(isinstance(row.value, str) for row in self.rows)
        caption = f"Points are the values, bars the {level_text(self.level, 2)} % intervals, from {self.source}: {self.method}."
        return draw_intervals(IntervalDiagram(self.question, lines, caption, dates=dates), axes)

    def with_frames(self, kind: FrameKind | None) -> Result:
        """The same result, whose `frame` is of this kind."""
        return replace(self, frames=kind)


def frame_kind(data: object) -> FrameKind | None:
    """The kind of a frame that was handed over; None for a path or anything else."""
    package = type(data).__module__.partition(".")[0]
    kinds: dict[str, FrameKind] = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow"}
    return kinds.get(package)


def _finite(end: Any) -> Any:
    return None if isinstance(end, float) and not math.isfinite(end) else end


def _place(value: Any) -> float | None:
    """Where a value lies on the axis of a picture: a number, or the days of a date; None where it has no place."""
    if value is None or isinstance(value, str):
        from datetime import datetime

        try:
            return None if value is None else datetime.fromisoformat(value).timestamp() / 86_400
        except ValueError:
            raise UsageError("values that are neither numbers nor dates have no picture") from None
    return float(value) if math.isfinite(value) else None


def level_text(level: float, places: int = 0) -> str:
    """A level with all of its digits, so that it is never rounded up; in per cent with two `places`.

    >>> level_text(0.95), level_text(0.9999999), level_text(0.95, 2)
    ('0.95', '0.9999999', '95')
    """
    return f"{Decimal(repr(level)).scaleb(places).normalize():f}"


def interval_texts(row: ResultRow) -> tuple[str, str, str]:
    """The value and the ends of its interval as a person reads them: two digits of the interval's length, ends outwards."""
    if isinstance(row.value, str) or isinstance(row.low, str):
        return str(row.value or "–"), str(row.low or NO_BOUND), str(row.high or NO_BOUND)
    digits = _decimals(row)
    value = "–" if row.value is None else _rounded(row.value, digits, ROUND_HALF_EVEN)
    low = NO_BOUND if _finite(row.low) is None else _rounded(row.low, digits, ROUND_FLOOR)
    return value, low, NO_BOUND if _finite(row.high) is None else _rounded(row.high, digits, ROUND_CEILING)


def _decimals(row: ResultRow) -> int:
    """How many decimals show two digits of the interval's length; none where all three are whole, or the length is large."""
    known = [each for each in (row.value, row.low, row.high) if _finite(each) is not None]
    if all(isinstance(each, int) or float(each).is_integer() for each in known):
        return 0
    length = float(row.high) - float(row.low) if _finite(row.low) is not None and _finite(row.high) is not None else 0.0
    scale = length or max((abs(float(each)) for each in known), default=1.0) / 100
    return min(max(0, 1 - math.floor(math.log10(scale))), 12) if scale > 0 else 0


def _rounded(value: float, decimals: int, rounding: str) -> str:
    unit = Decimal(1).scaleb(-decimals)
    return f"{Decimal(repr(value)).quantize(unit, rounding, Context(prec=400)):,f}"
