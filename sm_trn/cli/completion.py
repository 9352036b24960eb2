"""sm-trn completion"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .shared import emit, json_option

WHERE = {
    "bash": 'eval "$(sm-trn completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(sm-trn completion zsh)" in ~/.zshrc',
    "fish": "sm-trn completion fish > ~/.config/fish/completions/sm-trn.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(WHERE)))
@json_option
def command(shell: str, *, as_json: bool) -> None:
    """Print the script that lets SHELL complete commands, options and files. Job names are not completed, because that
    would need a request to AWS.

    \b
    bash  eval "$(sm-trn completion bash)" in ~/.bashrc
    zsh   eval "$(sm-trn completion zsh)" in ~/.zshrc
    fish  sm-trn completion fish > ~/.config/fish/completions/sm-trn.fish
    """
    from .__main__ import VARIABLE, cli  # noqa: PLC0415 - it loads this module

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"shell: got {shell!r}, wanted one of {', '.join(WHERE)}")
    script = made(cli, {}, "sm-trn", VARIABLE).source()
    if as_json:
        emit({"shell": shell, "script": script, "install": WHERE[shell]})
    else:
        click.echo(script)
