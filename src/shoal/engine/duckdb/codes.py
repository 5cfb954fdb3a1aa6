"""Rows of a DuckDB table as small integers: the values of each column once, sorted, then each row's places among them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.engine.base import Array
from shoal.engine.column import Column, encoded, natural
from shoal.engine.duckdb import sql

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.duckdb.engine import Session

SMALL = 1 << 23
"""Up to so many cells are fetched as they are, by one query; more are looked up where they lie and never held."""
Rows = tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64] | None]
"""The codes of some rows, column by column, and what was carried along."""
Carried = Literal["n", "r"] | None
"""How many equal rows each row stands for (where nothing is carried: one), or its number."""


@dataclass(frozen=True)
class Coded:
    """Column j of a row holds `values[j][code - 1]`, or nothing where the code is 0; rows come in any order."""

    values: tuple[Array, ...]
    batches: Iterator[Rows]

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [len(values) + 1 for values in self.values]


@contextmanager
def coded(session: Session, query: str, parts: Sequence[tuple[str, Column]], carried: Carried) -> Iterator[Coded]:
    """Some columns of a query, each with its name there, to be read once before the end of the context."""
    grouped = len(parts) == 1 and carried != "r"  # its values are its tuples
    if grouped:
        x, often = parts[0][0], "CAST(sum(n) AS BIGINT)" if carried else "count(*)"
        query, carried = f"SELECT {x}, {often} AS n FROM ({query}) GROUP BY {x} ORDER BY {sql.ordered([x])}", "n"
    more: list[str] = [carried] if carried else []
    if grouped or session.source.rows * len(parts) <= SMALL:
        table = session.arrow(
            f"SELECT {', '.join([f'{x} AS k{i}' for i, (x, _) in enumerate(parts)] + more)} FROM ({query})"
        )
        pairs = [_held(table[f"k{place}"], part) for place, (_, part) in enumerate(parts)]
        rows: Rows = [codes for _, codes in pairs], table[carried].to_numpy() if carried else None
        yield Coded(tuple(values for values, _ in pairs), iter([rows]))
        return
    # A column's values cost little beside whole rows. Each is given its number, and each row is looked up.
    unlisted = list(dict.fromkeys(x for x, part in parts if part.labels is None))
    stored = dict(zip(unlisted, session.store_values(query, unlisted), strict=True))
    try:
        values, shown, joins = [], [], []
        for place, (x, part) in enumerate(parts):
            if part.labels is None:
                name, held = stored[x]
                values.append(natural(held, part.type))
                joins.append(f"LEFT JOIN {name} m{place} ON m{place}.v = t.{x}")
                code = f"m{place}.code"
            else:
                values.append(np.array(part.labels, dtype=object))
                code = f"CAST(t.{x} AS UINTEGER) + 1"
            shown.append(f"CAST(coalesce({code}, 0) AS {sql.code_type(len(values[-1]) + 1)}) AS k{place}")
        looked_up = f"SELECT {', '.join([*shown, *more])} FROM ({query}) t {' '.join(joins)}"
        with closing(_batches(session, looked_up, len(parts), carried)) as batches:
            yield Coded(tuple(values), batches)
    finally:
        for name, _ in stored.values():
            session.drop(name)


def _batches(session: Session, query: str, columns: int, carried: Carried) -> Generator[Rows]:
    for batch in session.batches(query):
        yield [batch[key].to_numpy() for key in sql.names(columns, "k")], batch[carried].to_numpy() if carried else None


def _held(column: pa.ChunkedArray, part: Column) -> tuple[Array, npt.NDArray[Any]]:
    """The values of a column that was fetched, and its codes."""
    if part.labels is None:
        values, codes = encoded(column, part.type)
        return values, codes + 1
    shifted = column.cast("int32").fill_null(-1).to_numpy() + 1
    return np.array(part.labels, dtype=object), shifted
