"""The made-up world behind the visits: diagnoses in a tree, regions with postcodes, departments, and what hangs together.

Everything is ours: no name here is a real disease, place or hospital, and no number was taken from one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CHAPTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("A", "Breath", ("Winter lung", "Dust lung", "Short wind")),
    ("B", "Heart and vessels", ("Racing heart", "Stiff vessels", "Weak pump")),
    ("C", "Digestion", ("Sour stomach", "Slow gut", "Tired liver")),
    ("D", "Bones and joints", ("Broken limb", "Worn hip", "Stiff back")),
    ("E", "Skin", ("Itching", "Slow wound")),
    ("F", "Mind", ("Low mood", "Unrest", "Craving")),
    ("G", "Nerves", ("Headache", "Tremor")),
    ("H", "Growth", ("Benign knot", "Fast knot", "Blood growth")),
    ("J", "Sugar and glands", ("Sweet blood", "Quick gland")),
    ("K", "Kidney and water", ("Stone", "Slow filter", "Fever water")),
    ("L", "Birth", ("Delivery", "Early pains", "Newborn care")),
    ("M", "Senses", ("Clouded eye", "Ringing ear")),
    ("N", "Fever", ("Summer fever", "Old fever", "Travel fever")),
    ("P", "Poison and burns", ("Burn", "Poison")),
    ("R", "Rare", ("Silver disease", "Glass disease", "Moon disease")),
)
"""Letter, chapter, blocks. Each block has three codes, the last of them rare."""

CODES_PER_BLOCK = 3
CHAPTER_OF = np.array([i for i, (_, _, blocks) in enumerate(CHAPTERS) for _ in range(CODES_PER_BLOCK * len(blocks))])
FIRST_CODE = np.searchsorted(CHAPTER_OF, np.arange(len(CHAPTERS)))
CODES = tuple(
    f"{letter}{block}{code}"
    for letter, _, blocks in CHAPTERS
    for block in range(1, len(blocks) + 1)
    for code in range(1, CODES_PER_BLOCK + 1)
)

REGIONS: tuple[tuple[str, str, float, float], ...] = (
    ("Alder", "North", 0.210, 1.15),
    ("Birch", "North", 0.160, 0.95),
    ("Cedar", "South", 0.140, 1.05),
    ("Dogwood", "South", 0.110, 0.80),
    ("Elm", "East", 0.095, 0.90),
    ("Fir", "East", 0.080, 0.85),
    ("Gorse", "West", 0.065, 1.00),
    ("Hazel", "West", 0.050, 1.35),
    ("Ivy", "Islands", 0.040, 0.90),
    ("Juniper", "South", 0.030, 0.75),
    ("Kelp", "Islands", 0.0194, 0.85),
    ("Larch", "Islands", 0.0006, 1.10),
)
"""Region, part of the country, share of the people, level of income. Larch is tiny on purpose."""

ZIPS_PER_REGION = 60
ZIPS = tuple(f"{8 * i + 3:02d}{j:02d}{(3 * j + i) % 10}" for i in range(len(REGIONS)) for j in range(ZIPS_PER_REGION))
"""Five digits; the first two name the region, and some begin with a nought."""

DEPARTMENTS = (
    "Emergency", "Internal medicine", "Surgery", "Paediatrics", "Maternity",
    "Psychiatry", "Neurology", "Oncology", "Eye and ear", "Rehabilitation",
)  # fmt: skip
DEPARTMENT_OF_CHAPTER = np.array([1, 1, 1, 2, 1, 5, 6, 7, 1, 1, 4, 8, 1, 0, 1])
STAY_OF_CHAPTER = np.array([3.0, 4.0, 2.5, 5.0, 0.8, 9.0, 3.0, 7.0, 2.0, 2.0, 2.5, 0.4, 4.0, 3.0, 12.0])

INSURANCES = ("public", "private", "company", "none")
SEXES = ("female", "male", "other")

AGES = 111
AGE_GROUPS = 7
AGE_GROUP = np.digitize(np.arange(AGES), [2, 16, 30, 45, 60, 78])
SEASONS = 4

_CHAPTER_BY_AGE = np.array(
    # under 2, to 15, to 29, to 44, to 59, to 77, older
    [
        [9.0, 7.0, 3.0, 2.5, 3.5, 6.0, 9.0],  # A breath
        [0.2, 0.2, 0.6, 2.0, 6.0, 11.0, 14.0],  # B heart
        [3.0, 3.0, 3.0, 4.0, 5.0, 5.0, 4.0],  # C digestion
        [1.0, 6.0, 5.0, 4.0, 5.0, 7.0, 9.0],  # D bones
        [2.0, 3.0, 2.0, 1.5, 1.5, 1.5, 2.0],  # E skin
        [0.1, 1.0, 4.0, 4.0, 3.0, 1.5, 1.0],  # F mind
        [0.5, 1.0, 2.0, 2.5, 2.5, 3.0, 4.0],  # G nerves
        [0.2, 0.4, 0.6, 1.5, 4.0, 7.0, 5.0],  # H growth
        [0.3, 0.8, 1.0, 1.5, 3.0, 4.0, 3.5],  # J sugar
        [0.8, 0.8, 1.5, 2.0, 3.0, 4.0, 5.0],  # K kidney
        [8.0, 0.1, 7.0, 7.0, 0.3, 0.0, 0.0],  # L birth
        [1.0, 2.5, 1.0, 1.0, 2.0, 4.0, 5.0],  # M senses
        [4.0, 3.5, 2.0, 1.5, 1.5, 2.0, 2.5],  # N fever
        [1.0, 1.5, 1.2, 1.0, 0.8, 0.5, 0.5],  # P poison
        [0.02, 0.02, 0.01, 0.01, 0.01, 0.02, 0.02],  # R rare
    ]
)


@dataclass(frozen=True)
class Chances:
    """Rows of probabilities to draw from, laid end to end, so that one search draws for every row at once."""

    edges: Floats
    width: int

    @classmethod
    def of(cls, weights: Floats) -> Chances:
        """One distribution in each row of the weights."""
        table = np.atleast_2d(weights)
        running = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
        running[:, -1] = 1.0
        return cls((running + np.arange(len(table))[:, None]).ravel(), table.shape[1])

    def draw(self, uniform: Floats, row: npt.NDArray[np.integer] | int = 0) -> npt.NDArray[np.int64]:
        """The value that each uniform number picks from its row."""
        found = np.searchsorted(self.edges, uniform + row, side="right") - row * self.width
        return np.minimum(found, self.width - 1)  # a sum that was rounded up to the next row


@cache
def ages() -> Chances:
    """A broad middle, many of the old (they are ill more often), and a handful past a hundred."""
    age = np.arange(AGES, dtype=np.float64)
    weights = 0.6 + 1.2 * (age < 2) + 1.3 * np.exp(-(((age - 34) / 16) ** 2)) + 1.7 * np.exp(-(((age - 68) / 13) ** 2))
    weights[90:] = 0.4 * np.exp(-0.42 * (age[90:] - 90))
    return Chances.of(weights)


@cache
def chapters() -> Chances:
    """Chapter by age group, season and sex: births are women's, winter is for the lungs, summer for the fever."""
    table = np.repeat(_CHAPTER_BY_AGE.T[:, None, None, :], SEASONS, axis=1).repeat(len(SEXES), axis=2)
    table[:, :, :, 0] *= np.array([1.8, 1.0, 0.6, 1.1])[None, :, None]
    table[:, :, :, 12] *= np.array([0.7, 1.0, 1.6, 1.0])[None, :, None]
    table[1:, :, 1, 10] = 0.0
    table[:, :, 1, 1] *= 1.4
    return Chances.of(table.reshape(-1, len(CHAPTERS)))


@cache
def codes() -> Chances:
    """Place in its chapter: common blocks first, and in every block a rare third code."""
    most = max(len(blocks) for _, _, blocks in CHAPTERS)
    table = np.zeros((len(CHAPTERS), CODES_PER_BLOCK * most))
    for chapter, (_, _, blocks) in enumerate(CHAPTERS):
        weights = np.outer(1.0 / np.arange(1, len(blocks) + 1), [1.0, 0.35, 0.004]).ravel()
        table[chapter, : len(weights)] = weights
    return Chances.of(table)


@cache
def towns() -> Chances:
    """Place in its region: a large town and many villages."""
    return Chances.of(np.arange(1, ZIPS_PER_REGION + 1, dtype=np.float64) ** -1.1)


@cache
def days() -> tuple[Chances, npt.NDArray[np.int64]]:
    """Days of 2024 to 2026 with a quiet summer and quiet weekends, and the season of each."""
    calendar = np.datetime64("2024-01-01") + np.arange(1096)
    weekday = (calendar.astype("datetime64[D]").astype(np.int64) + 3) % 7
    month = calendar.astype("datetime64[M]").astype(np.int64) % 12
    weights = 1.0 + 0.18 * np.cos(2 * np.pi * month / 12) - 0.45 * (weekday >= 5)
    return Chances.of(weights), ((month + 1) % 12) // 3
