"""How the tests call `shoal`: in this process, with standard output and standard error apart."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from shoal.cli import main


def shoal(*arguments: object) -> Result:
    """Run a command line."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    """The JSON answer: the only thing on standard output, with a version."""
    done = shoal(*arguments, "--json")
    assert done.exit_code == code, done.output
    fields: dict[str, Any] = json.loads(done.stdout)
    assert fields["version"] == 1
    return fields


def refused(*arguments: object, code: int) -> dict[str, Any]:
    """The error, told twice: as one line on standard error, and as JSON on standard output; never as a trace."""
    plain = shoal(*arguments)
    assert plain.exit_code == code, plain.output
    assert plain.stdout == ""
    assert plain.stderr.startswith("error: ")
    assert plain.stderr.count("\n") == 1
    fields: dict[str, Any] = answer(*arguments, code=code)["error"]
    assert set(fields) >= {"kind", "wrong", "came", "allowed", "fix", "exit_code"}
    assert fields["exit_code"] == code
    assert fields["wrong"] in plain.stderr
    for part, lead in (("came", "got "), ("allowed", "allowed: "), ("fix", "")):
        if fields[part]:
            assert f"; {lead}{fields[part]}" in plain.stderr
    return fields
