"""The command line: one file for each command, loaded when it is asked for."""

from __future__ import annotations

import click

from shoal import __version__
from shoal.cli.group import Program
from shoal.cli.terminal import output

__all__ = ["main"]


def _show_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        output.print_line(f"shoal {__version__}")
        context.exit()


@click.group(
    "shoal",
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=("shoal demo", "shoal solve --epsilon 1 --delta 1e-6 --beta 0.2"),
    next_step=("Every command has a help page with examples, which names the next command.", "shoal solve --help"),
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    help="Show the version and exit.",
    callback=_show_version,
)
@click.pass_context
def main(context: click.Context) -> None:
    """Publish a table about people, or answer questions about it, with a privacy guarantee that is proved.

    Results go to standard output alone; notes and progress go to standard error. Every command takes --json.

    Exit codes: 0 done, 1 unexpected, 2 usage or policy, 3 target not met or verification failed, 4 budget refused,
    5 data rejected, 129, 130 or 143 ended by a signal.
    """
    if context.invoked_subcommand is None:
        output.print_lines(context.get_help())
