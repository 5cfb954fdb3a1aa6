"""A command whose `--help` says one sentence, shows examples, lists the options, and names the next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from shoal.cli.terminal import output

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, errors included."
)
ledger_option: Callable[[Any], Any] = click.option(
    "--ledger",
    metavar="URL",
    help="The ledger: a path, sqlite:///path or postgresql://host/database. Also SHOAL_LEDGER.",
)


class HelpPage(click.Command):
    """The page that `--help` prints: usage, sentence, examples, options, next step."""

    def __init__(self, *args: Any, examples: Sequence[str], next_step: Sequence[str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.next_step, *self.next_lines = next_step

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if error.ctx is None:  # so that the error can name the help of this command
                error.ctx = click.Context(self, parent, info_name)
            raise

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        found = super().get_help_option(ctx)
        if found is not None:
            found.callback = _show_help
        return found

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            _write_lines(self.examples, formatter)
        self.format_options(ctx, formatter)
        with formatter.section("Next"):
            formatter.write_text(self.next_step)
            _write_lines(self.next_lines, formatter)


def _show_help(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        output.print_lines(context.get_help())
        context.exit()


def _write_lines(lines: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write command lines as they are: a line that is there to be copied is never wrapped."""
    for line in lines:
        formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(HelpPage):
    """A command with a page of help."""


class CommandGroup(HelpPage, click.Group):
    """A group of commands with a page of help, which lists them in their order of use."""

    kinds = "Commands"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is Click's
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section(self.kinds):
            formatter.write_dl([(name, _sentence(each)) for name, each in self.commands.items()])


def _sentence(command: click.Command) -> str:
    """The sentence that a command's help begins with."""
    return " ".join((command.help or "").split("\n\n")[0].split())


def command(
    name: str, *, examples: Sequence[str], next_step: Sequence[str], parent: click.Group | None = None
) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command, of the group `parent` if there is one; its docstring is the sentence that its help begins with."""

    def declare(function: Callable[..., Any]) -> Command:
        made: Command = click.command(name, cls=Command, examples=examples, next_step=next_step)(function)
        if parent is not None:
            parent.add_command(made)
        return made

    return declare


def group(
    name: str, *, examples: Sequence[str], next_step: Sequence[str], kinds: str = "Commands"
) -> Callable[[Callable[..., Any]], CommandGroup]:
    """Declare a group of commands, which are listed as `kinds`; its docstring is the sentence that its help begins with."""

    def declare(function: Callable[..., Any]) -> CommandGroup:
        metavar = f"{kinds.removesuffix('s').upper()} [ARGS]..."
        made: CommandGroup = click.group(
            name, cls=CommandGroup, examples=examples, next_step=next_step, subcommand_metavar=metavar
        )(function)
        made.kinds = kinds
        return made

    return declare
