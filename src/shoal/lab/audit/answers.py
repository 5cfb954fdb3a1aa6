"""Query sessions as an audit runs them: real sessions with a real ledger, asked about many copies of a table at once.

The copies stand side by side, told apart by an attribute that every question names, so that each question is about one copy: as
many independent runs as there are copies. A session draws its noise from the operating system, whatever seed the audit has.
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
from shoal.query.questions.moments import Count
from shoal.query.session import session

Floats = npt.NDArray[np.float64]
AT_ONCE = 250
"""Copies that are asked about in one session."""


@dataclass(frozen=True)
class SessionAnswers:
    """Two questions of one session, each at half of epsilon: how many records there are, and how many of them are ones."""

    epsilon: Fraction
    asked: Fraction | None = None
    """The epsilon that both questions have together, where it is another than the one that is claimed."""

    def __call__(self, data: tuple[int, ...], _: Source, runs: int) -> Floats:
        parts = [min(AT_ONCE, runs - first) for first in range(0, runs, AT_ONCE)]
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
        questions = [Count(where) for run in range(copies) for where in (f"run = {run}", f"run = {run} and v = 1")]
        with tempfile.TemporaryDirectory() as folder:
            ledger = str(Path(folder) / "ledger.sqlite")
            with session(policy, frame, budget=2 * copies * share, ledger=ledger, new_ledger=True) as asking:
                answers = asking.batch(questions, epsilon=share)
        return np.array([answer.value for answer in answers], dtype=np.float64).reshape(copies, 2)
