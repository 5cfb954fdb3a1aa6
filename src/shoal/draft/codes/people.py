"""Words for people: sex, marital status, blood groups; what groups there are above the words that tables use."""

from __future__ import annotations

from shoal.draft.codes.table import CodeList, Labels, listed, plain_words

_SEX = frozenset(
    "m f male female man woman men women boy girl males females mann frau mannlich weiblich w homme femme hombre mujer h "
    "masculino femenino maschio femmina other diverse divers nonbinary x trans intersex".split()
) | {"non binary", "not specified", "prefer not to say", "non conforming"}
_SEXES = (
    {"m", "f"},
    {"male", "female"},
    {"man", "woman"},
    {"men", "women"},
    {"boy", "girl"},
    {"m", "w"},
    {"mannlich", "weiblich"},
    {"homme", "femme"},
    {"h", "f"},
    {"hombre", "mujer"},
    {"masculino", "femenino"},
    {"males", "females"},
)
MARITAL = (
    ("formerly married", ("divorc", "separat", "widow", "dissolved", "former", "geschied", "verwitw", "getrennt")),
    ("never married", ("never", "single", "unmarried", "not married", "bachelor", "ledig")),
    (
        "married or in partnership",
        ("married", "partner", "cohabit", "common law", "civil union", "union", "wed", "verheirat", "verpart"),
    ),
)


def marital_labels(word: str) -> Labels | None:
    """Whether a word says married, formerly married or never married; None where it says neither.

    >>> marital_labels("Never-married"), marital_labels("Married-civ-spouse")
    (('never married',), ('married or in partnership',))
    """
    text = plain_words(word)
    return next(((label,) for label, stems in MARITAL if any(stem in text for stem in stems)), None)


def names_sexes(values: set[str]) -> bool:
    """Whether values are the two sexes in one of the usual spellings, with what may stand beside them.

    >>> names_sexes({"Male", "Female", "Other"}), names_sexes({"F", "G"})
    (True, False)
    """
    found = {plain_words(value) for value in values}
    return any(pair <= found for pair in _SEXES) and found <= _SEX


_BLOOD = ("O-", "O+", "A-", "A+", "B-", "B+", "AB-", "AB+")

PEOPLE: tuple[CodeList, ...] = (
    CodeList("marital-status", "words for marital status", "marital", marital_labels, share=0.8),
    listed(
        "blood-groups",
        "blood groups",
        "blood",
        {group: (group.rstrip("+-"),) for group in _BLOOD},
        complete=True,
        least=4,
        spelled=False,
    ),
)
