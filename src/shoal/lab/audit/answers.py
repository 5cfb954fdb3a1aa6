"""Query sessions as an audit runs them: real sessions with a real ledger, asked about many copies of a table at once.

The copies stand side by side, told apart by an attribute. A histogram of it counts every copy in a cell of its own, each with
noise of its own, so one question gives as many independent runs as there are copies; or each copy is asked about by itself. A
session draws its noise from the operating system, whatever seed the audit has.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.chance.source import Source
from shoal.policy.policy import Policy
from shoal.query.questions.base import Question
from shoal.query.questions.count import Count
from shoal.query.questions.tables import Histogram
from shoal.query.session import session

Floats = npt.NDArray[np.float64]
AT_ONCE = 2_000
"""Copies that are asked about in one session."""
AT_ONCE_ONE_BY_ONE = 250
"""The same where each copy has questions of its own."""


@dataclass(frozen=True)
class SessionAnswers:
    """Two questions of one session, each at half of epsilon: how many records there are, and how many of them are ones."""

    epsilon: Fraction
    asked: Fraction | None = None
    """The epsilon that both questions have together, where it is another than the one that is claimed."""
    one_by_one: bool = False
    """Whether each copy is asked about by counts of its own, and not by a cell of two histograms."""

    def __call__(self, data: tuple[int, ...], _: Source, runs: int) -> Floats:
        most = AT_ONCE_ONE_BY_ONE if self.one_by_one else AT_ONCE
        parts = [min(most, runs - first) for first in range(0, runs, most)]
        return np.concatenate([self._ask(data, many) for many in parts])

    def _ask(self, data: tuple[int, ...], copies: int) -> Floats:
        import pyarrow as pa

        share = (self.epsilon if self.asked is None else self.asked) / 2
        whole = {"role": "quasi", "type": "integer", "missing": "refuse"}
        policy = Policy.of(
            {
                "version": 1,
                "dataset": "audit",
                "unit": "row",
                "neighbours": "add_remove",
                "attributes": {"run": {**whole, "domain": [0, copies]}, "v": {**whole, "domain": [0, 1]}},
            }
        )
        # A row of no copy, so that a table of no records can be asked about.
        frame = pa.table(
            {
                "run": [copies, *(run for run in range(copies) for _ in data)],
                "v": [0, *(value for _ in range(copies) for value in data)],
            }
        )
        questions: list[Question] = [Histogram("run"), Histogram("run", where="v = 1")]
        if self.one_by_one:
            questions = [Count(where) for run in range(copies) for where in (f"run = {run}", f"run = {run} and v = 1")]
        with tempfile.TemporaryDirectory() as folder:
            ledger = str(Path(folder) / "ledger.sqlite")
            with session(policy, frame, budget=len(questions) * share, ledger=ledger, new_ledger=True) as asking:
                answers = asking.batch(questions, epsilon=share)
        if self.one_by_one:
            return np.array([answer.value for answer in answers], dtype=np.float64).reshape(copies, 2)
        return np.array([answer.value["counts"][:copies] for answer in answers], dtype=np.float64).T
