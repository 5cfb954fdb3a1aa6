"""Ordered words: levels of education, answers from `strongly disagree` to `strongly agree`, sizes, and bands such as `18-24`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.draft.codes.table import plain_words


@dataclass(frozen=True)
class OrdinalScale:
    """An ordered list of words; each place has several spellings, and perhaps labels of coarser levels above it."""

    key: str
    words: str
    meaning: str
    places: tuple[frozenset[str], ...]
    labels: tuple[tuple[str, ...], ...] = ()

    def place(self, value: str) -> int | None:
        """Where a value stands, from 0; None where it is not on the scale."""
        text = plain_words(value)
        return next((at for at, spelled in enumerate(self.places) if text in spelled), None)

    def order(self, values: Iterable[str]) -> tuple[str, ...] | None:
        """The values in the order of the scale; None where one is not on it, or where all have one place."""
        placed = [(self.place(value), value) for value in values]
        if any(at is None for at, _ in placed) or len({at for at, _ in placed}) < 2:
            return None
        return tuple(value for _, value in sorted(placed, key=lambda pair: (pair[0] or 0, pair[1])))


def _scale(key: str, words: str, meaning: str, *places: str, labels: Sequence[tuple[str, ...]] = ()) -> OrdinalScale:
    spelled = tuple(frozenset(plain_words(word) for word in place.split("|")) for place in places)
    return OrdinalScale(key, words, meaning, spelled, tuple(labels))


_PRIMARY, _LOWER, _UPPER, _SHORT, _BEYOND, _HIGH = (
    ("primary or less", "below upper secondary"),
    ("lower secondary", "below upper secondary"),
    ("upper secondary", "upper secondary"),
    ("post-secondary below bachelor", "beyond upper secondary"),
    ("tertiary, degree not said", "beyond upper secondary"),
    ("bachelor or more", "beyond upper secondary"),
)
EDUCATION = _scale(
    "education",
    "levels of education",
    "education",
    "none|no education|no schooling|no formal education|no school|illiterate|isced 0|early childhood|"
    "ohne abschluss|kein abschluss|kein schulabschluss",
    "preschool|kindergarten|nursery|pre primary|less than primary|incomplete primary",
    "1st 4th|1st-4th|grade 1 4|some primary|grades 1 4",
    "5th 6th|grade 5 6|primary|primary school|primary education|elementary|elementary school|isced 1|grades 1 6|basic|"
    "grundschule",
    "7th 8th|grade 7 8|middle school|some secondary|less than high school|less than hs|no high school|grades 7 8",
    "9th|lower secondary|lower secondary education|junior high|junior high school|isced 2|grade 9|gcse|hauptschule|realschule|"
    "hauptschulabschluss|realschulabschluss|mittlere reife|volksschule",
    "10th|grade 10",
    "11th|grade 11|some high school|some hs|incomplete secondary",
    "12th|grade 12|12th no diploma",
    "hs grad|high school|high school graduate|high school diploma|hs|hs diploma|secondary|secondary school|secondary education|"
    "upper secondary|upper secondary education|a level|a levels|ged|high school ged|isced 3|abitur|baccalaureate|hs or ged|high "
    "school or ged|matura|hsgrad|hochschulreife|allgemeine hochschulreife|fachhochschulreife|fachabitur",
    "some college|some university|some post secondary|incomplete tertiary|college no degree|some college no degree",
    "vocational|vocational training|apprenticeship|technical school|trade school|certificate|assoc voc|post secondary|"
    "post secondary non tertiary|isced 4|technical|professional training|"
    "ausbildung|berufsausbildung|lehre|meister",
    "assoc acdm|associate|associates|associate degree|associate s degree|associates degree|diploma|higher diploma|short cycle "
    "tertiary|isced 5|foundation degree|some higher education|2 year college",
    "tertiary|tertiary education|higher education|college|studium|hochschulabschluss",
    "bachelor|bachelors|bachelor s|bachelor degree|bachelors degree|bachelor s degree|ba|bs|bsc|ba bs|undergraduate|university|"
    "university degree|college degree|college graduate|isced 6|graduate|degree|undergraduate degree|4 year college|licence",
    "postgraduate|post graduate|postgraduate certificate|graduate school|graduate degree|advanced degree|postgraduate degree",
    "master|masters|master s|master degree|masters degree|master s degree|ma|ms|msc|mba|isced 7|ma ms|"
    "diplom|magister|staatsexamen",
    "prof school|professional|professional degree|professional school|jd|md",
    "doctorate|doctor|doctoral|phd|ph d|doctoral degree|doctorate degree|isced 8|dr|doctorate or professional degree|"
    "promotion",
    labels=(
        *(4 * (_PRIMARY,)),
        *(2 * (_LOWER,)),
        *(4 * (_UPPER,)),
        *(3 * (_SHORT,)),
        _BEYOND,
        *(5 * (_HIGH,)),
    ),
)

SCALES: tuple[OrdinalScale, ...] = (
    _scale(
        "agreement",
        "agreement",
        "opinion",
        "strongly disagree|completely disagree|totally disagree|fully disagree|disagree strongly|"
        "stimme gar nicht zu|stimme uberhaupt nicht zu|trifft gar nicht zu|trifft uberhaupt nicht zu",
        "disagree|somewhat disagree|rather disagree|mostly disagree|tend to disagree|disagree somewhat|"
        "stimme nicht zu|stimme eher nicht zu|trifft nicht zu|trifft eher nicht zu",
        "neutral|neither agree nor disagree|neither|undecided|no opinion|neither nor|"
        "teils teils|unentschieden|weder noch",
        "agree|somewhat agree|rather agree|mostly agree|tend to agree|agree somewhat|"
        "stimme zu|stimme eher zu|trifft zu|trifft eher zu",
        "strongly agree|completely agree|totally agree|fully agree|agree strongly|"
        "stimme voll zu|stimme voll und ganz zu|trifft voll zu|trifft voll und ganz zu",
    ),
    _scale(
        "satisfaction",
        "satisfaction",
        "opinion",
        "very dissatisfied|very unsatisfied|not at all satisfied|completely dissatisfied|extremely dissatisfied|"
        "sehr unzufrieden|vollig unzufrieden",
        "dissatisfied|unsatisfied|somewhat dissatisfied|rather dissatisfied|not satisfied|slightly dissatisfied|"
        "unzufrieden|eher unzufrieden",
        "neutral|neither satisfied nor dissatisfied|neither|indifferent|ok|teils teils|weder noch|neutral",
        "satisfied|somewhat satisfied|rather satisfied|fairly satisfied|slightly satisfied|zufrieden|eher zufrieden",
        "very satisfied|completely satisfied|extremely satisfied|sehr zufrieden|vollig zufrieden",
    ),
    _scale(
        "quality",
        "quality",
        "opinion",
        "very poor|very bad|terrible|awful|sehr schlecht",
        "poor|bad|unsatisfactory|below average|schlecht|mangelhaft",
        "fair|average|moderate|acceptable|sufficient|neither good nor bad|ok|needs improvement|"
        "mittel|mittelmassig|befriedigend|ausreichend|zufriedenstellend|weniger gut",
        "good|above average|satisfactory|meets expectations|gut",
        "very good|exceeds expectations|sehr gut",
        "excellent|outstanding|exceptional|ausgezeichnet|hervorragend",
    ),
    _scale(
        "frequency",
        "frequency",
        "habit",
        "never|not at all|none|nie|niemals",
        "rarely|seldom|hardly ever|almost never|occasionally|less than monthly|yearly|once a year|selten|fast nie",
        "sometimes|monthly|now and then|a few times a month|manchmal|gelegentlich",
        "often|frequently|weekly|regularly|several times a week|usually|oft|haufig|regelmassig",
        "very often|always|daily|almost always|every day|almost every day|sehr oft|immer|taglich|fast immer",
    ),
    _scale(
        "amount",
        "low to high",
        "level",
        "none|zero|nil|absent",
        "very low|extremely low|lowest",
        "low|lower",
        "medium low|lower middle|below middle",
        "medium|middle|moderate|normal|mid|average|intermediate",
        "medium high|upper middle|above middle",
        "high|upper|elevated",
        "very high|extremely high|highest|critical",
    ),
    _scale(
        "size",
        "sizes",
        "size",
        "xxs",
        "xs|extra small|very small|tiny|micro",
        "s|small",
        "m|medium|mid|middle|medium sized",
        "l|large|big",
        "xl|extra large|very large|huge",
        "xxl",
        "xxxl",
    ),
    _scale(
        "severity",
        "severity",
        "severity",
        "none|no|absent|no injury|uninjured",
        "minimal|minor|slight|light|very mild|possible|possible injury",
        "mild|non incapacitating|non incapacity|non serious",
        "moderate|medium",
        "severe|serious|major|incapacitating",
        "very severe|critical|life threatening|extreme",
        "fatal|dead|death|fatal injury|died",
    ),
    _scale(
        "importance",
        "importance",
        "opinion",
        "not at all important|unimportant|not important",
        "slightly important|somewhat important|a little important",
        "moderately important|neutral",
        "important|rather important",
        "very important|extremely important",
    ),
    _scale(
        "likelihood",
        "likelihood",
        "opinion",
        "very unlikely|extremely unlikely|definitely not",
        "unlikely|probably not|somewhat unlikely",
        "neutral|unsure|maybe|neither likely nor unlikely",
        "likely|probably|somewhat likely",
        "very likely|extremely likely|definitely|certain",
    ),
    _scale("rank", "ranks", "rank", "first|1st", "second|2nd", "third|3rd", "fourth|4th", "fifth|5th", "sixth|6th"),
    _scale(
        "seniority",
        "seniority",
        "occupation",
        "intern|trainee|apprentice|student",
        "junior|entry level|entry|associate",
        "mid|mid level|intermediate|regular|specialist",
        "senior|senior level",
        "lead|principal|team lead|staff",
        "manager|supervisor|head",
        "director|senior manager",
        "vp|vice president|executive|c level|ceo",
    ),
)

# --- bands of numbers -----------------------------------------------------------------------------------------------------

_NUMBER = r"[$€£]?\s*([0-9][0-9.,]*)\s*([kKmM]?)\s*(?:%|years?|yrs?|y|eur|usd|€|\$|kg|cm|days?|months?|hours?|h)?"
_BETWEEN = re.compile(
    rf"[\[(]?\s*{_NUMBER}\s*(?:-|–|—|to|until|bis|,|\.\.+|&lt;|<|and)\s*<?\s*{_NUMBER}\s*[\])]?", re.IGNORECASE
)
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|until|at most|younger than|bis)\s*{_NUMBER}", re.IGNORECASE)
_ABOVE = re.compile(
    rf"(?:(?:>=?|≥|over|above|more than|at least|older than|from|ab)\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:\+|plus|and (?:over|more|above|older|up)|or (?:more|over|older|above)|und mehr|u\.m\.))",
    re.IGNORECASE,
)
_ONE = re.compile(_NUMBER)
_MANY = {"k": 1_000.0, "m": 1_000_000.0}


def band(text: str) -> tuple[float, int] | None:
    """Where a band of numbers begins, and whether it is open below (-1), open above (1) or neither (0); None for other texts.

    >>> band("18-24"), band("65+"), band("under 18"), band("blue")
    ((18.0, 0), (65.0, 1), (18.0, -1), None)
    """
    bare = text.strip()
    for form, kind in ((_BELOW, -1), (_ABOVE, 1), (_BETWEEN, 0), (_ONE, 0)):
        found = form.fullmatch(bare)
        if found:
            parts = [part for part in found.groups() if part is not None]
            return _amount(parts[0], parts[1], parts[3:4]), kind
    return None


def _amount(digits: str, letter: str, upper: Sequence[str]) -> float:
    """The number that digits and a letter stand for; in `20-40k` the letter of the second number counts for both."""
    plain = digits.replace(",", "").rstrip(".")
    try:
        number = float(plain)
    except ValueError:
        number = float(plain.replace(".", ""))
    sign = (letter or (upper[0] if upper else "")).casefold()
    return number * _MANY.get(sign, 1.0)


def order_of_bands(values: Iterable[str]) -> tuple[str, ...] | None:
    """Bands of numbers in rising order; None where a value is none, or where all are single numbers.

    >>> order_of_bands(["65+", "18-24", "25-64", "<18"])
    ('<18', '18-24', '25-64', '65+')
    """
    listed = list(values)
    placed = [(band(value), value) for value in listed]
    if any(at is None for at, _ in placed) or all(_ONE.fullmatch(value.strip()) for value in listed):
        return None
    return tuple(value for _, value in sorted(placed, key=lambda pair: (_band_place(pair[0]), pair[1])))


def _band_place(at: tuple[float, int] | None) -> tuple[float, int]:
    """Below 18 comes before 18-24, and over 65 after 65."""
    start, kind = at or (0.0, 0)
    return (start, kind)
