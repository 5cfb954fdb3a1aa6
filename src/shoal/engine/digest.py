"""Digests by which a table is recognized: one of all its rows together, and one of each column by itself.

Each value becomes a 64-bit number, each row a mixture of its values' numbers, and the table the sum over its rows; so rows
may come in any order, in parts, or counted. The digest of a column is made of the sum of its values' numbers, whatever the name
of the column and whatever other columns there are. Sums go through SHA-256. Two different tables have equal digests with
negligible probability; someone who changes a cell gets another digest, and nothing stops a person from doing that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.data.type import Type
from shoal.engine.arrow_array import bare_numbers, large_texts, missing_values, number_values
from shoal.engine.read.foreign.address import file_of_address, is_address
from shoal.engine.read.source import refuse_special
from shoal.engine.read.storage import WORDS

if TYPE_CHECKING:
    import pyarrow as pa

Words = npt.NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ABSENT = np.uint64(0x2545F4914F6CDD1D)
_CELLS = 10
"""Different values of a column are told apart by so many bits of their numbers: up to 1,024 of them."""
_ENOUGH = 64
"""More bits are not noted: what a ledger holds says little about a column."""
_EXACT = 2.0**53
_DIGITS = 18
"""Texts of whole numbers of so many digits have the words of these numbers."""
_FEW = 50_000
"""Texts of so few rows are hashed one by one; of more, different ones are found by pyarrow.compute, whose import takes 40 ms."""
_PIECE = 1 << 20


@dataclass(frozen=True)
class Contents:
    """The digest of all rows together, and the digest of each column by itself with the bits of evidence that it is worth.

    `whole` depends on names, types, values and rows. A column's digest depends on its values, how often each occurs, and so on
    the number of rows: not on its name, the order of the rows, the other columns, nor on whether whole numbers are declared as
    integer, decimal or text. Its bits are about minus the logarithm of the chance that another column of as many rows and
    different values has each of them equally often.
    """

    whole: bytes
    columns: tuple[tuple[bytes, int], ...]


class Digest:
    """A digest of rows that come in parts: `add` takes a part, `value` and `contents` give the digest of all rows so far."""

    def __init__(self, columns: Sequence[tuple[str, Type]]) -> None:
        self._columns = tuple(columns)
        self._keys = [_key(name) for name, _ in columns]
        self._sums = [0, 0]
        self._alone = [0 for _ in columns]
        self._seen = [np.zeros(1 << _CELLS, dtype=np.bool_) for _ in columns]
        self._rows = 0

    def add(self, columns: Sequence[pa.Array], counts: npt.NDArray[np.int64] | None = None) -> None:
        """Add some rows, each as often as its count says; columns of text may be dictionaries."""
        rows = np.zeros(len(columns[0]), dtype=np.uint64)
        often = None if counts is None else counts.astype(np.uint64)
        for place, (held, (_, kind)) in enumerate(zip(columns, self._columns, strict=True)):
            words = _words_of(held, kind)
            self._alone[place] += int((words if often is None else words * often).sum(dtype=np.uint64))
            self._seen[place][words >> np.uint64(64 - _CELLS)] = True
            words *= self._keys[place]
            rows += words
        for lane, lift in enumerate((np.uint64(0), _ODD)):
            mixed = _mix(rows + lift)
            self._sums[lane] += int((mixed if often is None else mixed * often).sum(dtype=np.uint64))
        self._rows += len(rows) if counts is None else int(counts.sum())

    def merge(self, other: Digest) -> None:
        """Add the rows of another digest of the same columns, made elsewhere."""
        self._sums = [own + more for own, more in zip(self._sums, other._sums, strict=True)]
        self._alone = [own + more for own, more in zip(self._alone, other._alone, strict=True)]
        self._seen = [own | more for own, more in zip(self._seen, other._seen, strict=True)]
        self._rows += other._rows

    def value(self) -> bytes:
        """The digest of all rows together, as 32 bytes."""
        named = sorted((name, kind.value) for name, kind in self._columns)
        sums = [total % (1 << 64) for total in self._sums]
        return hashlib.sha256(repr((2, named, self._rows, sums)).encode()).digest()

    def contents(self) -> Contents:
        """The digest of all rows together, and of each column by itself."""
        alone = (
            (hashlib.sha256(repr((2, self._rows, total % (1 << 64))).encode()).digest(), self._bits(seen))
            for total, seen in zip(self._alone, self._seen, strict=True)
        )
        return Contents(self.value(), tuple(sorted(set(alone))))

    def _bits(self, seen: npt.NDArray[np.bool_]) -> int:
        """The bits of evidence in the equality of two columns: d values in n rows have about (n/d)^((d - 1)/2) histograms."""
        different = int(seen.sum())
        if different < 2:
            return 0
        return min(_ENOUGH, int((different - 1) / 2 * math.log2(1 + self._rows / different)))


def digest(columns: Sequence[tuple[str, Type]], parts: Iterable[Sequence[pa.Array]]) -> Digest:
    """Make the digest of rows that come in parts."""
    made = Digest(columns)
    for part in parts:
        made.add(part)
    return made


def file_digest(data: object) -> bytes | None:
    """Give the SHA-256 of a file's bytes, columns that the policy does not name included; None for a frame or a server.

    The digest of a folder of Parquet files depends on their contents and not on their names or order; the digest of a folder with
    one file is that of the file.
    """
    from shoal.engine.read.input import parquet_files

    named = getattr(data, "path", data)
    if isinstance(named, str) and is_address(named):
        named = file_of_address(named)
    if not isinstance(named, str | Path):
        return None
    path = Path(named)
    if path.is_file():
        return _sha256(path)
    if not path.is_dir():
        return None
    each = sorted(_sha256(file) for file in parquet_files(path))
    return each[0] if len(each) == 1 else hashlib.sha256(b"".join(each)).digest()


def _sha256(path: Path) -> bytes:
    refuse_special(path)  # a folder may hold a pipe
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.digest()


def _key(name: str) -> np.uint64:
    """A factor that keeps columns of a row apart, by name and not by position; odd, so that no bit of a value is lost."""
    return np.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little") | 1)


def _mix(words: Words) -> Words:
    """Spread every bit of a word over all of it (the finalizer of SplitMix64)."""
    words = words ^ (words >> np.uint64(30))
    words *= _FIRST
    words ^= words >> np.uint64(27)
    words *= _SECOND
    words ^= words >> np.uint64(31)
    return words


def _words_of(held: pa.Array, kind: Type) -> Words:
    """Give a word for each value, by its value and not by how it is stored; the word of a text is computed once."""
    import pyarrow as pa

    if pa.types.is_dictionary(held.type) or kind in WORDS:
        absent = _mix(np.array([_ABSENT]))
        if not pa.types.is_dictionary(held.type):
            if len(held) <= _FEW:
                words = _of_texts(large_texts(held))
                return np.where(missing_values(held), absent, words) if held.null_count else words
            held = held.dictionary_encode()
        of_each: Words = np.append(_of_texts(large_texts(held.dictionary)), absent)
        places: npt.NDArray[np.int64] = number_values(held.indices, -1)
        return of_each[places]
    values = number_values(bare_numbers(held))
    words = _of_decimals(values) if kind is Type.DECIMAL else values.astype(np.int64).view(np.uint64)
    if held.null_count:
        words = np.where(missing_values(held), _ABSENT, words)
    return _mix(words)


def _of_decimals(values: npt.NDArray[np.float64]) -> Words:
    """Give decimals as words: whole numbers as integers, others by their bits."""
    whole = (np.trunc(values) == values) & (np.abs(values) < _EXACT)
    return np.where(whole, np.where(whole, values, 0).astype(np.int64).view(np.uint64), values.view(np.uint64))


def _of_texts(texts: pa.Array) -> Words:
    """Give texts as words: those that spell a whole number as that number, others by their letters."""
    words = _of_letters(texts)
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if not len(texts) or offsets[0] == offsets[-1]:
        return words
    letters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)
    spelled, numbers = whole_numbers(letters, offsets)
    words[spelled] = _mix(numbers.view(np.uint64))
    return words


def whole_numbers(
    letters: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Say which texts spell a whole number of up to 18 digits as it is written, by their places, and give these numbers.

    >>> held = np.frombuffer(b"0-1207", dtype=np.uint8)
    >>> [each.tolist() for each in whole_numbers(held, np.array([0, 1, 4, 6]))]
    [[0, 1], [0, -12]]
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    end = int(offsets[-1]) - 1
    first = letters[np.minimum(starts, end)]
    second = letters[np.minimum(starts + 1, end)]
    negative = first == ord("-")
    leading, digits = np.where(negative, second, first), sizes - negative
    # A nought leads no other digit, and has no sign.
    plain = ((leading >= ord("1")) & (leading <= ord("9"))) | ((leading == ord("0")) & (digits == 1) & ~negative)
    places = np.flatnonzero(plain & (digits >= 1) & (digits <= _DIGITS))
    starts, sizes, negative = starts[places] + negative[places], digits[places], negative[places]
    found, whole = np.zeros(len(places), dtype=np.int64), np.ones(len(places), dtype=np.bool_)
    for place in range(int(sizes.max(initial=0))):
        inside = place < sizes
        digit = letters[np.minimum(starts + place, end)] - np.uint8(ord("0"))  # 10 and more for what is no digit
        whole &= ~inside | (digit <= 9)
        found = np.where(inside, found * 10 + digit, found)
    return places[whole], np.where(negative, -found, found)[whole]


def _of_letters(texts: pa.Array) -> Words:
    """Hash each text as a polynomial in its bytes, for all texts at once."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    sizes = np.diff(offsets)
    if not len(sizes) or not sizes.any():
        return _mix(sizes.astype(np.uint64))
    letters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)[int(offsets[0]) : int(offsets[-1])]
    starts = offsets[:-1] - offsets[0]
    place = np.arange(len(letters)) - np.repeat(starts, sizes)
    mixed = _mix(np.arange(1, 257, dtype=np.uint64))
    weights = np.multiply.accumulate(np.full(int(sizes.max()), _ODD))
    terms = np.concatenate([[np.uint64(0)], np.cumsum(mixed[letters] * weights[place], dtype=np.uint64)])
    return _mix((terms[starts + sizes] - terms[starts]) ^ sizes.astype(np.uint64))
