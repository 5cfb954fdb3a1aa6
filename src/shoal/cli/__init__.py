"""The command line: one file for each command, loaded when it is asked for."""

from __future__ import annotations

import click

from shoal import __version__
from shoal.cli.commands import Commands

__all__ = ["main"]


@click.group(
    "shoal",
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Publish tables about people with a promise that is proved, and plan the promise before any row is read.

    Results go to standard output alone; notes and progress go to standard error. Every command takes --json.

    Exit codes: 0 done, 1 unexpected, 2 usage or policy, 3 target not met or verification failed, 4 budget refused,
    5 data rejected, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
