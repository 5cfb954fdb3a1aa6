"""Altered folders by the thousand: each verifier ends in a verdict, within bounds, and accepts nothing whose meaning changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.publish.verify.mutation import KINDS, MADE

ROOT = Path(__file__).parents[3]
CASES = 64
"""Of one process."""
SENTENCES = {"sentence", "explanation", "not_promised", "how_to_verify", "claims", "theorems", "recoding_choice"}
"""What the one-file verifier does not compare, and says so."""
DIGITS = {"curve", "samples", "tables"}
"""Where a last digit, or what a column is said to show, may differ."""
ANEW = {"date", "software", "wording", "ledger"}
"""What a patient forger can change, as the guide says."""


def tried(first: int, last: int) -> list[dict[str, Any]]:
    """The cases of these numbers, in a process of their own with a bound on its memory and on the time of each case."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.publish.verify.mutation", str(first), str(last)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()][:-1]


@pytest.mark.slow
def test_altered_folders_end_in_a_verdict(effort):
    kinds = set()
    for start in range(0, CASES * effort, CASES):
        found = tried(start, start + CASES)
        assert len(found) == CASES
        kinds |= {case["kind"] for case in found}
        for case in found:
            assert case["alone"] in (0, 2, 3), case
            assert case["both"] in (0, 2, 3), case
            changed = set(case.get("changes", ()))
            if "sealed" not in case["what"]:
                assert not changed, case
            entries = {name for name in changed if "." not in name and name != "views"}
            if case["both"] == 0:
                assert entries <= ANEW | {"curve"}, case
            if case["alone"] == 0:
                assert entries <= ANEW | SENTENCES | DIGITS, case
    assert kinds == {*KINDS, *MADE}
