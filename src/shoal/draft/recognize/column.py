"""The rules, in their order: what one column is, with one reason that a person can agree or disagree with."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shoal.data.date_format import DateFormat
from shoal.data.schema import Role
from shoal.data.type import Type
from shoal.draft.codes.countries import COUNTRIES
from shoal.draft.codes.diseases import DISEASES
from shoal.draft.codes.people import PEOPLE, names_sexes
from shoal.draft.codes.regions import CALENDAR, REGIONS, STATES
from shoal.draft.codes.scales import EDUCATION, SCALES, OrdinalScale, order_of_bands
from shoal.draft.codes.table import CodeList
from shoal.draft.codes.work import WORK
from shoal.draft.profile import FORMS, SHAPES, ColumnProfile, pattern_of
from shoal.draft.recognize.subjects import CODED, COUNTING, ITEMS, Subject, subjects_of
from shoal.engine.read.storage import DATE, Storage

TABLES: tuple[CodeList, ...] = (*CALENDAR, *STATES, *COUNTRIES, *DISEASES, *REGIONS, *WORK, *PEOPLE)
"""Every table of codes; of several that have all values of a column, the first is taken."""
FEW = 60
"""Numbers of which there are no more than this many different ones may be codes."""
FEW_ITEMS = 11
"""Steps of the longest scale on which questions are answered."""
MANY = 200
"""From this many different values on, codes of one form are described by their form and not listed."""
MOST_LISTED = 5_000
"""More values than this are not listed in a draft: nobody would read them."""

_ALIKE = {
    "country": {"country", "birth place"},
    "state": {"state", "region", "birth place", "city", "district"},
    "region": {"region", "district", "state", "city"},
    "diagnosis": {"diagnosis", "treatment"},
    "occupation": {"occupation", "employment"},
    "industry": {"employment", "occupation"},
    "month": {"month", "birth month", "event date"},
    "weekday": {"weekday", "day"},
    "marital": {"marital"},
    "blood": {"diagnosis"},
}
"""The subjects of names under which a table of codes is looked for."""
_ROLE_OF_CODES = {"diagnosis": Role.CONFIDENTIAL, "blood": Role.CONFIDENTIAL}
_CODED_SUBJECTS = frozenset(
    "sex race marital country state region city district occupation employment relationship insurance facility migration "
    "language diagnosis treatment belief justice military dwelling household education opinion habit performance".split()
) | {"birth place"}
"""Subjects whose numbers are codes where there are few of them."""
_COUNTED_SUBJECTS = frozenset(
    {"household", "dwelling", "stay", "tenure years", "hours", "habit", "treatment", "justice", "performance"}
)
"""Subjects that may be counted: rooms, children, visits."""
_OF_ONE_PERSON = frozenset(
    {"name", "id", "record id", "picture", "email", "phone", "address", "account", "device", "coordinates"}
)
"""Subjects whose values belong to one person or record each. People may be numbered and named, and have many rows each."""
_FREE_TEXT = "it holds free text, in which people write what nobody foresees"
_EITHER_WEIGHT = (("wt",), ("wgt",))
"""Names of survey weights that bodies have as well."""
_HEAVIEST = 1500
"""Pounds, and kilograms, that no body weighs."""
_EXAMPLE = dt.datetime(2024, 12, 31)  # noqa: DTZ001 - a date, wherever it is read
_UNITS = frozenset("cm mm km kg mg lb lbs eur euro usd chf gbp pct percent prozent".split())
"""Units of measured numbers, which may have a fraction."""
_IN_YEARS = frozenset({"years", "yrs", "yrseduc", "eduyears", "eduyrs"})
"""Words of names by which education is counted in years."""
_TIMES = frozenset("days hours weeks months years minutes times count cnt".split())
"""Words after which a number is a number."""


@dataclass(frozen=True)
class Recognition:
    """What a column was recognized as: its role and type, why, and by which codes or order."""

    role: Role
    type: Type | None
    reason: str
    subject: str | None = None
    codes: CodeList | None = None
    scale: OrdinalScale | None = None
    order: tuple[str, ...] | None = None
    """The values in their order, where they have one."""
    format: str | None = None
    other_format: str | None = None
    """Another form in which all dates read as well: a person has to say which is meant."""
    decimal: str | None = None
    by_name: bool = False
    """Whether the name alone says what the column is."""


def recognize(profile: ColumnProfile, words: tuple[str, ...], siblings: frozenset[str] = frozenset()) -> Recognition:
    """Recognize one column.

    Arguments  what was read off it; the words of its name; the subjects of the other columns' names.
    """
    subject = next((each for each in subjects_of(words) if _fits(each, profile)), None)
    for rule in (_unreadable, _of_its_form):
        found = rule(profile, subject)
        if found is not None:
            return found
    column = _Column(profile, words, subject, siblings)
    return column.recognize()


def recognize_type(profile: ColumnProfile) -> Recognition:
    """The type alone, whatever the column is about: for a column whose role somebody gave."""
    return _Column(profile, (), None, frozenset())._typed(None)  # noqa: SLF001 - a column of this module


def _fits(subject: Subject, profile: ColumnProfile) -> bool:
    """Whether values may be what a name says: words are no dates, and two values in all rows no telephone numbers."""
    if subject.key in _OF_ONE_PERSON and _few(profile):
        return False
    if subject.kind != "date" or not profile.looked_at or profile.constant:
        return True
    return profile.numeric or profile.years is not None or profile.storage in (Storage.DATE, Storage.MOMENT)


def _few(profile: ColumnProfile) -> bool:
    """Whether a few values are shared by all rows, so that they name groups rather than people."""
    return profile.looked_at and 1 < profile.distinct <= FEW and profile.present >= 10 * profile.distinct


def _unreadable(profile: ColumnProfile, subject: Subject | None) -> Recognition | None:
    """A column that tells nothing, or that no type reads."""
    if profile.storage is Storage.OTHER:
        return Recognition(Role.DROP, None, "it holds values that no type of a policy reads, such as lists")
    if profile.storage is Storage.NOTHING or (profile.looked_at and profile.present == 0):
        return Recognition(Role.DROP, None, "no row has a value")
    if profile.constant and profile.rows > 1 and profile.missing == 0:
        if subject is not None and subject.role is Role.IDENTIFIER:
            return Recognition(Role.IDENTIFIER, None, _by_name(subject), subject.key, by_name=True)
        return Recognition(Role.DROP, None, "every row has the same value, so it tells nothing", _key(subject))
    return None


def _of_its_form(profile: ColumnProfile, subject: Subject | None) -> Recognition | None:
    """Texts that are seen to be addresses or numbers of people, whatever the column is called."""
    if not profile.shapes or profile.readings & {"date", "datetime", *FORMS}:
        return None
    shape = next(shape for shape in SHAPES if shape in profile.shapes)
    if shape == "a point on the map" and profile.numeric:
        return None
    return Recognition(Role.IDENTIFIER, None, f"every value has the form of {shape}", _key(subject))


def _key(subject: Subject | None) -> str | None:
    return None if subject is None else subject.key


def _by_name(subject: Subject) -> str:
    what = subject.reason
    return f"by its name {what.removeprefix('is ')}" if what.startswith("is ") else f"by its name it {what}"


@dataclass(frozen=True)
class _Column:
    """One column while its rules are gone through."""

    profile: ColumnProfile
    words: tuple[str, ...]
    subject: Subject | None
    siblings: frozenset[str]

    def recognize(self) -> Recognition:
        subject = self.subject
        if subject is not None and subject.role is Role.WEIGHT:
            return self._weight(subject)
        if subject is not None and subject.kind in ("technical", "text"):
            dropped = self._dropped(subject)
            if dropped is not None:
                return dropped
        if subject is not None and subject.role is Role.IDENTIFIER:
            named = self._identifier(subject)
            if named is not None:
                return named
            subject = None
        found = self._typed(subject)
        if subject is None:
            return self._without_subject(found)
        unique = self._unique() if subject.key in _CODED_SUBJECTS and found.type is Type.INTEGER else None
        if unique is not None:
            return unique
        if found.codes is not None and subject.role is Role.QUASI and found.codes.meaning in _ROLE_OF_CODES:
            found = replace(found, role=_ROLE_OF_CODES[found.codes.meaning])
        reason = _by_name(subject)
        if found.codes is not None:
            reason += f"; its values are {found.codes.words}"
        return self._unlisted(replace(found, reason=reason, by_name=True))

    # --- subjects with rules of their own ---------------------------------------------------------------------------

    def _weight(self, subject: Subject) -> Recognition:
        """A survey weight is a number that is never negative; `weight` or `wt` alone is a body's where others speak of bodies."""
        middle = None if self.profile.quantiles is None else self.profile.quantiles[2]
        either = subject.key == "weight or body weight" or self.words in _EITHER_WEIGHT
        bodily = bool(self.siblings & {"body", "measurement", "diagnosis"}) and (middle is None or middle >= 10)
        if not self.profile.whole and (self.profile.highest or 0) > _HEAVIEST:
            bodily = False  # grams are whole numbers
        found = self._typed(subject)
        if either and bodily:
            reason = "by its name a weight, and other columns are about bodies: people see it"
            return replace(found, role=Role.QUASI, subject="body", reason=reason, by_name=True)
        if found.type not in (Type.INTEGER, Type.DECIMAL) or (self.profile.lowest or 0) < 0:
            return self._without_subject(replace(found, subject=None))
        reason = f"{_by_name(subject)}, which tells how somebody was sampled; no count uses it"
        return replace(found, role=Role.WEIGHT, subject="weight", reason=reason, by_name=True)

    def _dropped(self, subject: Subject) -> Recognition | None:
        """Remarks and technical columns; `description` of ten values is a category like others."""
        short = self.profile.looked_at and self.profile.distinct <= FEW and self.profile.mean_words < 4
        if subject.kind == "text" and (short or self.profile.numeric):
            return None
        return Recognition(Role.DROP, None, _by_name(subject), subject.key, by_name=True)

    def _identifier(self, subject: Subject) -> Recognition | None:
        """What names people; a column that is called `name` or `id` and has few values names groups."""
        if subject.key == "coordinates" and self.profile.looked_at and not self.profile.numeric:
            return None
        if subject.kind == "name" and (
            self.profile.years is not None or self.profile.storage in (Storage.DATE, Storage.MOMENT)
        ):
            return None  # `last_login` is when, and not who
        return Recognition(Role.IDENTIFIER, None, _by_name(subject), subject.key, by_name=True)

    # --- without a subject ------------------------------------------------------------------------------------------

    def _without_subject(self, found: Recognition) -> Recognition:
        """A column whose name says nothing: its values decide, and the cautious choice where they do not."""
        profile = self.profile
        if found.codes is not None:
            role = _ROLE_OF_CODES.get(found.codes.meaning, Role.QUASI)
            return replace(found, role=role, subject=found.codes.meaning, reason=f"its values are {found.codes.words}")
        if not profile.looked_at:
            reason = "its name says nothing that is known here: taken for known to others"
            return replace(found, role=Role.QUASI, reason=reason)
        if names_sexes(set(profile.values())):
            return replace(found, role=Role.QUASI, subject="sex", reason="its values are the sexes")
        if self._free_text():
            return Recognition(Role.DROP, None, _FREE_TEXT)
        form = _second_spelling(profile)
        if form is not None and found.type in (Type.CATEGORY, Type.TEXT):
            reason = (
                f"it holds dates in two spellings, 2024-12-31 and {DateFormat(form).spell(_EXAMPLE)}: spell them alike, or, "
                f'where the first are dates of a workbook, write type: date, format: "{form}"'
            )
            return replace(found, role=Role.QUASI, reason=reason)
        return self._unique() or self._by_values(found)

    def _by_values(self, found: Recognition) -> Recognition:
        """What the values of a column look like, if nothing says what they are."""
        if found.scale is not None:
            opinion = found.scale.meaning in ("opinion", "habit", "severity")
            role = Role.CONFIDENTIAL if opinion else Role.QUASI
            return replace(found, role=role, reason=f"its values are steps of a scale ({found.scale.words})")
        if self._item():
            return replace(found, role=Role.CONFIDENTIAL, reason="it is named and valued like an answer on a scale")
        if found.type in (Type.DATE, Type.DATETIME):
            return replace(found, role=Role.QUASI, reason="it holds dates, and others may know what happened when")
        if found.type in (Type.INTEGER, Type.DECIMAL):
            reason = "it holds numbers, which are rather wanted than known"
            return replace(found, role=Role.CONFIDENTIAL, reason=reason)
        reason = "nothing says what it is: taken for known to others, the cautious choice"
        return self._unlisted(replace(found, role=Role.QUASI, reason=reason))

    def _free_text(self) -> bool:
        """Long texts of several words, most of which occur once."""
        profile = self.profile
        various = profile.distinct > max(20, 0.3 * profile.present)
        return profile.storage is Storage.TEXT and various and profile.mean_words >= 4 and profile.mean_length >= 20

    def _unique(self) -> Recognition | None:
        """A value of its own in nearly every row names the row, unless it is a measured number or a date."""
        profile = self.profile
        if profile.counting and profile.rows > 20:
            return Recognition(Role.IDENTIFIER, None, "it counts the rows")
        if not profile.near_unique or profile.years is not None:
            return None
        if not profile.numeric:
            return Recognition(Role.IDENTIFIER, None, "nearly every row has a value of its own, which names it")
        low, high = profile.lowest or 0.0, profile.highest or 0.0
        long = profile.whole and low >= 100_000 and len(f"{low:.0f}") == len(f"{high:.0f}")
        dense = profile.whole and profile.present > 20 and low >= 0 and high - low < 1.5 * profile.present
        if long or dense or profile.leading_zero:
            return Recognition(Role.IDENTIFIER, None, "nearly every row has a whole number of its own, all of one kind")
        return None

    def _item(self) -> bool:
        """A question of a questionnaire, answered by a small whole number."""
        named = bool(set(self.words) & ITEMS) or (
            len(self.words) == 2 and len(self.words[0]) <= 2 and self.words[1].isdigit()
        )
        return named and self._few_steps()

    def _few_steps(self) -> bool:
        """Whole numbers that could be the steps of a scale, 0 to 10 at most."""
        profile = self.profile
        low, high = profile.lowest, profile.highest
        ends = low is not None and high is not None and 0 <= low <= 1 and 2 < high <= 10
        return profile.whole and ends and 3 <= profile.distinct <= FEW_ITEMS

    # --- type -----------------------------------------------------------------------------------------------------------

    def _typed(self, subject: Subject | None) -> Recognition:
        """The type, with the codes or the order behind it; the role is that of the subject, quasi where there is none."""
        role = Role.QUASI if subject is None else subject.role
        base = Recognition(role, None, "", _key(subject))
        profile = self.profile
        if not profile.looked_at and profile.storage is Storage.TEXT:
            return replace(base, type=_type_of_name(subject, self.words))
        if profile.storage is Storage.BOOLEAN:
            return replace(base, type=Type.BOOLEAN)
        if profile.storage in (Storage.DATE, Storage.MOMENT):
            days = profile.storage is Storage.DATE or profile.midnight
            return replace(base, type=Type.DATE if days else Type.DATETIME)
        dated = self._dated(base, subject)
        if dated is not None:
            return dated
        if profile.numeric:
            return self._numeric(base, subject)
        return self._worded(base, subject)

    def _dated(self, base: Recognition, subject: Subject | None) -> Recognition | None:
        """Dates and times that are stored as text."""
        readings = self.profile.readings
        if "date" in readings:
            return replace(base, type=Type.DATE)
        if "datetime" in readings:
            return replace(base, type=Type.DATETIME)
        forms = [form for form in FORMS if form in readings]
        digits = "integer" in readings
        if not forms or (digits and (subject is None or subject.kind != "date")):  # 20240131 may be a number
            return None
        kind = Type.DATETIME if "%H" in forms[0] or "%I" in forms[0] else Type.DATE
        other = next((form for form in forms[1:] if _alike(form, forms[0])), None)
        return replace(base, type=kind, format=forms[0], other_format=other)

    def _numeric(self, base: Recognition, subject: Subject | None) -> Recognition:
        """Numbers: measured, counted, or codes that only look like numbers."""
        profile = self.profile
        comma = profile.storage is Storage.TEXT and not profile.readings & {"integer", "decimal"}
        decimal = "," if comma else None
        if not profile.looked_at:
            return replace(base, type=Type.INTEGER if profile.storage is Storage.INTEGER else Type.DECIMAL)
        codes = self._codes(subject) if profile.whole or profile.storage is Storage.TEXT else None
        if codes is not None:
            return replace(base, type=self._code_type(), codes=codes)
        if profile.leading_zero or (profile.whole and subject is not None and subject.kind == "code"):
            return replace(base, type=self._code_type())
        if self._is_truth(subject):
            return replace(base, type=Type.BOOLEAN)
        if profile.whole and (self._item() or self._steps(subject)):
            return replace(base, type=Type.ORDINAL if profile.storage is not Storage.FLOAT else Type.INTEGER)
        if profile.whole and self._coded(subject):
            return replace(base, type=self._code_type())
        whole = "integer" in profile.readings if profile.storage is Storage.TEXT else profile.whole
        return replace(base, type=Type.INTEGER if whole else Type.DECIMAL, decimal=decimal)

    def _is_truth(self, subject: Subject | None) -> bool:
        """0 and 1, neither of them a code of two kinds of people."""
        if self.profile.storage is Storage.FLOAT or self.profile.gaps:
            return False
        return set(self.profile.counts or ()) == {"0", "1"} and _key(subject) not in ("sex", "race", "marital")

    def _steps(self, subject: Subject | None) -> bool:
        """Levels of education, grades and opinions that are numbered."""
        if subject is None or set(self.words) & COUNTING - {"num", "number", "no"}:
            return False
        if subject.key == "education":
            return self.profile.distinct <= 25 and not set(self.words) & _IN_YEARS
        counted = subject.key == "performance" and self.profile.lowest == 0  # absences, failures
        return subject.key in ("opinion", "performance") and self._few_steps() and not counted

    def _coded(self, subject: Subject | None) -> bool:
        """Whole numbers that stand for something else than a number."""
        profile = self.profile
        words = set(self.words)
        few = profile.distinct <= FEW
        key = _key(subject)
        if words & (_TIMES | _IN_YEARS):
            return False
        if key in _COUNTED_SUBJECTS and not words & CODED and (profile.lowest or 0) >= 0 and not _one_or_two(profile):
            return False
        if key in _CODED_SUBJECTS:
            return (few or bool(words & CODED)) and profile.distinct <= MOST_LISTED
        if subject is not None and subject.kind in ("number", "count", "money", "year", "month", "date"):
            return False
        return few and (bool(words & CODED) or _one_or_two(profile)) and not words & (COUNTING - {"no"})

    def _code_type(self) -> Type:
        """Codes are categories; described by their form where they are many. Floating point numbers cannot be either."""
        if self.profile.storage is Storage.FLOAT:
            return Type.INTEGER
        return Type.TEXT if self._has_form() else Type.CATEGORY

    def _has_form(self) -> bool:
        """Whether values are so many that their common form describes them better than a list."""
        profile = self.profile
        many = profile.distinct > MANY or (self.subject is not None and self.subject.key == "postal code")
        return many and (profile.pattern is not None or self._digits() is not None)

    def _digits(self) -> int | None:
        """How many digits all whole numbers have, where they are stored as numbers."""
        low, high = self.profile.lowest, self.profile.highest
        if self.profile.storage is not Storage.INTEGER or low is None or high is None or low < 1:
            return None
        digits = len(f"{high:.0f}")
        return digits if len(f"{low:.0f}") == digits else None

    def _worded(self, base: Recognition, subject: Subject | None) -> Recognition:
        """Texts: truth values, steps of a scale, codes, or plain categories."""
        profile = self.profile
        values = profile.values()
        if "boolean" in profile.readings and not profile.gaps and profile.distinct == 2:
            return replace(base, type=Type.BOOLEAN)
        codes = self._codes(subject)
        if codes is not None:
            order = None
            if codes.ordered and codes.codes is not None and not profile.gaps and codes.domain_of(values) is not None:
                order = codes.codes
            return replace(base, type=Type.CATEGORY if order is None else Type.ORDINAL, codes=codes, order=order)
        for scale in (EDUCATION, *SCALES):
            order = scale.order(values) if 2 < len(values) <= FEW else None
            if order is not None:
                kind = Type.ORDINAL if not profile.gaps else Type.CATEGORY
                return replace(base, type=kind, scale=scale, order=order)
        bands = order_of_bands(values) if 2 < len(values) <= FEW else None
        if bands is not None:
            return replace(base, type=Type.ORDINAL if not profile.gaps else Type.CATEGORY, order=bands)
        return replace(base, type=Type.TEXT if self._has_form() else Type.CATEGORY)

    def _codes(self, subject: Subject | None) -> CodeList | None:
        """The table of codes that has the values, if the name agrees or there are enough of them to be sure."""
        values = self.profile.values()
        if len(values) < 2:
            return None
        key = _key(subject)
        for table in TABLES:
            named = key in _ALIKE.get(table.meaning, {table.meaning})
            sure = table.least and len(values) >= table.least and subject is None and not self._numbered(table, values)
            if (named or sure) and table.recognizes(values) and self._plausible(table, values):
                return table
        return None

    def _plausible(self, table: CodeList, values: Iterable[str]) -> bool:
        """Two or three small numbers are no occupations, whatever the column is called."""
        if not table.key.startswith(("isco", "nace", "us-state-numbers", "iso-3166-numbers")):
            return True
        marked = bool(set(self.words) & {"isco", "nace", "fips", "iso", "fip", "statefip", "soc"})
        return marked or (len({*values}) >= 12 and table.key.startswith(("isco-08-4", "isco-08-3", "nace-4")))

    def _numbered(self, table: CodeList, values: Sequence[str]) -> bool:
        """Whether values that have the form of codes rather number rows or people: `F000017` is no diagnosis."""
        if table.codes is not None or table.meaning != "diagnosis":
            return False
        alike = len({value[:1] for value in values}) == 1 and len({len(value) for value in values}) == 1
        return self.profile.near_unique or (alike and len(values[0]) > 4 and "." not in "".join(values))

    # --- what cannot be listed ------------------------------------------------------------------------------------------

    def _unlisted(self, found: Recognition) -> Recognition:
        """Texts that are too many for a list and have no form: without a domain nothing can be promised, so they are dropped."""
        profile = self.profile
        if found.type is not Type.CATEGORY or not profile.looked_at:
            return found
        if self._free_text():
            return replace(
                found,
                role=Role.DROP,
                type=None,
                reason="it holds free text, in which people write what nobody foresees",
            )
        if profile.near_unique:
            reason = "nearly every row has a value of its own, which names it"
            return replace(found, role=Role.IDENTIFIER, type=None, reason=reason)
        if profile.counts is None or profile.distinct > MOST_LISTED:
            why = f"it has about {profile.distinct:,} different texts of no common form, too many to declare"
            return replace(found, role=Role.DROP, type=None, reason=f"{found.reason}; {why}")
        return found


def _one_or_two(profile: ColumnProfile) -> bool:
    """Two kinds that are numbered 1 and 2."""
    return set(profile.counts or ()) == {"1", "2"}


def _second_spelling(profile: ColumnProfile) -> str | None:
    """The form in which the rest of a column's texts are dates, where some are dates as 2024-12-31."""
    if profile.storage is not Storage.TEXT or not profile.looked_at:
        return None
    iso = re.compile(rf"\s*({DATE})\s*")
    values = profile.values()
    others = [value for value in values if not iso.fullmatch(value)]
    if not others or len(others) == len(values):
        return None
    forms = (form for form in FORMS if "%H" not in form and "%I" not in form)
    return next((form for form in forms if all(_is_date(value, form) for value in others)), None)


def _is_date(text: str, form: str) -> bool:
    return re.fullmatch(rf"(?i)\s*{pattern_of(form)}\s*", text) is not None


def _alike(one: str, other: str) -> bool:
    """Whether two date formats differ in the order of day and month alone."""
    return one != other and sorted(one) == sorted(other)


def _type_of_name(subject: Subject | None, words: Sequence[str]) -> Type:
    """The type that a name suggests where no value was looked at."""
    kind = "" if subject is None else subject.kind
    if (subject is not None and subject.role is Role.WEIGHT) or set(words) & _UNITS:
        return Type.DECIMAL
    if subject is not None and subject.key == "timestamp":
        return Type.DATETIME
    numbers = {
        "number": Type.INTEGER,
        "count": Type.INTEGER,
        "year": Type.INTEGER,
        "month": Type.INTEGER,
        "money": Type.DECIMAL,
    }
    return numbers.get(kind, Type.DATE if kind == "date" else Type.TEXT if kind == "code" else Type.CATEGORY)
