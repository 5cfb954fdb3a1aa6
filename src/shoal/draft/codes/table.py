"""What a table of codes is: the labels of a value from fine to coarse, and how a column of such codes is recognized."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Labels = tuple[str, ...]
_SIGNS = re.compile(r"[^0-9a-z<>+]+")


def plain_words(text: str) -> str:
    """A text in small letters without accents, with one blank for every run of signs.

    >>> plain_words("Côte d'Ivoire"), plain_words("Never-married")
    ('cote d ivoire', 'never married')
    """
    bare = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return _SIGNS.sub(" ", bare.casefold()).strip()


@dataclass(frozen=True)
class CodeList:
    """A public list of codes: what its values are called, and the labels above each of them.

    `meaning` is the subject of a column that holds such codes (`country`, `diagnosis`). `find` gives the labels above a value,
    from fine to coarse, or None where the value is no code. `codes` is the whole list, where it is short enough to be the
    domain of a column. `least` is how many different codes a column must show to be recognized by them alone, without its
    name; 0 where the name has to agree. `ordered`: the codes have an order, that of the list.
    """

    key: str
    words: str
    meaning: str
    find: Callable[[str], Labels | None]
    codes: tuple[str, ...] | None = None
    least: int = 0
    share: float = 1.0
    """The share of different values that must be codes; what is no code gets the label `rest`."""
    rest: str = "other"
    ordered: bool = False

    def recognizes(self, values: Iterable[str]) -> bool:
        """Whether so many of these values are codes that the others can be taken for exceptions."""
        listed = list(values)
        found = sum(self.find(value) is not None for value in listed)
        return bool(listed) and found >= self.share * len(listed)

    def domain_of(self, values: Iterable[str]) -> tuple[str, ...] | None:
        """The whole list of codes, if it is short and has all of these values as they are spelled."""
        if self.codes is None or not set(values) <= set(self.codes):
            return None
        return self.codes

    def rows(self, values: Iterable[str]) -> list[Labels]:
        """Each value with its labels from fine to coarse, as a hierarchy file lists them."""
        found = [(value, self.find(value)) for value in values]
        depth = max((len(labels) for _, labels in found if labels is not None), default=0)
        return [(value, *(labels if labels is not None else (self.rest,) * depth)) for value, labels in found]


def listed(
    key: str,
    words: str,
    meaning: str,
    entries: Mapping[str, Labels],
    *,
    complete: bool = False,
    least: int = 0,
    share: float = 1.0,
    ordered: bool = False,
    spelled: bool = True,
) -> CodeList:
    """A table of codes that are written out.

    `spelled`: capital letters and signs do not count; else a code is recognized in its own spelling alone.
    """
    known = {plain_words(code): labels for code, labels in entries.items()} if spelled else dict(entries)

    def find(value: str) -> Labels | None:
        return known.get(plain_words(value) if spelled else value.strip())

    codes = tuple(entries) if complete else None
    return CodeList(key, words, meaning, find, codes, least, share, ordered=ordered)
