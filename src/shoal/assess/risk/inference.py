"""Inference: an intruder who knows some attributes of a person guesses another from the nearest released records.

The nearest records vote, each with the distribution of its label; the guess is the part with most votes within the tolerance. The
baseline guesses what most of the table has, whoever the target is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints, Mask, row_numbers
from shoal.assess.quantity import Quantity
from shoal.assess.risk.attack import (
    AttackRisk,
    NearestSearch,
    Originals,
    Released,
    ReleasedAttribute,
    check_names,
    check_released,
    parts_of,
)
from shoal.errors import DataError, ParameterError


def inference(
    released: Released, targets: Originals, *, known: Sequence[str], confidential: str, control: Originals | None = None,
    tolerance: float = 0.0,
) -> AttackRisk:  # fmt: skip
    """Measure how often an intruder infers a confidential attribute, beyond what the control group and guessing give.

    Arguments  `released`: attributes with the distributions of their labels; `targets`: originals that took part, as parts of
               each attribute's domain; `known`: what the intruder knows of them; `confidential`: what is guessed; `control`:
               originals that took no part; `tolerance`: how far a guess may be off, in the positions of its parts
    Raises     DataError for tables that do not fit, ParameterError for names or a tolerance that do not

    >>> import numpy as np
    >>> job = ReleasedAttribute([0, 0, 1], np.eye(2))
    >>> ill = ReleasedAttribute([0, 0, 1], np.eye(2))
    >>> found = inference({"job": job, "ill": ill}, {"job": [0, 1], "ill": [0, 1]}, known=["job"], confidential="ill")
    >>> found.success.value, found.baseline.value
    (1.0, 0.5)
    """
    names = check_names(known, "known attributes")
    if confidential in names:
        raise ParameterError(
            "the confidential attribute is among the known ones", came=confidential, allowed="another attribute"
        )
    if not tolerance >= 0:
        raise ParameterError("the tolerance is negative", came=tolerance, allowed="0 or more")
    check_released(released, [*names, confidential])
    guesses = _Guesses(released, names, released[confidential], float(tolerance))
    truth = _values(targets, confidential, released, "the targets")
    hits = guesses.right(parts_of(targets, names, released, "the targets"), truth)
    others: Mask | None = None
    if control is not None:
        held = _values(control, confidential, released, "the control group")
        others = guesses.right(parts_of(control, names, released, "the control group"), held)
    naive = guesses.acceptable[guesses.naive][truth]
    what = f"'{confidential}' inferred from {len(names)} known attributes by the nearest released records"
    baseline = Quantity.of_rate(
        int(naive.sum()), len(naive), f"share of targets with the most frequent released value of '{confidential}'"
    )
    return AttackRisk.of(f"inference of '{confidential}'", hits, others, baseline, what)


def _values(records: Originals, confidential: str, released: Released, whose: str) -> Ints:
    """Give the true parts of the confidential attribute, which has to be known for everybody."""
    found = parts_of(records, [confidential], released, whose)[:, 0]
    if found.min() < 0:
        raise DataError(
            f"{whose} lack values of the confidential attribute", came="−1", allowed="a part for each record"
        )
    return found


class _Guesses:
    """The guesses of an intruder with one released table."""

    def __init__(self, released: Released, names: Sequence[str], guessed: ReleasedAttribute, tolerance: float) -> None:
        from scipy.sparse import csr_array

        self.search = NearestSearch(released, names)
        self.shares = guessed.shares
        place = np.arange(guessed.parts, dtype=np.float64) if guessed.positions is None else guessed.positions
        allowed = 0.0 if guessed.positions is None else tolerance
        self.acceptable: Mask = np.asarray(np.abs(place[:, None] - place[None, :]) <= allowed)
        ones = np.ones(len(guessed.codes))
        shape = (len(self.search.tuples), len(guessed.shares))
        self.labels = csr_array((ones, (self.search.place, guessed.codes)), shape=shape)
        overall = np.bincount(guessed.codes, minlength=len(guessed.shares)) @ guessed.shares / len(guessed.codes)
        self.prior: Floats = overall @ self.acceptable.T
        self.naive = int(self.prior.argmax())

    def right(self, known: Ints, truth: Ints) -> Mask:
        """Say for which records the guess is right."""
        from scipy.sparse import csr_array

        _, first, place = np.unique(row_numbers(known), return_index=True, return_inverse=True)
        guess = np.empty(len(first), dtype=np.int64)
        for block, near in self.search.blocks(known[first]):
            votes = np.asarray((csr_array(near.astype(np.float64)) @ self.labels).todense()) @ self.shares
            votes /= votes.sum(axis=1, keepdims=True)
            scores = votes @ self.acceptable.T
            guess[block] = (scores + 1e-9 * self.prior).argmax(axis=1)  # ties go to what is more frequent
        return self.acceptable[guess[place.ravel()], truth]
