"""How dates and times are written as text, where they are not written as in 2024-12-31: a declared form, never a guessed one.

A form is a text with signs: `%d.%m.%Y` reads 31.12.2024. The signs are a part of those that `strptime` knows, and mean the same
on every machine: no sign depends on a language that the system is set to.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shoal.errors import PolicyError

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
"""The names of the months, in English."""
CENTURY: Final = 69
"""The first year of two digits that lies in the twentieth century, as POSIX has it."""
SIGNS: Final = {
    "%Y": "a year of four digits",
    "%y": "a year of two digits: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068",
    "%m": "a month from 1 to 12",
    "%b": "the first three letters of an English month",
    "%B": "the name of an English month",
    "%d": "a day of the month",
    "%H": "an hour from 0 to 23",
    "%I": "an hour from 1 to 12",
    "%p": "am or pm",
    "%M": "a minute",
    "%S": "a second",
    "%f": "a fraction of a second, up to six digits",
    "%%": "a percent sign",
}
"""What each sign stands for."""
LONGEST: Final = 100
"""Letters that a form may have."""


def _any_case(word: str) -> str:
    """A pattern of an English word in upper and lower case. A flag would also take letters that only fold to these."""
    return "".join(f"[{letter.upper()}{letter.lower()}]" for letter in word)


_YEAR, _MONTH = ("%Y", "%y"), ("%m", "%b", "%B")
_TIME: Final = ("%H", "%I", "%p", "%M", "%S", "%f")
_SHORT: Final = {
    "%m": ("0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "%d": ("0?[1-9]|[12][0-9]|3[01]", "0[1-9]|[12][0-9]|3[01]"),
    "%H": ("[01]?[0-9]|2[0-3]", "[01][0-9]|2[0-3]"),
    "%I": ("0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "%M": ("[0-5]?[0-9]", "[0-5][0-9]"),
    "%S": ("[0-5]?[0-9]", "[0-5][0-9]"),
}
"""Patterns of numbers that take one digit or two, and of the same where they take two."""
_NUMBERS: Final = (*_SHORT, "%Y", "%y", "%f")
_WORDS: Final = {
    "%Y": "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])",
    "%y": "([0-9]{2})",
    "%f": "([0-9]{1,6})",
    "%b": f"({'|'.join(_any_case(name[:3]) for name in MONTHS)})",
    "%B": f"({'|'.join(map(_any_case, MONTHS))})",
    "%p": "([AaPp][Mm])",
}


@dataclass(frozen=True)
class DateFormat:
    """A format of dates or times, such as `%d.%m.%Y` or `%m/%d/%y %I:%M %p`.

    A number takes one digit or two (`1.3.2024`), unless another number stands right beside it (`%Y%m%d`): then it takes two. Case
    does not count in the names of months and in am and pm.

    Raises     PolicyError where a sign is not known, is there twice, or a day is not told.

    >>> DateFormat("%d.%m.%Y").spell(dt.datetime(2024, 3, 1))
    '01.03.2024'
    """

    text: str

    def __post_init__(self) -> None:
        allowed = ", ".join(SIGNS)
        if len(self.text) > LONGEST or not self.text.isprintable() or self.text != self.text.strip():
            raise PolicyError("not a date format", allowed=f"up to {LONGEST} letters on one line, no blanks around")
        for part in self.parts:
            if part.startswith("%") and part not in SIGNS:
                raise PolicyError("a sign of dates that is not known here", came=part, allowed=allowed)
        signs = self.signs
        if any(signs.count(sign) > 1 for sign in signs):
            raise PolicyError("a sign of dates is there twice", came=self.text)
        for several, what in ((_YEAR, "year"), (_MONTH, "month"), (("%d",), "day")):
            if sum(sign in signs for sign in several) != 1:
                raise PolicyError(f"the {what} is not told once", came=self.text, allowed=" or ".join(several))
        self._refuse_time()
        self._refuse_touching()

    def _refuse_time(self) -> None:
        """Raise where a part of the time of day is told without the larger ones."""
        signs = self.signs
        if "%H" in signs and "%I" in signs:
            raise PolicyError("the hour is told twice", came=self.text, allowed="%H, or %I with %p")
        if ("%I" in signs) != ("%p" in signs):
            raise PolicyError(
                "an hour from 1 to 12 needs am or pm beside it", came=self.text, allowed="%I with %p, or %H"
            )
        hour = "%H" in signs or "%I" in signs
        for sign, needed in (("%M", hour), ("%S", "%M" in signs), ("%f", "%S" in signs)):
            if sign in signs and not needed:
                raise PolicyError(f"{SIGNS[sign]} is told, and what is larger is not", came=self.text)

    def _refuse_touching(self) -> None:
        """Raise where nobody can say which of two numbers a digit belongs to."""
        for place, part in enumerate(self.parts):
            if part == "%f" and self._touches(place):
                raise PolicyError("a fraction of a second touches another number", came=self.text)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The signs and, letter by letter, what stands between them."""
        return tuple(re.findall(r"%.?|[^%]", self.text))

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """The signs in their order, each of which the pattern has a group for."""
        return tuple(part for part in self.parts if part.startswith("%") and part != "%%")

    @property
    def has_time(self) -> bool:
        """Whether a time of day is told."""
        return any(sign in _TIME for sign in self.signs)

    @cached_property
    def pattern(self) -> str:
        """A regular expression with a group for each sign, for whole texts; it means the same to Python and to RE2.

        What it matches is a date, but for the last days of a month.
        """
        found = ""
        for place, part in enumerate(self.parts):
            if part in _SHORT:
                found += f"({_SHORT[part][self._touches(place)]})"
            elif part in _WORDS:
                found += _WORDS[part]
            else:
                letter = part[-1]
                found += letter if letter.isalnum() or not letter.isascii() or letter == " " else "\\" + letter
        return found

    def _touches(self, place: int) -> bool:
        """Whether a digit stands, or may stand, right beside the sign at this place."""
        near = [self.parts[at] for at in (place - 1, place + 1) if 0 <= at < len(self.parts)]
        return any(part in _NUMBERS or part.isdigit() for part in near)

    def spell(self, when: dt.datetime) -> str | None:
        """The text of a time in this form; None where the form cannot tell all of it."""
        values = {
            "%Y": f"{when.year:04d}",
            "%y": f"{when.year % 100:02d}",
            "%m": f"{when.month:02d}",
            "%b": MONTHS[when.month - 1][:3],
            "%B": MONTHS[when.month - 1],
            "%d": f"{when.day:02d}",
            "%H": f"{when.hour:02d}",
            "%I": f"{(when.hour - 1) % 12 + 1:02d}",
            "%p": "PM" if when.hour >= 12 else "AM",
            "%M": f"{when.minute:02d}",
            "%S": f"{when.second:02d}",
            "%f": f"{when.microsecond:06d}",
            "%%": "%",
        }
        untold = (
            ("%y" in self.signs and not 1900 + CENTURY <= when.year < 2000 + CENTURY)
            or (not self.has_time and bool(when.hour))
            or ("%M" not in self.signs and bool(when.minute))
            or ("%S" not in self.signs and bool(when.second))
            or ("%f" not in self.signs and bool(when.microsecond))
        )
        return None if untold else "".join(values.get(part, part) for part in self.parts)

    def words(self) -> str:
        """An example of a date in this form."""
        return self.spell(dt.datetime(2025, 3, 1, 14 if self.has_time else 0)) or self.text  # noqa: DTZ001
