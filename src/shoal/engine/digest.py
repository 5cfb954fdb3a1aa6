"""What a table holds, as 32 bytes: the same for the same rows in any order, file format and engine.

Each value becomes a 64-bit number, each row a mixture of its values' numbers, and the table the sum over its rows;
so rows may come in any order, in parts, or counted. Names, types and the sum go through SHA-256. Chance collisions
are out of the question; someone who changes a cell gets another digest, and is not stopped from doing that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.data.type import Type
from shoal.engine.storage import WORDS

if TYPE_CHECKING:
    import pyarrow as pa

Words = npt.NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ABSENT = np.uint64(0x2545F4914F6CDD1D)


class Digest:
    """Takes rows in parts; `value` is the digest of all of them."""

    def __init__(self, columns: Sequence[tuple[str, Type]]) -> None:
        self._columns = tuple(columns)
        self._keys = [_key(name) for name, _ in columns]
        self._sums = [0, 0]
        self._rows = 0

    def add(self, columns: Sequence[pa.Array], counts: npt.NDArray[np.int64] | None = None) -> None:
        """Some rows, each as often as its count says; texts may be dictionaries."""
        rows = np.zeros(len(columns[0]), dtype=np.uint64)
        for held, key, (_, kind) in zip(columns, self._keys, self._columns, strict=True):
            rows += _numbers(held, kind, key)
        often = np.ones(len(rows), dtype=np.uint64) if counts is None else counts.astype(np.uint64)
        for lane, lift in enumerate((np.uint64(0), _ODD)):
            self._sums[lane] += int((_mixed(rows + lift) * often).sum(dtype=np.uint64))
        self._rows += int(often.sum())

    def value(self) -> bytes:
        """32 bytes."""
        named = sorted((name, kind.value) for name, kind in self._columns)
        sums = [total % (1 << 64) for total in self._sums]
        return hashlib.sha256(repr((1, named, self._rows, sums)).encode()).digest()


def digest(columns: Sequence[tuple[str, Type]], parts: Iterable[Sequence[pa.Array]]) -> bytes:
    """The digest of rows that come in parts."""
    made = Digest(columns)
    for part in parts:
        made.add(part)
    return made.value()


def _key(name: str) -> np.uint64:
    """Keeps columns apart, by name and not by place."""
    return np.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))


def _mixed(words: Words) -> Words:
    """Every bit of a word spread over all of it (the finish of SplitMix64)."""
    words = words ^ (words >> np.uint64(30))
    words *= _FIRST
    words ^= words >> np.uint64(27)
    words *= _SECOND
    words ^= words >> np.uint64(31)
    return words


def _numbers(held: pa.Array, kind: Type, key: np.uint64) -> Words:
    """A number for each value, by value and not by how it is stored; texts are worked out once for each different one."""
    import pyarrow as pa

    if pa.types.is_dictionary(held.type) or kind in WORDS:
        coded = held if pa.types.is_dictionary(held.type) else held.dictionary_encode()
        of_each: Words = np.append(_of_texts(coded.dictionary.cast(pa.large_string())), _ABSENT)
        places: npt.NDArray[np.int64] = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return _mixed(of_each ^ key)[places]
    bare: Any = held.cast(
        {Type.DATE: pa.int32(), Type.BOOLEAN: pa.int8(), Type.DATETIME: pa.int64()}.get(kind, held.type)
    )
    values = bare.fill_null(0).to_numpy(zero_copy_only=False)
    words = values.view(np.uint64) if kind is Type.DECIMAL else values.astype(np.int64).view(np.uint64)
    if held.null_count:
        words = np.where(held.is_null().to_numpy(zero_copy_only=False), _ABSENT, words)
    return _mixed(words ^ key)


def _of_texts(texts: pa.Array) -> Words:
    """A polynomial in the bytes of each text, for all texts at once."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    sizes = np.diff(offsets)
    if not len(sizes) or not sizes.any():
        return _mixed(sizes.astype(np.uint64))
    letters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)[int(offsets[0]) : int(offsets[-1])].astype(np.uint64)
    starts = offsets[:-1] - offsets[0]
    place = np.arange(len(letters)) - np.repeat(starts, sizes)
    weights = np.multiply.accumulate(np.full(int(sizes.max()), _ODD))
    terms = np.concatenate(
        [[np.uint64(0)], np.cumsum(_mixed(letters + np.uint64(1)) * weights[place], dtype=np.uint64)]
    )
    return _mixed((terms[starts + sizes] - terms[starts]) ^ sizes.astype(np.uint64))
