"""The group behind `shoal`: commands loaded on first use, one grammar for errors, one exit code for each kind of failure."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from shoal.cli.terminal.command import CommandGroup
from shoal.cli.terminal.output import VERSION
from shoal.errors import ShoalError, UsageError

SECTIONS = {
    "Numbers, without a table": {
        "solve": ("guarantee.solve", "Class size k, sampling rate beta, epsilon or delta from the other three."),
        "compose": ("guarantee.compose", "What several releases and mechanisms cost together."),
    },
    "Publish a table": {
        "plan": ("publish.plan", "What a policy promises, before any row is read."),
        "rehearse": ("publish.rehearse", "What to expect of a release, from simulated tables."),
        "release": ("publish.release", "Publish a table as its policy says, with a certificate."),
        "verify": ("publish.verify", "Recompute what a release and its certificate say."),
        "share": ("publish.share", "Pack the public files of a release, and nothing else."),
    },
    "Ask a table that is not published": {
        "dataset": ("query.dataset", "Register a table for questions; show what may be asked."),
        "ask": ("query.ask", "Ask a registered table one question, or a batch."),
    },
    "Account and study": {
        "ledger": ("ledger", "What was spent on each dataset, and what is left."),
        "check": ("check", "Disclosure risk of a table: k-anonymity, l-diversity, t-closeness."),
        "paper": ("paper", "The papers' tables and figures, recomputed beside the printed ones."),
        "demo": ("demo", "The whole journey on generated data, into build/demo."),
        "completion": ("completion", "The completion script of a shell."),
    },
}
"""The module and the summary of each command, so that `shoal --help` loads none of them."""

MODULES = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}
"""Where each command is, below `shoal.cli`."""


class Program(CommandGroup):
    """Finds each command in its module, and turns every failure into words and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is Click's
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in MODULES:
            return None
        found: click.Command = getattr(import_module(f"shoal.cli.{MODULES[cmd_name]}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<10}", summary) for name, (_, summary) in section.items()])

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
        except click.exceptions.NoArgsIsHelpError as error:  # a group without a command: its help, and a usage error
            click.echo(error.format_message(), err=True)
            code = error.exit_code
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "shoal"
            fault = UsageError(error.format_message().rstrip("."), fix=f"see `{path} --help`")
            code = _report(str(fault), fault.exit_code, given, fault.to_json())
        except ShoalError as error:
            code = _report(str(error), error.exit_code, given, error.to_json())
        except BrokenPipeError:
            code = _leave_broken_pipe()
        except OSError as error:
            reason = f"{error.strerror or type(error).__name__}: {error.filename or 'no file name'}"
            code = _report(reason, 1, given, {"kind": "OSError", "wrong": reason})
        except Exception as error:  # noqa: BLE001 - the last line of defence: whatever it is, say so and exit 1
            code = _report_unexpected(error, given)
        sys.exit(code if isinstance(code, int) else 0)


def _report(words: str, code: int, given: list[str], fields: dict[str, Any]) -> int:
    """Print an error: JSON on standard output where --json was given, words on standard error otherwise."""
    if "--json" in given:
        shape = {"kind": None, "wrong": None, "came": None, "allowed": None, "fix": None, "exit_code": code}
        click.echo(json.dumps({"version": VERSION, "error": {**shape, **fields}}, indent=2))
    else:
        click.echo(f"error: {words}", err=True)
        for name, cells in fields.get("values", {}).items():
            for row, value in cells.items():
                click.echo(f"  '{name}', row {row}: {value}", err=True)
    return code


def _report_unexpected(error: Exception, given: list[str]) -> int:
    """Report the kind of an unexpected error and its place, but not its message: it might quote a record."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"  # noqa: PTH119
    if os.environ.get("SHOAL_DEBUG") == "1":
        traceback.print_exception(error)
    wrong = f"unexpected {type(error).__name__} at {place}"
    fix = "this is a fault of ours: run again with SHOAL_DEBUG=1 and report the trace, without data, as CONTRIBUTING.md says"
    return _report(f"{wrong}; {fix}", 1, given, {"kind": "Unexpected", "wrong": wrong, "fix": fix})


def _leave_broken_pipe() -> int:
    """Stop writing when the reader has gone, as in `shoal solve … | head`: nothing is wrong, and nobody reads any more."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    return 1
