"""The group behind `shoal`: commands loaded on first use, one grammar for errors, one exit code for each kind of failure."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from shoal.cli.terminal import output
from shoal.cli.terminal.command import CommandGroup
from shoal.cli.terminal.process import keep_loaded, take_process
from shoal.cli.terminal.signals import Interrupted, SignalHandler
from shoal.engine.read.foreign.address import has_secret
from shoal.errors import NextCommand, OutputError, ShoalError, UsageError, visible

SECTIONS = {
    "Numbers, without a table": {
        "solve": ("guarantee.solve", "Class size k, sampling rate beta, epsilon or delta from the other three."),
        "compose": ("guarantee.compose", "What several releases and mechanisms cost together."),
    },
    "Publish a table": {
        "init": ("init", "Draft a policy for your own table, with a reason for each column."),
        "policy": ("policy", "Check, show, compare and confirm policies, before any row is read."),
        "plan": ("publish.plan", "What a policy promises, before any row is read."),
        "rehearse": ("publish.rehearse", "What to expect of a release, from simulated tables."),
        "release": ("publish.release", "Publish a table as its policy says, with a certificate."),
        "verify": ("publish.verify", "Recompute what a release and its certificate say."),
        "assess": ("publish.assess", "Risks and utility of a release against its original: a second opinion."),
        "compare": ("publish.compare", "Methods side by side on one real table: claim, risk, utility, rows, CPU time."),
        "share": ("publish.share", "Pack the public files of a release, and nothing else."),
        "export": ("publish.export", "A table of a release for other programs: Stata, SPSS, Parquet, databases."),
    },
    "Ask a table that is not published": {
        "dataset": ("query.dataset", "Register a table for questions; show what may be asked."),
        "ask": ("query.ask", "Ask a registered table one question, or a batch."),
    },
    "Account and study": {
        "ledger": ("ledger", "What was spent on each dataset, and what is left."),
        "check": ("check", "Disclosure risk of a table: k-anonymity, l-diversity, t-closeness."),
        "attack": ("lab.attack", "Attacks on releases of generated people, unsafe ones and ours."),
        "audit": ("lab.audit", "Try to refute a claim: a policy's own, our methods', broken mechanisms'."),
        "paper": ("lab.paper", "The papers' tables and figures, recomputed beside the printed ones."),
        "doctor": ("doctor.command", "Versions, folders, ledger, leftovers: what is wrong, and what to do."),
        "demo": ("demo", "The whole journey on generated data, into build/demo."),
        "completion": ("completion", "The completion script of a shell."),
    },
}
"""The module and the summary of each command, so that `shoal --help` loads none of them."""

MODULES = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}
"""Where each command is, below `shoal.cli`."""


class _UnknownCommandError(click.UsageError):
    """A command that there is not, and the one that has nearly its name."""

    def __init__(self, name: str, near: str, context: click.Context) -> None:
        super().__init__(f"No such command '{name}'. Did you mean '{near}'?", context)
        self.command_name, self.possibilities = name, [near]


class Program(CommandGroup):
    """Finds each command in its module, and turns every failure into words and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is Click's
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in MODULES:
            return None
        found: click.Command = getattr(import_module(f"shoal.cli.{MODULES[cmd_name]}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], MODULES, n=1)
            if near:  # Click compares with the commands that it has loaded, which are none
                raise _UnknownCommandError(args[0], near[0], ctx) from error
            raise

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
        if args is None:
            take_process()
        handler = SignalHandler()
        with handler.installed(), output.printing():
            code = self._run(handler, given, prog_name or "shoal", complete_var, extra)
            keep_loaded()
            sys.exit(code)

    def _run(
        self, handler: SignalHandler, given: list[str], name: str, complete_var: str | None, extra: dict[str, Any]
    ) -> int:
        """Run the command; its exit code, after everything about its end was printed."""
        try:
            code = super().main(given, name, complete_var, standalone_mode=False, **extra)
            output.finish()
        except BaseException as error:  # noqa: BLE001 - the last line of defence: whatever it is, say so
            handler.ignore()
            try:
                return _report(error, handler, given)
            except OutputError as lost:  # an error in JSON that nobody can read
                return _report_lost_output(lost)
        handler.ignore()
        return code if isinstance(code, int) else 0


def _report(error: BaseException, handler: SignalHandler, given: list[str]) -> int:
    """Print what went wrong; the exit code."""
    as_json = "--json" in given
    ended = isinstance(error, click.Abort | KeyboardInterrupt | EOFError)
    if ended or (handler.received and not isinstance(error, SystemExit)):  # a library may have made another error of it
        return _report_interrupt(error, handler, as_json)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # a group without a command: its help, and a usage error
        output.tell_lines(error.format_message())
        return error.exit_code
    if isinstance(error, OutputError):
        return _report_lost_output(error)
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "shoal"
        fix = f"see `{path} --help`"
        error = UsageError(error.format_message().rstrip("."), fix=fix, step=_spelled_right(error, given))
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] != "shoal":
        if os.environ.get("SHOAL_DEBUG") == "1":
            output.tell_trace(error)
        error = UsageError(
            "a module that this command needs cannot be loaded",
            came=error.name or type(error).__name__,
            fix="install shoal again with all that it needs; SHOAL_DEBUG=1 shows where it fails",
        )
    if isinstance(error, ShoalError):
        line = None if error.step is None or any(map(has_secret, given)) else error.step.line(given)
        words = str(error) if line is None else f"{error}; next: {visible(line)}"
        output.tell_error(words, {**error.to_json(), "next": line}, as_json=as_json)
        return error.exit_code
    if isinstance(error, OSError):
        reason = f"{error.strerror or type(error).__name__}: {error.filename or 'no file name'}"
        output.tell_error(visible(reason), {"kind": "OSError", "wrong": reason}, as_json=as_json)
        return 1
    return _report_unexpected(error, as_json)


def _spelled_right(error: click.ClickException, given: Sequence[str]) -> NextCommand | None:
    """The same command line with the option or the command that was probably meant, or with a folder to write into."""
    from shoal.files.write import free_name_like

    if isinstance(error, click.MissingParameter) and error.param is not None and "--out" in error.param.opts:
        return NextCommand(add=("--out", free_name_like("release")))
    wrong = getattr(error, "option_name", None) or getattr(error, "command_name", None)
    likely = [each for each in getattr(error, "possibilities", None) or () if each not in given]
    return NextCommand(replace=(wrong, likely[0])) if wrong and likely else None


def _report_interrupt(error: BaseException, handler: SignalHandler, as_json: bool) -> int:
    """Say that a signal ended the command, and what it had done until then."""
    ended = Interrupted((handler.received or [signal.SIGINT])[0])
    notes = [note for each in _chain(error) for note in getattr(each, "__notes__", ())]
    notes += [each.outcome or "" for each in _chain(error) if isinstance(each, ShoalError)]
    said = "; ".join(part for part in (output.effects(), *notes) if part)
    fields = {"kind": "Interrupted", "wrong": ended.words, "fix": said or None, "exit_code": ended.exit_code}
    output.tell_error(visible(f"{ended.words}; {said}" if said else ended.words), fields, as_json=as_json)
    return ended.exit_code


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that led to it: Click makes its own of an interrupt."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _report_lost_output(error: OutputError) -> int:
    """Say that the result was lost and what stands all the same.

    A reader that has gone, as in `shoal solve ... | head`, is no error: then nothing is said where nothing was changed.
    """
    output.give_up()
    gone = isinstance(error.__cause__, BrokenPipeError)
    done = output.effects()
    if done or not gone:
        output.tell_lines(f"error: {error}; {visible(done) or 'nothing was changed: run it again with another output'}")
    return error.exit_code


def _report_unexpected(error: BaseException, as_json: bool) -> int:
    """Report the kind of an unexpected error and its place, but not its message: it might quote a record."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"  # noqa: PTH119
    if os.environ.get("SHOAL_DEBUG") == "1":
        output.tell_trace(error)
    wrong = f"unexpected {type(error).__name__} at {place}"
    fix = "this is a fault of ours: run again with SHOAL_DEBUG=1 and report the trace, without data, as CONTRIBUTING.md says"
    fields = {"kind": "Unexpected", "wrong": wrong, "fix": fix}
    output.tell_error(f"{wrong}; {fix}", fields, as_json=as_json)
    return 1
