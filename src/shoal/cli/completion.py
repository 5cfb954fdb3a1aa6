"""`shoal completion`: the script that lets a shell complete our commands and options."""

from __future__ import annotations

import click

from shoal.cli import screen
from shoal.errors import UsageError

HOW = {
    "bash": 'eval "$(shoal completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(shoal completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "shoal completion fish > ~/.config/fish/completions/shoal.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(HOW)))
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def completion(shell: str, as_json: bool) -> None:
    """Print the completion script of SHELL.

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
        screen.answer({"shell": shell, "script": script, "install": HOW[shell]})
    else:
        screen.line(script.strip())
