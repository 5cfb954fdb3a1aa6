"""What is printed: progress only on a terminal, and JSON that any reader can read."""

from __future__ import annotations

import io
import json
import math
import sys

from shoal.cli.terminal import output, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_goes_to_a_terminal_on_standard_error_alone(monkeypatch, capsys):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    with progress.bar("counting", 2) as tick:
        tick()
        tick()
    with progress.spinner("thinking"):
        pass
    assert "counting" in err.getvalue()
    assert capsys.readouterr().out == ""


def test_no_terminal_no_progress(monkeypatch):
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    with progress.bar("counting", 1) as tick, progress.spinner("thinking"):
        tick()
    assert err.getvalue() == ""


def test_infinity_is_null(capsys):
    output.print_json({"a": math.inf, "b": [math.nan, 1.5], "c": {"d": -math.inf}})
    assert json.loads(capsys.readouterr().out) == {"version": 1, "a": None, "b": [None, 1.5], "c": {"d": None}}


def test_a_table_lines_up(capsys):
    output.print_table(("k", "means"), [("2", "few"), ("100", "many")], right=(0,))
    assert capsys.readouterr().out == "    k  means\n    2  few\n  100  many\n"


def test_what_a_terminal_would_obey_is_spelled_out(capsys):
    name = "a\x1b[2J\r\n\u202e\x9b\x7f\u2028b"
    shown = r"a\x1b[2J\r\n\u202e\x9b\x7f\u2028b"
    output.print_line(name)
    output.print_paragraph(name)
    output.print_table((name,), [(name,)])
    output.print_facts([(name, name)])
    output.note(name)
    output.warn(name)
    output.tell(name)
    output.tell_paragraph(name)
    found = capsys.readouterr()
    assert found.out.replace("\x1b[1m", "").replace("\x1b[0m", "").split() == [shown] * 6
    assert found.err.split() == ["note:", shown, "warning:", shown, shown, shown]
    output.print_json({name: name})
    output.print_json_lines([{name: name}])
    assert all(letter.isascii() and letter.isprintable() for letter in capsys.readouterr().out.replace("\n", ""))


def test_our_own_text_keeps_its_lines(capsys):
    output.print_lines("one\n\ttwo")
    assert capsys.readouterr().out == "one\n\ttwo\n"


def test_a_blank_that_ends_no_line_is_shown_as_it_is(capsys):
    output.print_paragraph("99\u00a0% of the rows")
    assert capsys.readouterr().out == "99\u00a0% of the rows\n"
