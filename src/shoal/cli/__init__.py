"""The command line: one file for each command, loaded when it is asked for."""

from __future__ import annotations

import click

from shoal import __version__
from shoal.cli.group import Program

__all__ = ["main"]


@click.group(
    "shoal",
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=("shoal demo", "shoal solve --epsilon 1 --delta 1e-6 --beta 0.2"),
    next_step=("Every command has a help page with examples, which names the next command.", "shoal solve --help"),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Publish a table about people, or answer questions about it, with a privacy guarantee that is proved.

    Results go to standard output alone; notes and progress go to standard error. Every command takes --json.

    Exit codes: 0 done, 1 unexpected, 2 usage or policy, 3 target not met or verification failed, 4 budget refused,
    5 data rejected, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
