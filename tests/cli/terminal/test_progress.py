"""Stages of a long run: a bar with share and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

import io
import re
import sys

from shoal.anonymize.generalize.base import StageProgress
from shoal.cli.terminal.progress import stages
from tests.cli.terminal.test_output import Terminal


def shown(err):
    """What a terminal was sent, without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err.getvalue())


def test_a_share_is_a_bar_with_the_time_left_and_a_name_is_not(monkeypatch, capsys):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with stages() as stage:
        stage("charging")
        stage(StageProgress("choosing the recoding", 1, 4))
        stage(StageProgress("choosing the recoding", 3, 4))
    lines = [line for line in re.split(r"[\r\n]", shown(err)) if line.strip()]
    assert any("choosing the recoding" in line and "75%" in line and "left" in line for line in lines)
    assert not any("charging" in line and ("%" in line or "left" in line) for line in lines)
    assert capsys.readouterr().out == ""


def test_without_a_terminal_nothing_is_shown(monkeypatch):
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    with stages() as stage:
        stage(StageProgress("choosing the recoding", 1, 4))
    assert err.getvalue() == ""


def test_a_share_is_a_text_that_says_it():
    share = StageProgress("choosing the recoding", 1, 8)
    assert share == "choosing the recoding (12 %)"
    assert StageProgress("nothing to do", 0, 0) == "nothing to do (0 %)"
