"""Rows of a query as small integers: the values of each column once, sorted, then the code of each row's value among them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.engine.arrow_array import missing_values, number_values
from shoal.engine.base import Array
from shoal.engine.column import Column, encode, encode_distinct, to_numpy
from shoal.engine.duckdb import sql
from shoal.engine.grouped import CodedRows, Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.duckdb.engine import CodedInput, Connection

SMALL = 1 << 23
"""Up to so many cells are fetched as they are, by one query; more are looked up where they lie and never held."""
Carried = Literal["n", "r"] | None
"""How many equal rows each row stands for (where nothing is carried: one), or its number."""


@contextmanager
def read_codes(
    connection: Connection, query: str, parts: Sequence[tuple[str, Column]], carried: Carried
) -> Iterator[CodedRows]:
    """Read some columns of a query as codes, once, before the end of the context; each part is the column's name and meaning."""
    grouped = len(parts) == 1 and carried != "r"  # its values are its tuples
    if grouped:
        x, often = parts[0][0], "CAST(sum(n) AS BIGINT)" if carried else "count(*)"
        query, carried = f"SELECT {x}, {often} AS n FROM ({query}) GROUP BY {x} ORDER BY {sql.order_by([x])}", "n"
    more: list[str] = [carried] if carried else []
    if grouped or connection.input.rows * len(parts) <= SMALL:
        table = connection.arrow(
            f"SELECT {', '.join([f'{x} AS k{i}' for i, (x, _) in enumerate(parts)] + more)} FROM ({query})"
        )
        pairs = [_encode_column(table[f"k{place}"], part) for place, (_, part) in enumerate(parts)]
        rows: Rows = [codes for _, codes in pairs], number_values(table[carried]) if carried else None
        yield CodedRows(tuple(values for values, _ in pairs), iter([rows]))
        return
    # A column's values cost little beside whole rows. Each is given its number, and each row is looked up.
    unlisted = list(dict.fromkeys(x for x, part in parts if part.labels is None))
    stored = dict(zip(unlisted, connection.store_values(query, unlisted), strict=True))
    try:
        values, shown, joins = [], [], []
        for place, (x, part) in enumerate(parts):
            if part.labels is None:
                name, held = stored[x]
                values.append(to_numpy(held, part.type))
                joins.append(f"LEFT JOIN {name} m{place} ON m{place}.v = t.{x}")
                code = f"m{place}.code"
            else:
                values.append(np.array(part.labels, dtype=object))
                code = f"CAST(t.{x} AS UINTEGER) + 1"
            shown.append(f"CAST(coalesce({code}, 0) AS {sql.code_type(len(values[-1]) + 1)}) AS k{place}")
        looked_up = f"SELECT {', '.join([*shown, *more])} FROM ({query}) t {' '.join(joins)}"
        with closing(_batches(connection, looked_up, len(parts), carried)) as batches:
            yield CodedRows(tuple(values), batches)
    finally:
        for name, _ in stored.values():
            connection.drop(name)


def read_coded_input(connection: Connection, coded: CodedInput, parts: Sequence[tuple[int, Column]]) -> CodedRows:
    """Read some columns of an input whose texts are numbered as codes; each part is the column's position and meaning."""
    pairs = [_values_of_texts(connection.arrow(coded.values[i]), part) for i, part in parts]
    code_of = [codes for _, codes in pairs]
    columns = [coded.columns[i].parts for i, _ in parts]
    batches = (
        ([of.take(numbers) for of, numbers in zip(code_of, some, strict=True)], None)
        for some in zip(*columns, strict=True)
    )
    return CodedRows(tuple(values for values, _ in pairs), batches)


def _values_of_texts(stored: pa.Table, part: Column) -> tuple[Array, npt.NDArray[Any]]:
    """Give the distinct values of a column, and for each number of a text (k) the code of its value (v)."""
    values, codes = encode_distinct(stored["v"], part.type)
    code_of = np.empty(len(codes), dtype=np.min_scalar_type(len(values)))
    code_of[number_values(stored["k"])] = codes + 1  # scattered: to sort the rows would take more memory
    return values, code_of


def _batches(connection: Connection, query: str, columns: int, carried: Carried) -> Generator[Rows]:
    for batch in connection.batches(query):
        yield (
            [number_values(batch[key]) for key in sql.names(columns, "k")],
            number_values(batch[carried]) if carried else None,
        )


def _encode_column(column: pa.ChunkedArray, part: Column) -> tuple[Array, npt.NDArray[Any]]:
    """Give the distinct values of a column that was fetched, and the code of each row."""
    if part.labels is None:
        values, codes = encode(column, part.type)
        return values, codes + 1
    shifted = number_values(column).astype(np.int32) + 1
    shifted[missing_values(column)] = 0
    return np.array(part.labels, dtype=object), shifted
