"""What can be learned from rows: models trained on the release and tested on originals, and whether a model tells both apart.

    prediction        one column is predicted from the others by three models; each is trained once on the originals and once on
                      the release, and tested on originals that neither training saw. Without a control group the originals are
                      parted for that; the release was made of all of them, so that its figure may then be too good
    telling apart     a model is trained to tell rows of the release from rows of the original (Snoke et al. 2018); what is
                      reported is by how much its mean square error on rows that it was not trained on is below the 1/4 of
                      guessing: 0 where it cannot tell them apart, 1/4 where it always can

A label that stands for several values is used as what it is where models are trained: shares of names, the expected number. Where
tables are told apart each label is replaced by a part that is drawn from its distribution: coarse labels alone are no sign.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.assess.comparison.parts import Floats, Ints
from shoal.assess.comparison.table import ComparableColumn, ComparableTable
from shoal.assess.quantity import LEVEL, Quantity, rate_bounds
from shoal.chance.source import Source
from shoal.errors import UsageError

MOST_TRAINING = 10_000
MOST_TESTS = 10_000
MOST_CLASSES = 12
"""Classes of a target; the rarer ones are one."""
MODELS = ("logistic regression", "random forest", "gradient boosting")


@dataclass(frozen=True)
class Prediction:
    """How well one model predicts the target: area under the ROC curve, trained on originals and on the release."""

    model: str
    original: Quantity
    released: Quantity
    """0.5 is guessing."""

    @property
    def loss(self) -> float:
        """How much of the area is lost."""
        return self.original.value - self.released.value


@dataclass(frozen=True)
class Learning:
    """Predictions of one column from all others."""

    target: str
    classes: tuple[str, ...]
    trained: tuple[int, int]
    """Rows of the originals and of the release that models were trained on."""
    tested: int
    control: bool
    """Whether the test records took no part in the release."""
    models: tuple[Prediction, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        found = asdict(self)
        found["models"] = [
            {
                "model": one.model,
                "original": one.original.to_json(),
                "released": one.released.to_json(),
                "loss": one.loss,
            }
            for one in self.models
        ]
        return found


def learn(
    original: ComparableTable,
    released: ComparableTable,
    target: str,
    source: Source,
    *,
    control: ComparableTable | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Learning | None:
    """Train three models on both tables and test them on originals; None where there is too little to learn from.

    Arguments  `target`: the column that is predicted; `control`: originals that took no part in the release
    Raises     UsageError where the target is no column of both tables
    """
    if target not in original.names or target not in released.names:
        raise UsageError("the target is no column of both tables", came=target, allowed=", ".join(released.names))
    names = [name for name in released.names if name != target]
    order = source.permutation(original.rows)
    if control is None:
        cut = max(1, (3 * original.rows) // 10)
        testing, training = original.take(order[:cut][:MOST_TESTS]), original.take(order[cut:][:MOST_TRAINING])
    else:
        testing = control.take(source.permutation(control.rows)[:MOST_TESTS])
        training = original.take(order[:MOST_TRAINING])
    given = released.take(source.permutation(released.rows)[:MOST_TRAINING])
    grouping, classes = _classes(original[target])
    truth = grouping[testing[target].likeliest]
    labels = [grouping[_drawn_parts(table[target], source)] for table in (training, given)]
    if not names or any(len(np.unique(own[own >= 0])) < 2 for own in (truth, *labels)):
        return None
    features = [_features(table, names) for table in (training, given, testing)]
    kept = truth >= 0
    found = []
    for model in MODELS:
        scores = []
        for own, label in zip(features[:2], labels, strict=True):
            scores.append(_train(model, own[label >= 0], label[label >= 0], features[2][kept], len(classes)))
            tick()
        said = (
            f"area under the ROC curve of {model}, {int(kept.sum()):,} test records (interval of DeLong, approximate)"
        )
        quantities = [_area(truth[kept], score, said) for score in scores]
        found.append(Prediction(model, quantities[0], quantities[1]))
    return Learning(target, classes, (training.rows, given.rows), int(kept.sum()), control is not None, tuple(found))


def _classes(column: ComparableColumn) -> tuple[Ints, tuple[str, ...]]:
    """The class of each part of a target, −1 for the missing value: names, the rare ones together; numbers above the median."""
    parts, share = column.parts, np.bincount(column.likeliest, minlength=len(column.parts))
    if parts.numeric and np.count_nonzero(share[:-1]) > 2:
        cut = int(np.searchsorted(np.cumsum(share[:-1]), share[:-1].sum() / 2))
        cut = min(max(cut, 0), len(parts) - 3)
        grouping = np.where(np.arange(len(parts)) <= cut, 0, 1)
        grouping[-1] = -1
        return grouping, (f"up to '{parts.labels[cut]}'", f"from '{parts.labels[cut + 1]}' on")
    ranked = [part for part in np.argsort(-share[:-1], kind="stable").tolist() if share[part]]
    grouping = np.full(len(parts), -1, dtype=np.int64)
    own = ranked if len(ranked) <= MOST_CLASSES else ranked[: MOST_CLASSES - 1]
    for number, part in enumerate(own):
        grouping[part] = number
    names = [parts.labels[part] for part in own]
    if len(ranked) > len(own):
        grouping[ranked[len(own) :]] = len(own)
        names.append("(rarer values)")
    return grouping, tuple(names)


def _drawn_parts(column: ComparableColumn, source: Source) -> Ints:
    """A part for each row, drawn from the distribution of its label."""
    if column.certain:
        return column.likeliest
    heights = np.cumsum(column.shares, axis=1)[column.codes]
    uniform = (source.words(len(column)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.asarray(np.minimum((uniform[:, None] >= heights).sum(axis=1), len(column.parts) - 1))


def _features(table: ComparableTable, names: Sequence[str]) -> Floats:
    """Numbers as expected numbers with a mark for missing ones, names as shares of their parts."""
    found = []
    for name in names:
        column = table[name]
        if column.parts.numeric:
            numbers, (low, high) = column.numbers, column.parts.ends
            gone = np.isnan(numbers)
            found += [np.where(gone, 0.5, (numbers - low) / max(high - low, 1e-300))[:, None], gone[:, None]]
            found.append(column.shares[column.codes])
        else:
            found.append(column.shares[column.codes])
    return np.concatenate(found, axis=1).astype(np.float32)


def _train(model: str, features: Floats, labels: Ints, tests: Floats, classes: int) -> Floats:
    """The probability of each class for the test records."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    made: Any = {
        "logistic regression": lambda: LogisticRegression(max_iter=100),
        "random forest": lambda: RandomForestClassifier(
            50, min_samples_leaf=5, max_samples=0.5, random_state=0, n_jobs=1
        ),
        "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0, early_stopping=False),
    }[model]()
    found = np.zeros((len(tests), classes))
    # Threads that wait for each other cost more than they bring at this size.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # a regression that has not converged is scored as it is
        made.fit(features, labels)
        found[:, made.classes_] = made.predict_proba(tests)
    return found


def _area(truth: Ints, scores: Floats, said: str) -> Quantity:
    """The area under the ROC curve, each class against the others, weighed by its records, with the interval of DeLong (1988).

    The error of the weighed area is at most the weighed sum of the errors, however they depend on each other. The interval is
    made on the scale of the logit, where it holds better for large areas and few records (Qin and Hotilovac 2008). Where scores
    part the classes without an error, as many pairs of records as the smaller class has are independent trials that succeeded.
    """
    area, error, weight, fewest = 0.0, 0.0, 0, len(truth)
    for own in range(scores.shape[1]) if scores.shape[1] > 2 else (1,):
        inside = truth == own
        many = int(inside.sum())
        if 1 < many < len(truth) - 1:
            value, deviation = _delong(scores[inside, own], scores[~inside, own])
            area, error, weight = area + many * value, error + many * deviation, weight + many
            fewest = min(fewest, many, len(truth) - many)
    if not weight:
        return Quantity(0.5, 0.0, 1.0, "estimate", said, LEVEL)
    value = min(1.0, area / weight)
    low, high = _area_bounds(value, error / weight, fewest)
    return Quantity(value, low, high, "estimate", said, LEVEL)


def _area_bounds(area: float, error: float, fewest: int) -> tuple[float, float]:
    """The ends of an interval for an area with a standard error; `fewest` records are in the smallest class."""
    if error <= 0 or not 0 < area < 1:
        low, high = rate_bounds(round(area * fewest), fewest, (1 - LEVEL) / 2)
        return min(low, area), max(high, area)
    odds, factor = area / (1 - area), math.exp(min(700.0, 1.96 * error / (area * (1 - area))))
    return odds / (odds + factor), odds * factor / (1 + odds * factor)


def _delong(positive: Floats, negative: Floats) -> tuple[float, float]:
    """The area under the curve and its standard error (DeLong, DeLong and Clarke-Pearson 1988)."""
    from scipy.stats import rankdata

    many, others = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:many] - rankdata(positive)) / others
    below = 1 - (ranks[many:] - rankdata(negative)) / many
    variance = float(above.var(ddof=1)) / many + float(below.var(ddof=1)) / others
    return float(above.mean()), variance**0.5


# --- telling apart ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distinction:
    """How well a model tells rows of the release from rows of the original."""

    rows: int
    """Rows of each table."""
    pmse: Quantity
    """0 where they cannot be told apart, 0.25 where they always can."""
    area: Quantity
    """The area under the ROC curve: 0.5 is guessing; less where rows of one table stand in the other too, for then a model that
    learned whose a row is finds its copy in the other table."""

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        return {"rows": self.rows, "pmse": self.pmse.to_json(), "area": self.area.to_json()}


def tell_apart(original: ComparableTable, released: ComparableTable, source: Source) -> Distinction | None:
    """Train a model on half of the rows to tell the tables apart, and score it on the other half, both ways round."""
    many = min(original.rows, released.rows, MOST_TRAINING)
    if many < 20:
        return None
    tables = [table.take(source.permutation(table.rows)[:many]) for table in (original, released)]
    coded = [
        np.stack([_drawn_parts(table[name], source) for name in released.names], axis=1).astype(np.float32)
        for table in tables
    ]
    rows = np.concatenate(coded)
    truth = np.repeat([0, 1], many)
    half = source.permutation(2 * many) % 2 == 0
    scores = np.zeros((2 * many, 2))
    for own in (half, ~half):
        scores[own] = _train("gradient boosting", rows[~own], truth[~own], rows[own], 2)
    excess = 0.25 - (scores[:, 1] - truth) ** 2
    value = max(0.0, float(excess.mean()))
    deviation = 1.96 * float(excess.std(ddof=1)) / len(excess) ** 0.5
    said = (
        f"0.25 minus the mean square error of gradient boosting, {2 * many:,} rows, each scored by a model of the others (normal "
        "approximation)"
    )
    area = _area(
        truth,
        scores,
        f"area under the ROC curve of telling {2 * many:,} rows apart; rows that both tables have lower it "
        "(interval of DeLong, approximate)",
    )
    return Distinction(
        many, Quantity(value, max(0.0, value - deviation), min(0.25, value + deviation), "estimate", said, LEVEL), area
    )
