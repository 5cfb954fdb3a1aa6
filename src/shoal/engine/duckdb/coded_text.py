"""Rows of text as small integers: each column's different texts once, and for each row the number of its text among them.

What a text means is worked out once for each different text and not for each row, and a row takes a few bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.engine.arrow_array import number_values

if TYPE_CHECKING:
    import pyarrow as pa

MERGED = 1 << 22
"""Texts that batches list by themselves before they are numbered together: each time, those that are known are hashed again."""
MOST_TEXTS = 1 << 21
MOST_BYTES = 1 << 28
"""Different texts of one column, and their bytes; a table with more is better held as it is."""
FEW = 1 << 14
"""Texts up to which rows are counted batch by batch."""
Numbers = npt.NDArray[Any]


@dataclass
class CodedText:
    """One column: `texts` are its texts in the order in which they occur, and a row without one has the number after the last.
    `parts` are the numbers of the rows, batch by batch.

    The texts of one batch differ. Where most rows of a batch have a text of their own, those of two batches may be equal: to read
    a text twice costs less than to look for it among a million others.
    """

    texts: pa.Array
    parts: list[Numbers] = field(default_factory=list)
    listed: list[pa.Array] = field(default_factory=list)
    """The texts of the last batches, whose rows still have their numbers among these alone."""
    waiting: int = 0
    waiting_bytes: int = 0
    rows: int = 0
    """The rows of the last batches."""
    differ: bool = True
    """Whether no two of `texts` are equal."""
    complete: bool = True
    """Whether every row has a text."""

    @property
    def is_large(self) -> bool:
        """Whether there are too many texts to hold."""
        return len(self.texts) > (MOST_TEXTS if self.differ else MERGED) or self.texts.nbytes > MOST_BYTES

    def add(self, column: pa.Array) -> None:
        """Add the rows of a batch; missing ones are numbered -1 until all are there."""
        coded = column.dictionary_encode()
        numbers = number_values(coded.indices, -1)
        self.parts.append(numbers.astype(np.min_scalar_type(-len(coded.dictionary) - 1)))
        self.listed.append(coded.dictionary)
        self.complete = self.complete and not column.null_count
        self.waiting += len(coded.dictionary)
        self.waiting_bytes += coded.dictionary.nbytes
        self.rows += len(column)
        if self.waiting > MERGED or self.waiting_bytes > MOST_BYTES:
            self.merge()

    def merge(self) -> None:
        """Number the texts of all batches together; those that are known keep their numbers."""
        import pyarrow as pa

        coded = pa.concat_arrays([self.texts, *self.listed]).dictionary_encode()
        numbers = coded.indices.to_numpy().astype(np.min_scalar_type(-len(coded.dictionary) - 1))
        first = len(self.texts)
        for at, own in enumerate(self.listed, start=len(self.parts) - len(self.listed)):
            # A missing row has the number -1, and finds -1 behind the last text.
            of_text = np.append(numbers[first : first + len(own)], numbers.dtype.type(-1))
            self.parts[at] = of_text.take(self.parts[at])
            first += len(own)
        self._settle(coded.dictionary)

    def _list(self) -> None:
        """Number the texts of all batches one after the other, equal ones too."""
        import pyarrow as pa

        first, self.differ = len(self.texts), False
        for at, own in enumerate(self.listed, start=len(self.parts) - len(self.listed)):
            part = self.parts[at].astype(np.int32)
            self.parts[at] = np.where(part < 0, part, part + first)
            first += len(own)
        self._settle(pa.concat_arrays([self.texts, *self.listed]))

    def _settle(self, texts: pa.Array) -> None:
        self.texts, self.listed, self.waiting, self.waiting_bytes, self.rows = texts, [], 0, 0, 0

    def end(self) -> None:
        """Number all texts, give missing rows the number after the last, and all parts the smallest integer type."""
        if 2 * self.waiting > self.rows and len(self.texts) + self.waiting <= MERGED:
            self._list()
        else:
            self.merge()
        for at, part in enumerate(self.parts):
            numbered = part if self.complete else np.where(part < 0, len(self.texts), part)
            self.parts[at] = numbered.astype(self.number_type, copy=False)

    @property
    def number_type(self) -> np.dtype[Any]:
        """The smallest integer type for the numbers of all texts."""
        return np.min_scalar_type(len(self.texts))

    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows have each number."""
        if len(self.texts) < FEW:  # what bincount widens stays in the cache
            counts = np.zeros(len(self.texts) + 1, dtype=np.int64)
            for part in self.parts:
                counts += np.bincount(part, minlength=len(counts))
            return counts
        every = np.concatenate([np.zeros(0, dtype=np.uint8), *self.parts])
        return np.bincount(every, minlength=len(self.texts) + 1)

    def texts_and_missing(self) -> pa.Array:
        """The text of each number; of the last, none."""
        import pyarrow as pa

        return pa.concat_arrays([self.texts, pa.nulls(1, self.texts.type)])


class TextCoder:
    """Numbers the texts of the first `count` columns of rows that come in batches; `end` is called after the last of them."""

    def __init__(self, count: int) -> None:
        import pyarrow as pa

        self.columns = [CodedText(pa.array([], pa.string())) for _ in range(count)]

    @property
    def is_large(self) -> bool:
        """Whether a column has too many different texts to hold."""
        return any(column.is_large for column in self.columns)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        for place, column in enumerate(self.columns):
            column.add(batch.column(place))

    def end(self) -> None:
        """Give every row its last number."""
        for column in self.columns:
            column.end()
