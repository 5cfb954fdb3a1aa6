"""The random sample of rows: a keyed function of the row's number, the same on every engine and in any order."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.exact import probability, whole
from shoal.chance.key import BLOCK, ZEROS, SecretKey
from shoal.errors import ParameterError

WORD = 1 << 64
CHUNK = len(ZEROS) // BLOCK
"""Rows worked on at a time."""

Words = NDArray[np.uint64]
Kept = NDArray[np.bool_]


class RowMask:
    """Poisson sampling: an independent coin for every row of every file, which keeps the row with probability `rate`.

    The block of a row is AES-256_K(file as 8 bytes || row as 8 bytes), both big-endian. The row is kept when the
    first 8 bytes of its block, read big-endian, are below floor(beta · 2^64); so `rate` is at most beta, and short
    of it by less than 2^-64. The last 8 bytes are the row's *word*, a uniform number that says nothing about whether
    the row is kept: among the rows of one person, the smallest word picks one at random.

    There is no state: parts, threads, retries and engines agree row by row. The row's number is its place in the
    input, never its content (equal rows would be kept together) nor a person's id. Whoever has the key knows who was
    sampled; it does not show in any text, and only `portable` lets it be pickled.

    >>> mask = RowMask(SecretKey.seeded(1), Fraction(1, 2))
    >>> bool((mask.keep(0, 100) == mask.keep_rows(range(100))).all())
    True
    """

    __slots__ = ("_key", "_portable", "_threshold", "beta")

    def __init__(self, key: SecretKey, beta: Fraction | int, *, portable: bool = False) -> None:
        self.beta = probability(beta, "the sampling rate")
        self._key = key
        self._portable = portable
        self._threshold = int(self.beta * WORD)

    @property
    def rate(self) -> Fraction:
        """The probability that a row is kept: beta, rounded down to a multiple of 2^-64."""
        return Fraction(self._threshold, WORD)

    @property
    def carries_guarantee(self) -> bool:
        """False when the key came from a seed."""
        return self._key.carries_guarantee

    def keep(self, start: int, count: int, file_id: int = 0) -> Kept:
        """Whether each of the rows start, start + 1, …, start + count − 1 of a file is kept."""
        kept = np.empty(whole(count, "the number of rows", 0), dtype=np.bool_)
        for first, blocks in self._range(start, count, file_id):
            kept[first : first + len(blocks)] = self._below(blocks)
        return kept

    def keep_rows(self, ids: ArrayLike, file_id: int | ArrayLike = 0) -> Kept:
        """Whether each of the rows with these numbers is kept; `file_id` is one file, or one for each row."""
        rows, files = _numbers(ids, file_id)
        kept = np.empty(len(rows), dtype=np.bool_)
        for first, blocks in self._list_blocks(rows, files):
            kept[first : first + len(blocks)] = self._below(blocks)
        return kept

    def words(self, start: int, count: int, file_id: int = 0) -> Words:
        """A uniform 64-bit number for each row of a range, independent of which rows are kept."""
        words = np.empty(whole(count, "the number of rows", 0), dtype=np.uint64)
        for first, blocks in self._range(start, count, file_id):
            words[first : first + len(blocks)] = blocks[:, 1]
        return words

    def words_rows(self, ids: ArrayLike, file_id: int | ArrayLike = 0) -> Words:
        """The uniform 64-bit number of each listed row, the same that `words` gives for a range."""
        rows, files = _numbers(ids, file_id)
        words = np.empty(len(rows), dtype=np.uint64)
        for first, blocks in self._list_blocks(rows, files):
            words[first : first + len(blocks)] = blocks[:, 1]
        return words

    def portable(self) -> RowMask:
        """The same mask, allowed to be pickled, for an engine whose workers are other processes.

        Closing the source destroys the key here, and cannot reach the copies that were sent: they live as long as
        the workers that hold them. Send it to no store and no log.
        """
        return RowMask(self._key, self.beta, portable=True)

    def _below(self, blocks: NDArray[Any]) -> Kept | bool:
        if self._threshold == WORD:
            return True
        return blocks[:, 0].astype(np.uint64) < np.uint64(self._threshold)

    def _range(self, start: int, count: int, file_id: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """The blocks of a range, by counter mode, a chunk at a time into one buffer."""
        whole(file_id, "the number of a file", 0, WORD - 1)
        if whole(start, "the first row", 0, WORD - 1) + count > WORD:
            raise ParameterError("a range of rows runs past the last number", came=start + count, allowed="2^64")
        cipher = self._key.counter_mode(file_id << 64 | start)
        buffer = np.empty((min(count, CHUNK), 2), dtype=">u8")
        for first in range(0, count, CHUNK):
            blocks = buffer[: min(CHUNK, count - first)]
            cipher.update_into(ZEROS[: blocks.nbytes], _as_bytes(blocks))
            yield first, blocks

    def _list_blocks(self, rows: Words, files: Words) -> Iterator[tuple[int, NDArray[Any]]]:
        """The blocks of listed rows, each enciphered on its own, a chunk at a time into one buffer."""
        cipher = self._key.block_mode()
        size = min(len(rows), CHUNK)
        plain = np.empty((size, 2), dtype=">u8")
        # One block more than is needed: the cipher asks for room that it does not use.
        buffer = np.empty((size + 1, 2), dtype=">u8")
        for first in range(0, len(rows), CHUNK):
            many = min(CHUNK, len(rows) - first)
            plain[:many, 0] = files[first : first + many]
            plain[:many, 1] = rows[first : first + many]
            cipher.update_into(_as_bytes(plain[:many]), _as_bytes(buffer[: many + 1]))
            yield first, buffer[:many]

    def __repr__(self) -> str:
        seed = "" if self.carries_guarantee else ", seeded: no guarantee"
        gone = ", destroyed" if self._key.is_destroyed else ""
        return f"RowMask(beta={self.beta}, key hidden{', portable' * self._portable}{seed}{gone})"

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._portable:
            self._key.__reduce_ex__(2)
        return _restore, (bytes(self._key.secret()), self.beta, self.carries_guarantee)


def _restore(secret: bytes, beta: Fraction, carries_guarantee: bool) -> RowMask:
    """A portable mask on the other side of a pickle."""
    return RowMask(SecretKey.with_origin(bytearray(secret), trusted=carries_guarantee), beta, portable=True)


def _as_bytes(blocks: NDArray[Any]) -> memoryview:
    return blocks.reshape(-1).view(np.uint8).data


def _numbers(ids: ArrayLike, file_id: int | ArrayLike) -> tuple[Words, Words]:
    """Row and file numbers as unsigned words of one length."""
    rows, files = (_as_unsigned(value, name) for value, name in ((ids, "row"), (file_id, "file")))
    if rows.ndim != 1 or files.ndim > 1 or (files.ndim == 1 and len(files) != len(rows)):
        raise ParameterError(
            "row and file numbers do not fit together",
            came=f"shapes {rows.shape} and {files.shape}",
            allowed="a list of rows, and one file or a list of the same length",
        )
    return rows, np.broadcast_to(files, rows.shape)


def _as_unsigned(value: ArrayLike, name: str) -> Words:
    try:
        numbers = np.asarray(value)
    except OverflowError:
        numbers = np.asarray(value, dtype=object)
    empty = numbers.size == 0
    if not empty and (numbers.dtype.kind not in "iu" or (numbers.dtype.kind == "i" and numbers.min() < 0)):
        raise ParameterError(
            f"the number of a {name} is wrong",
            came=f"type {numbers.dtype}",
            allowed="whole numbers from 0 to 2^64 - 1",
        )
    return numbers.astype(np.uint64)
