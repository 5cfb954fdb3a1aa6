"""Regions: states of the United States, NUTS codes of Europe by their prefixes, and calendar names."""

from __future__ import annotations

import re

from shoal.draft.codes.table import CodeList, Labels, listed

_STATES = """
New England, Northeast: CT 09 Connecticut | ME 23 Maine | MA 25 Massachusetts | NH 33 New Hampshire | RI 44 Rhode Island | VT 50 Vermont
Middle Atlantic, Northeast: NJ 34 New Jersey | NY 36 New York | PA 42 Pennsylvania
East North Central, Midwest: IL 17 Illinois | IN 18 Indiana | MI 26 Michigan | OH 39 Ohio | WI 55 Wisconsin
West North Central, Midwest: IA 19 Iowa | KS 20 Kansas | MN 27 Minnesota | MO 29 Missouri | NE 31 Nebraska | ND 38 North Dakota | SD 46 South Dakota
South Atlantic, South: DE 10 Delaware | DC 11 District of Columbia | FL 12 Florida | GA 13 Georgia | MD 24 Maryland | NC 37 North Carolina | SC 45 South Carolina | VA 51 Virginia | WV 54 West Virginia
East South Central, South: AL 01 Alabama | KY 21 Kentucky | MS 28 Mississippi | TN 47 Tennessee
West South Central, South: AR 05 Arkansas | LA 22 Louisiana | OK 40 Oklahoma | TX 48 Texas
Mountain, West: AZ 04 Arizona | CO 08 Colorado | ID 16 Idaho | MT 30 Montana | NV 32 Nevada | NM 35 New Mexico | UT 49 Utah | WY 56 Wyoming
Pacific, West: AK 02 Alaska | CA 06 California | HI 15 Hawaii | OR 41 Oregon | WA 53 Washington
Territories, Territories: AS 60 American Samoa | GU 66 Guam | MP 69 Northern Mariana Islands | PR 72 Puerto Rico | VI 78 Virgin Islands
"""  # noqa: E501 - a division of the census on each line
_ALSO: dict[str, Labels] = {
    "Dist of Columbia": ("South Atlantic", "South"),
    "Washington DC": ("South Atlantic", "South"),
    "Washington D.C.": ("South Atlantic", "South"),
}


def _states() -> tuple[dict[str, Labels], dict[str, Labels], dict[str, Labels]]:
    """The census divisions and regions of the states by two letters, by number and by name."""
    letters: dict[str, Labels] = {}
    numbers: dict[str, Labels] = {}
    names: dict[str, Labels] = {}
    for line in _STATES.strip().split("\n"):
        head, _, members = line.partition(": ")
        division = tuple(head.split(", "))
        for member in members.split(" | "):
            short, number, name = member.split(" ", 2)
            letters[short] = numbers[number] = names[name] = division
    return letters, numbers, names | _ALSO


_LETTERS, _NUMBERS, _NAMES = _states()

_NUTS_COUNTRIES = frozenset(
    "AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK UK NO CH IS LI TR RS ME MK AL".split()
)
_NUTS = re.compile(r"([A-Z]{2})([0-9A-Z]{1,3})")


def nuts_labels(code: str) -> Labels | None:
    """The coarser levels of a NUTS code, which are its prefixes; None where it is no such code.

    >>> nuts_labels("DE212")
    ('DE21', 'DE2', 'DE')
    """
    found = _NUTS.fullmatch(code.strip())
    if found is None or found[1] not in _NUTS_COUNTRIES:
        return None
    text = found[0]
    return tuple(text[:length] for length in range(len(text) - 1, 1, -1))


def _nuts(level: int) -> CodeList:
    def find(code: str) -> Labels | None:
        return nuts_labels(code) if len(code.strip()) == level + 2 else None

    return CodeList(f"nuts-{level}", f"NUTS regions of level {level}", "region", find, least=8)


STATES: tuple[CodeList, ...] = (
    listed(
        "us-states",
        "states of the United States in two letters",
        "state",
        _LETTERS,
        complete=True,
        least=12,
        spelled=False,
    ),
    listed("us-state-names", "names of states of the United States", "state", _NAMES, least=5, share=0.9),
    listed(
        "us-state-numbers",
        "states of the United States by FIPS number",
        "state",
        _NUMBERS,
        complete=True,
        spelled=False,
    ),
)
REGIONS: tuple[CodeList, ...] = (_nuts(3), _nuts(2), _nuts(1))

# --- the calendar ----------------------------------------------------------------------------------------------------------

_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def _of_months(names: list[str]) -> dict[str, Labels]:
    return {name: (f"quarter {place // 3 + 1}", f"half {place // 6 + 1}") for place, name in enumerate(names)}


def _of_days(names: list[str]) -> dict[str, Labels]:
    return {name: ("working day" if place < 5 else "weekend",) for place, name in enumerate(names)}


CALENDAR: tuple[CodeList, ...] = (
    listed("months", "names of months", "month", _of_months(_MONTHS), complete=True, least=4, share=0.8, ordered=True),
    listed(
        "months-short",
        "months in three letters",
        "month",
        _of_months([name[:3] for name in _MONTHS]),
        complete=True,
        least=4,
        share=0.8,
        ordered=True,
    ),
    listed(
        "weekdays", "names of weekdays", "weekday", _of_days(_DAYS), complete=True, least=3, share=0.8, ordered=True
    ),
    listed(
        "weekdays-short",
        "weekdays in three letters",
        "weekday",
        _of_days([name[:3] for name in _DAYS]),
        complete=True,
        least=3,
        share=0.8,
        ordered=True,
    ),
)
