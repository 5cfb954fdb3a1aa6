"""Occupations by ISCO-08 and industries by NACE Rev. 2: the groups above a code, by its first digits."""

from __future__ import annotations

from shoal.draft.codes.table import CodeList, Labels, listed

_MAJOR = {
    "0": "Armed forces occupations",
    "1": "Managers",
    "2": "Professionals",
    "3": "Technicians and associate professionals",
    "4": "Clerical support workers",
    "5": "Service and sales workers",
    "6": "Skilled agricultural, forestry and fishery workers",
    "7": "Craft and related trades workers",
    "8": "Plant and machine operators and assemblers",
    "9": "Elementary occupations",
}
_SUB_MAJOR = frozenset(
    "01 02 03 11 12 13 14 21 22 23 24 25 26 31 32 33 34 35 41 42 43 44 51 52 53 54 61 62 63 71 72 73 74 75 81 82 83 91 92 93 "
    "94 95 96".split()
)
_SKILL = {"1": "3 and 4", "2": "3 and 4", "3": "3 and 4", "9": "1", "0": "armed forces"}


def isco_labels(code: str) -> Labels | None:
    """The prefixes of an ISCO-08 code of up to four digits, its major group and the group's skill level; None where it is none.

    >>> isco_labels("2211")
    ('221', '22', '2 Professionals', 'skill level 3 and 4')
    """
    text = code.strip()
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 4) or (
        len(text) > 1 and text[:2] not in _SUB_MAJOR
    ):
        return None
    major = f"{text[0]} {_MAJOR[text[0]]}"
    skill = _SKILL.get(text[0], "2")
    prefixes = tuple(text[:length] for length in range(len(text) - 1, 1, -1))
    top = skill if skill == "armed forces" else f"skill level {skill}"
    return (*prefixes, major, top) if len(text) > 1 else (top,)


def _isco(digits: int) -> CodeList:
    def find(code: str) -> Labels | None:
        return isco_labels(code) if len(code.strip()) == digits else None

    return CodeList(f"isco-08-{digits}", f"occupations of ISCO-08 in {digits} digits", "occupation", find)


_SECTIONS = """
A 01 03 Agriculture, forestry and fishing
B 05 09 Mining and quarrying
C 10 33 Manufacturing
D 35 35 Electricity, gas and steam
E 36 39 Water supply and waste
F 41 43 Construction
G 45 47 Wholesale and retail trade
H 49 53 Transportation and storage
I 55 56 Accommodation and food
J 58 63 Information and communication
K 64 66 Finance and insurance
L 68 68 Real estate
M 69 75 Professional, scientific and technical activities
N 77 82 Administrative and support services
O 84 84 Public administration and defence
P 85 85 Education
Q 86 88 Health and social work
R 90 93 Arts, entertainment and recreation
S 94 96 Other services
T 97 98 Households as employers
U 99 99 Extraterritorial organisations
"""
_RANGES = [line.split(" ", 3) for line in _SECTIONS.strip().split("\n")]
_BROAD = {
    **dict.fromkeys("A", "agriculture"),
    **dict.fromkeys("BCDE", "industry"),
    **dict.fromkeys("F", "construction"),
    **dict.fromkeys("GHIJKLMN", "market services"),
    **dict.fromkeys("OPQRSTU", "other services"),
}


def nace_labels(code: str) -> Labels | None:
    """The division, the section and the broad sector above a NACE Rev. 2 code such as 62.01 or C10; None where it is none.

    >>> nace_labels("62.01")
    ('62', 'J Information and communication', 'market services')
    """
    text = code.strip().upper().replace(".", "")
    letter, digits = (text[0], text[1:]) if text[:1].isalpha() else ("", text)
    if not digits.isdigit() or not digits.isascii() or not 2 <= len(digits) <= 4:
        return None
    division = digits[:2]
    for section, low, high, words in _RANGES:
        if low <= division <= high and letter in ("", section):
            above = (f"{section} {words}", _BROAD[section])
            return above if len(digits) == 2 else (division, *above)
    return None


def _nace(digits: int) -> CodeList:
    def find(code: str) -> Labels | None:
        bare = code.strip().replace(".", "").lstrip("ABCDEFGHIJKLMNOPQRSTU")
        return nace_labels(code) if len(bare) == digits else None

    return CodeList(f"nace-{digits}", f"industries of NACE Rev. 2 in {digits} digits", "industry", find, share=0.95)


WORK: tuple[CodeList, ...] = (
    _isco(4),
    _isco(3),
    _isco(2),
    _isco(1),
    _nace(4),
    _nace(3),
    _nace(2),
    listed(
        "nace-sections",
        "sections of NACE Rev. 2",
        "industry",
        {section: (_BROAD[section],) for section, *_ in _RANGES},
        complete=True,
        spelled=False,
    ),
)
