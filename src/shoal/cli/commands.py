"""The group behind `shoal`: commands loaded on first use, one grammar for errors, one exit code for each kind."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from shoal.errors import ShoalError, UsageError

SUMMARIES = {
    "plan": "Any one of epsilon, delta, k and beta from the other three; no data needed.",
    "compose": "What many releases and mechanisms cost together.",
    "check": "What a table shows: observed k, l, t and their relatives.",
    "rehearse": "What to expect of a release: the plan on made-up tables, no data needed.",
    "release": "Publish a table as a policy asks, with a certificate.",
    "verify": "Recompute everything in a release folder that can be.",
    "share": "Pack the public files of a release, and nothing else.",
    "query": "Ask a table instead of publishing it, within a budget.",
    "ledger": "What has been spent on each dataset, and what is left.",
    "paper": "The papers' tables and figures, recomputed beside what they print.",
    "demo": "The whole journey on generated data, into build/demo.",
    "completion": "The completion script of a shell.",
}
"""One line for each command, so that `shoal --help` need load none of them; the order of a first acquaintance."""

VERSION = 1
"""The version of every JSON answer's shape."""


class Commands(click.Group):
    """Finds each command in the module of its name, and turns every way of failing into words and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is Click's
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in SUMMARIES:
            return None
        found: click.Command = getattr(import_module(f"shoal.cli.{cmd_name}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - we always stand alone
        windows_expand_args: bool = True,  # noqa: ARG002
        **extra: Any,
    ) -> Any:
        """Run, and always end with one of the documented exit codes."""
        given = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(given, prog_name or "shoal", complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except (click.Abort, KeyboardInterrupt, EOFError):
            code = _report("interrupted", 130, given, {"kind": "Interrupted", "wrong": "interrupted"})
        except click.ClickException as error:
            path = " ".join(["shoal", *given[:1]] if given[:1] and given[0] in SUMMARIES else ["shoal"])
            fault = UsageError(error.format_message().rstrip("."), fix=f"see `{path} --help`")
            code = _report(str(fault), fault.exit_code, given, fault.to_json())
        except ShoalError as error:
            code = _report(str(error), error.exit_code, given, error.to_json())
        except BrokenPipeError:
            code = _quiet_pipe()
        except OSError as error:
            reason = f"{error.strerror or type(error).__name__}: {error.filename or 'no file name'}"
            code = _report(reason, 1, given, {"kind": "OSError", "wrong": reason})
        except Exception as error:  # noqa: BLE001 - the last line of defence: whatever it is, say so and exit 1
            code = _unexpected(error, given)
        sys.exit(code if isinstance(code, int) else 0)


def _report(words: str, code: int, given: list[str], fields: dict[str, Any]) -> int:
    """JSON on standard output where it was asked for, words on standard error otherwise."""
    if "--json" in given:
        shape = {"kind": None, "wrong": None, "came": None, "allowed": None, "fix": None, "exit_code": code}
        click.echo(json.dumps({"version": VERSION, "error": {**shape, **fields}}, indent=2))
    else:
        click.echo(f"error: {words}", err=True)
        for name, cells in fields.get("values", {}).items():
            for row, value in cells.items():
                click.echo(f"  '{name}', row {row}: {value}", err=True)
    return code


def _unexpected(error: Exception, given: list[str]) -> int:
    """Name the kind and the place, not the message: it might quote a record."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"  # noqa: PTH119
    if os.environ.get("SHOAL_DEBUG") == "1":
        traceback.print_exception(error)
    wrong = f"unexpected {type(error).__name__} at {place}"
    fix = "this is a fault of ours: run again with SHOAL_DEBUG=1 and report the trace, without data, as CONTRIBUTING.md says"
    return _report(f"{wrong}; {fix}", 1, given, {"kind": "Unexpected", "wrong": wrong, "fix": fix})


def _quiet_pipe() -> int:
    """The reader has gone, as in `shoal plan --curve | head`: nothing is wrong, and nobody is left to tell."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    return 1
