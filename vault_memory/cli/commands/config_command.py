"""`config`: where the configuration is, what it says, whether it is right; change one key."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory import config as configuration
from vault_memory import places
from vault_memory.admin import config_change
from vault_memory.cli.commands import edit_note
from vault_memory.cli.options import Context, common
from vault_memory.errors import ConfigError, UsageError
from vault_memory.search import open_vault

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import ConfigJson

ACTIONS = ("path", "show", "edit", "check", "set")
NEW_FILE = "# The settings of this vault. `vault-memory config check` checks them.\n"


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), default="path")
@click.argument("key", required=False)
@click.argument("value", required=False)
@common
@click.pass_obj
def config(context: Context, action: str, key: str | None, value: str | None) -> int:
    """Show where the configuration is (`path`) or what it says (`show`), or change it.

    `edit` opens it in $EDITOR and checks it afterwards. `check` names each problem with its
    place, and exits with 3 if there is one. `set` writes one key, such as `recall.mode`, and
    keeps comments and all other lines. A running daemon has to be started again.

    \b
    Examples:
      vault-memory config path
      vault-memory config set sleep_cycle.cron "0 3 * * *"
    """
    is_set = action == "set"
    if is_set != (key is not None) or is_set != (value is not None):
        arguments = " TABLE.KEY VALUE" if is_set else ""
        raise UsageError(
            f"`config {action}` has the wrong number of arguments",
            hint=f"write `vault-memory config {action}{arguments}`",
        )
    # Fault: a wrong configuration keeps a vault from opening, and this command must mend it.
    file = open_vault.config_file_of(context.vault, context.config, os.environ)
    match action:
        case "set":
            config_change.set_key(file, key or "", value or "")
        case "edit":
            _edit(context, file)
        case _:
            # The others only read the file.
            pass
    problems = _problems(file, os.environ)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    answer: ConfigJson = {
        "file": str(file),
        "exists": file.exists(),
        "text": text,
        "problems": problems,
    }
    texts = {"path": str(file), "show": text.rstrip() or _state_of(file), "set": f"wrote {file}"}
    state = "\n".join(problems) or _state_of(file)
    context.emit(answer, lambda: texts.get(action, state))
    if action in ("check", "edit") and problems:
        context.say("hint: correct them with `vault-memory config edit`")
        return ConfigError.exit_code
    return 0


def _state_of(file: Path) -> str:
    """Describe a file without problems in one sentence."""
    # Fault: a person who edits a file elsewhere would be told that it is right.
    if not file.exists():
        return f"there is no file {file}: each key has its default"
    return f"{file} has no problems"


def _edit(context: Context, file: Path) -> None:
    # An editor that starts with an empty name cannot save into a folder that is missing.
    if not file.exists():
        places.make_private(file.parent)
        file.write_text(NEW_FILE, encoding="utf-8")
    edit_note.start(edit_note.editor_command(file))


def _problems(file: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the problems of the configuration, each with its place and its reason."""
    try:
        # Fault: a variable would hide a wrong value of the file until it is unset.
        configuration.load(file, {})
        configuration.load(file, environment)
    except ConfigError as error:
        listed = error.details.get("problems")
        return list(listed) if isinstance(listed, list) else [error.message]
    return []
