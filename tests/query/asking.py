"""A small dataset to ask: its policy, two tables that agree with it, and sessions on them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd

from shoal.policy.policy import Policy
from shoal.query.session import Session, session

POLICY = """
version: 1
dataset: clinic
unit: row
neighbours: add_remove
attributes:
  patient: {role: identifier, type: integer}
  age:  {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [10, 50]}, missing: refuse}
  sex:  {role: quasi, type: category, domain: [f, m], missing: refuse}
  diag: {role: confidential, type: category, domain: [flu, cold, rare]}
  note: {role: other, type: text}
budget: {epsilon: 1, delta: 1e-6}
"""
SURE = 60
"""At this epsilon a noise other than zero has a chance of e^-60 for each step."""


def policy(changes: dict[object, object] | None = None) -> Policy:
    """The clinic's policy, with some keys changed."""
    found = Policy.parse(POLICY)
    return found.with_changes(changes) if changes else found


def rich(**changes: object) -> Policy:
    """With a budget for exact answers."""
    return policy({"budget": {"epsilon": "600", "delta": "1e-6"}, **changes})


def table(rows: int = 200, shift: int = 0) -> pd.DataFrame:
    """Patients 0, 1, …; ages 0..99 in turn, women and men by turns, every tenth rare."""
    numbers = range(rows)
    return pd.DataFrame(
        {
            "patient": list(numbers),
            "age": [(i + shift) % 100 for i in numbers],
            "sex": ["fm"[i % 2] for i in numbers],
            "diag": ["rare" if i % 10 == 0 else ["flu", "cold"][i % 2] for i in numbers],
            "note": [f"row {i}" for i in numbers],
        }
    )


def opened(folder: Path, asked: Policy | None = None, data: object = None, **options: object) -> Session:
    """A session on a table in memory, with a ledger in the folder."""
    rows = table() if data is None else data
    options = {"ledger": str(folder / "ledger.sqlite"), **options}
    options.setdefault("new_ledger", isinstance(options["ledger"], str) and not Path(options["ledger"]).exists())
    return session(asked or policy(), rows, **options)  # type: ignore[arg-type]


def spent(asking: Session) -> Fraction:
    """What was spent on the dataset so far."""
    return asking.account.spent.epsilon
