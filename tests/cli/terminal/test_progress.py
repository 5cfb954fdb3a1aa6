"""Stages of a long run: a bar with share and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

import io
import re
import sys

from shoal.cli.terminal.progress import LaterStage, bar, spinner, stages
from shoal.progress import StageProgress
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
    with bar("assessing", 2) as tick:
        tick.stage("reading")
        tick()
    with spinner("planning"):
        pass
    assert err.getvalue() == ""


def shown_by(monkeypatch, work):
    """The lines that a terminal shows while something works."""
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    work()
    return [line for line in re.split(r"[\r\n]", shown(err)) if line.strip()]


def test_a_bar_over_steps_says_what_is_done_in_between(monkeypatch):
    def work():
        with bar("assessing", 4) as tick:
            tick()
            tick.stage("reading the rows")

    lines = shown_by(monkeypatch, work)
    assert any("assessing, reading the rows" in line and "25%" in line and "left" in line for line in lines)


def test_work_of_unknown_length_shows_its_name_and_how_long_it_has_taken(monkeypatch):
    def work():
        with spinner("planning"):
            pass

    lines = shown_by(monkeypatch, work)
    assert any("planning" in line and "0:00:00" in line for line in lines)
    assert not any("%" in line or "left" in line for line in lines)


def test_a_stage_that_is_watched_later_tells_its_watcher_alone():
    told: list[str] = []
    later = LaterStage()
    later("nobody watches")
    later.watcher = told.append
    later("somebody does")
    assert told == ["somebody does"]
