"""`shoal completion`: the script that lets a shell complete our commands and options."""

from __future__ import annotations

import click

from shoal.cli.terminal import output
from shoal.cli.terminal.command import command, json_option
from shoal.errors import UsageError

HOW = {
    "bash": 'eval "$(shoal completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(shoal completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "shoal completion fish > ~/.config/fish/completions/shoal.fish",
}


@command(
    "completion",
    examples=("shoal completion bash", "shoal completion fish > ~/.config/fish/completions/shoal.fish"),
    next_step=(
        "Put the line for your shell, above, into its start file; open a new shell and press the tab key twice.",
    ),
)
@click.argument("shell", type=click.Choice(list(HOW)))
@json_option
def completion(shell: str, as_json: bool) -> None:
    """Print the script that completes the commands and options of `shoal` in a shell.

    \b
    bash   eval "$(shoal completion bash)"   in ~/.bashrc
    zsh    eval "$(shoal completion zsh)"    in ~/.zshrc, after compinit
    fish   shoal completion fish > ~/.config/fish/completions/shoal.fish
    """  # noqa: D301 - Click reads the real character
    from click.shell_completion import get_completion_class

    from shoal.cli import main

    found = get_completion_class(shell)
    if found is None:
        raise UsageError("no completion for this shell", came=shell, allowed=", ".join(HOW))
    maker = found(main, {}, "shoal", "_SHOAL_COMPLETE")
    script = maker.source_template % maker.source_vars()
    if as_json:
        output.print_json({"shell": shell, "script": script, "install": HOW[shell]})
    else:
        output.print_lines(script.strip())
