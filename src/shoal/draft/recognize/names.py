"""The words in a column's name: split at signs and capitals, abbreviations spelled out, glued words taken apart."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_LEAST_GLUED = 3
"""Letters of a word that a longer word may be glued together from; shorter ones are listed."""
_SHORT = frozenset({"hh", "yr", "id", "no", "dx", "bp", "os", "st", "mo"})
"""Words of two letters that occur glued to others: hhsize, birthyr, patid."""


def words_of(name: str, vocabulary: frozenset[str] = frozenset(), prefix: str = "") -> tuple[str, ...]:
    """The words of a name in small letters; a word that is not in the vocabulary is taken apart into words that are.

    >>> words_of("birthDate"), words_of("marital-status"), words_of("PAT_ID")
    (('birth', 'date'), ('marital', 'status'), ('pat', 'id'))
    >>> words_of("deathmon", frozenset({"death", "mon"}))
    ('death', 'mon')
    """
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    bare = bare.replace("ß", "ss")
    bare = bare.removeprefix(prefix) if len(bare) > len(prefix) else bare
    found: list[str] = []
    for part in _SPLIT.findall(bare):
        word = part.lower()
        found += (word,) if word in vocabulary else _take_apart(word, vocabulary) or _cut_tail(word)
    return tuple(found)


@lru_cache(maxsize=4096)
def _take_apart(word: str, vocabulary: frozenset[str]) -> tuple[str, ...] | None:
    """The fewest known words that a word is glued together from; None where it is not."""
    if len(word) < 2 * _LEAST_GLUED - 1 or not vocabulary:
        return None
    best: list[tuple[str, ...] | None] = [(), *([None] * len(word))]
    for end in range(1, len(word) + 1):
        for start in range(end):
            piece, before = word[start:end], best[start]
            known = piece in vocabulary and (len(piece) >= _LEAST_GLUED or piece in _SHORT)
            if before is not None and known:
                made, held = (*before, piece), best[end]
                if held is None or len(made) < len(held):
                    best[end] = made
    found = best[-1]
    return found if found is not None and len(found) > 1 else None


_TAILS = {tail: tail for tail in ("name", "date", "code", "year", "type", "number", "status", "income", "id")} | {
    "datum": "datum",
    "jahr": "jahr",
    "nummer": "nummer",
    "nr": "nummer",
}
"""Ends of glued words, also of German ones, and the word that each stands for."""
_WHOLE = frozenset(
    "paid covid bid void valid invalid grid fluid acid kid rapid solid thyroid steroid hybrid said rigid avoid unpaid prepaid "
    "update mandate candidate validate prototype phenotype genotype subtype barcode geocode encode rename surname "
    "nickname".split()
)


def _cut_tail(word: str) -> tuple[str, ...]:
    """An unknown word whose end says what it is: `utilityid` is an id. Words that merely end so are left whole."""
    for tail, meaning in _TAILS.items():
        if word.endswith(tail) and len(word) >= len(tail) + 3 and word not in _WHOLE:
            return (word[: -len(tail)], meaning)
    return (word,)


def common_prefix(names: Sequence[str], known: Iterable[str] = ()) -> str:
    """Letters that all names begin with and that say nothing: `i` of iage, isex, irace; empty where there are none.

    A first word that is itself known (`age_1`, `age_2`) is no such prefix.
    """
    if len(names) < 4:
        return ""
    prefix = min(names)
    for name in names:
        while not name.startswith(prefix):
            prefix = prefix[:-1]
    stop = min(len(name) for name in names)
    prefix = prefix[: max(0, stop - 2)]
    word = re.sub(r"[^a-z]", "", prefix.lower())
    if not prefix or word in set(known) or Counter(names).most_common(1)[0][1] > 1:
        return ""
    return prefix
