"""The only source of randomness: bits from AES in counter mode, keyed by the operating system, and every draw from them."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance import draws, exact
from shoal.chance.draws import PartialScores
from shoal.chance.key import SecretKey
from shoal.chance.row_mask import RowMask
from shoal.errors import UsageError


class Source:
    """A source of random bits and exact draws; one for each release, closed when the release is done.

    `Source.secure()` is the one for real data. `Source.seeded(seed)` is for tests: it repeats, so everything drawn
    from it, or from what it derives, says `carries_guarantee` False, and nothing may be claimed for it. So does a
    source that is given a key: whoever gave it may use it again.

    Each purpose takes its own stream. Asking again for a name gives the next stream of that name, so that two askers
    never share bits: noise that is used twice cancels. What a stream gives depends on its name and its number among
    streams of that name alone, so a test that repeats a run from the same seed repeats it even if other purposes
    were added in between. A secure source cannot be replayed; what has to be recomputed (a retried task) uses a
    row mask, which has no position.

    A source is never copied or pickled, refuses to draw in a forked process, and may be shared by threads. Its
    randomness is computational: as good as AES-256 and HMAC-SHA-256 are.

    >>> from fractions import Fraction
    >>> Source.seeded(7).discrete_laplace(Fraction(10), size=4).shape
    (4,)
    """

    __slots__ = ("_asked", "_bits", "_key", "purpose")

    def __init__(self, key: SecretKey, purpose: str = "release") -> None:
        key.distrust()
        self._open(key, purpose)

    def _open(self, key: SecretKey, purpose: str) -> None:
        self._key = key
        self._bits = key.derive("bits", "", 0)
        self._asked: Counter[tuple[str, str]] = Counter()
        self.purpose = purpose

    @classmethod
    def secure(cls) -> Source:
        """A source for real data, with a fresh key of 256 bits from the operating system."""
        return cls._own(SecretKey.fresh())

    @classmethod
    def _own(cls, key: SecretKey, purpose: str = "release") -> Source:
        """A source with a key that was made here and that nobody else has had."""
        source = cls.__new__(cls)
        source._open(key, purpose)  # noqa: SLF001 - its own
        return source

    @classmethod
    def seeded(cls, seed: int | str) -> Source:
        """A source for tests only: the same bits for the same seed, and no guarantee for anything that is drawn from them."""
        if isinstance(seed, bool) or not isinstance(seed, int | str):
            raise UsageError("a seed of another type", came=type(seed).__name__, allowed="a whole number or a text")
        return cls(SecretKey.seeded(seed))

    @property
    def carries_guarantee(self) -> bool:
        """True if every bit comes from the operating system's generator; False if from a seed or from a key that was given."""
        return self._key.carries_guarantee

    @property
    def closed(self) -> bool:
        """Whether the key is destroyed."""
        return self._key.is_destroyed

    def stream(self, purpose: str) -> Source:
        """An independent source for one purpose; the next one of that name each time."""
        if not purpose:
            raise UsageError("a stream has no purpose", came=repr(purpose), allowed="a name, such as 'noise'")
        number = self._next("stream", purpose)
        return Source._own(self._key.derive("stream", purpose, number), f"{self.purpose}/{purpose}#{number}")

    def row_mask(self, beta: Fraction | int) -> RowMask:
        """A coin for each row, with a key of its own; asking again gives other coins."""
        return RowMask(self._key.derive("row mask", "", self._next("row mask", "")), beta)

    def close(self) -> None:
        """Destroy the key, and the keys of all streams and masks; every later draw raises."""
        self._key.destroy()

    def bytes(self, count: int) -> builtins.bytes:
        """The next bytes of the keystream."""
        buffer = bytearray(exact.whole(count, "the number of bytes", 0))
        self._bits.fill(memoryview(buffer))
        return builtins.bytes(buffer)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next bytes as 64-bit numbers, uniform and independent; little-endian on every machine."""
        buffer = np.empty(exact.whole(count, "the number of words", 0), dtype="<u8")
        self._bits.fill(buffer.view(np.uint8).data)
        return buffer.astype(np.uint64, copy=False)

    def integers(self, bound: int, size: int) -> NDArray[Any]:
        """Uniform whole numbers from 0 to bound − 1, for any bound; see `draws.integers`."""
        return draws.integers(self, bound, size)

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniform order of 0, …, count − 1; see `draws.permutation`."""
        return draws.permutation(self, count)

    def shuffle_within(self, groups: ArrayLike) -> NDArray[np.int64]:
        """An order that mixes each group in itself, uniformly; see `draws.shuffle_within`."""
        return draws.shuffle_within(self, groups)

    def bernoulli(self, probability: Fraction | int, size: int) -> NDArray[np.bool_]:
        """Coins with exactly this probability; see `draws.bernoulli`."""
        return draws.bernoulli(self, probability, size)

    def bernoulli_exp(self, gamma: Fraction | int, size: int) -> NDArray[np.bool_]:
        """Coins with probability exactly exp(−gamma); see `draws.bernoulli_exp`."""
        return draws.bernoulli_exp(self, gamma, size)

    def geometric(self, scale: Fraction | int, size: int) -> NDArray[np.int64]:
        """Whole numbers k ≥ 0 with probability proportional to exp(−k/scale); see `draws.geometric`."""
        return draws.geometric(self, scale, size)

    def discrete_laplace(self, scale: Fraction | int, size: int) -> NDArray[np.int64]:
        """Whole numbers x with probability proportional to exp(−|x|/scale); see `draws.discrete_laplace`."""
        return draws.discrete_laplace(self, scale, size)

    def discrete_gaussian(self, sigma: Fraction | int, size: int) -> NDArray[np.int64]:
        """Whole numbers x with probability proportional to exp(−x²/(2 sigma²)); see `draws.discrete_gaussian`."""
        return draws.discrete_gaussian(self, sigma, size)

    def choose(self, log_weights: Sequence[Fraction | int]) -> int:
        """An index with probability proportional to the exponential of its weight; see `draws.choices`."""
        return int(draws.choices(self, log_weights, 1)[0])

    def choices(self, log_weights: Sequence[Fraction | int], size: int) -> NDArray[np.int64]:
        """`size` independent indices, each as `choose` draws it."""
        return draws.choices(self, log_weights, size)

    def choose_by_score(self, scores: NDArray[np.int64], factor: Fraction | int) -> int:
        """One index by the weights factor · score, for many whole scores; see `draws.choices_by_score`."""
        return int(self.choices_by_score(scores, factor, 1)[0])

    def choices_by_score(self, scores: NDArray[np.int64], factor: Fraction | int, size: int) -> NDArray[np.int64]:
        """So many indices by the weights factor · score, for many whole scores; see `draws.choices_by_score`."""
        return draws.choices_by_score(self, scores, factor, size)

    def choose_run_by_score(
        self, scores: NDArray[np.int64], sizes: Sequence[int], factor: Fraction | int
    ) -> tuple[int, int]:
        """One option among runs of equal ones, by the weights factor · score; see `draws.choose_run_by_score`."""
        return draws.choose_run_by_score(self, scores, sizes, factor)

    def choose_each_by_score(self, scores: NDArray[np.int64], factor: Fraction | int) -> NDArray[np.int64]:
        """For each row of whole scores one index by the weights factor · score; see `draws.choose_each_by_score`."""
        return draws.choose_each_by_score(self, scores, factor)

    def choose_from_partial_scores(self, lists: Iterable[PartialScores], factor: Fraction) -> int:
        """One index by the weights factor · score, from growing lists of the best; see `draws.choice_from_partial_scores`."""
        return draws.choice_from_partial_scores(self, lists, factor)

    def _next(self, kind: str, name: str) -> int:
        """The number of the next key of this kind and name."""
        with self._bits.lock:
            number = self._asked[kind, name]
            self._asked[kind, name] += 1
        return number

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        origin = "secure" if self.carries_guarantee else "seeded: no guarantee"
        return f"Source({self.purpose}, {origin}{', closed' * self.closed})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._key.__reduce_ex__(protocol)
        raise AssertionError  # pragma: no cover - the line above raises
