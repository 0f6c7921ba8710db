"""`init`, `layout` and `completion`: set up a vault, its files of memory, and the shell."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory.admin import init_vault, layout_setup, owner
from vault_memory.api import status_report
from vault_memory.cli import layout_choice
from vault_memory.cli.layout_choice import layout_option, open_with_layout
from vault_memory.cli.options import Context, common, displayed_path, grouped
from vault_memory.config import state_file
from vault_memory.errors import UsageError
from vault_memory.vault import marker as vault_marker

if TYPE_CHECKING:
    from vault_memory.admin.config_change import ConfigChange
    from vault_memory.contract.setup_answers import (
        CompletionJson,
        InitJson,
        LayoutJson,
        LayoutProposalJson,
    )
    from vault_memory.rules.paths.layout_survey import LayoutProposal
    from vault_memory.search.open_vault import OpenVault
    from vault_memory.search.vault_layout import LayoutReport


@dataclass(frozen=True, slots=True)
class InitOptions:
    """What the vault is to have, and whose it is."""

    empty: bool
    copied: bool
    moved: bool
    user: str | None
    layout: str | None


@click.command()
@click.argument("path", required=False)
@click.option("--empty", is_flag=True, help="Write no example notes.")
@click.option(
    "--copied", is_flag=True, help="This folder is a copy of another vault: give it a new id."
)
@click.option(
    "--moved", is_flag=True, help="This folder is a vault that was moved here: keep its id."
)
@click.option(
    "--user",
    metavar="NAME",
    help="The person to whom the notes belong; without it, the program asks, or takes the login name.",
)
@layout_option
@common
@click.pass_obj
@grouped(InitOptions, "options")
def init(context: Context, path: str | None, options: InitOptions) -> None:
    """Create a vault at PATH (default: --vault, else the current folder).

    A new or empty folder gets example notes. A folder with files in it stays as it is,
    apart from the marker `.vault-memory`: the program counts its Markdown files, and finds out
    which layout fits. The marker also keeps whose notes these are.

    \b
    Example:
      vault-memory init ~/vault
    """
    if options.copied and options.moved:
        raise UsageError(
            "`--copied` and `--moved` exclude each other",
            hint="give `--copied` if the other folder is still in use, else `--moved`",
        )
    root = _root(context, path)
    is_new = not root.is_dir() or vault_marker.read_marker(root) is None
    count = 0
    if options.copied or options.moved:
        init_vault.settle_copy(root, "moved" if options.moved else "copied", os.environ)
    else:
        count = init_vault.make_vault(root, os.environ, empty=options.empty)
    context.vault = str(root)
    with open_with_layout(context, options.layout, is_setup=True) as memory:
        report = memory.vault.layout_report()
        named = owner_of_new_notes(context, memory.vault, options.user, is_new=is_new)
        previous = memory.vault.marker.owner
    if named:
        owner.set_owner(root, named)
    marker = vault_marker.ensure_marker(root)
    answer: InitJson = {
        "vault": str(root.resolve()),
        "id": marker.vault,
        "owner": marker.owner,
        "notes_written": count,
        "layout": status_report.of_layout(report),
    }
    name = displayed_path(root)
    examples = f" with {count} example files" if count else ""
    context.emit(answer, lambda: f"made a vault at {name}{examples}")
    if marker.owner:
        context.say(owner_text(marker.owner, previous))
    command = f"vault-memory --vault {name}"
    context.say(f"next: {command} search …, or {command} run")


def _root(context: Context, path: str | None) -> Path:
    """Return the folder that the command means."""
    named = path or context.vault or os.environ.get("VAULT_MEMORY_VAULT") or "."
    return Path(named).expanduser()


@click.command()
@click.argument("name", required=False, metavar="[NAME]", type=click.Choice(layout_choice.NAMES))
@common
@click.pass_obj
def layout(context: Context, name: str | None) -> None:
    """Show which files are memory, and what each layout would claim; NAME sets the layout.

    The layouts are shared, workspace, obsidian, logseq and plain. NAME is written into the configuration. A copy of the file from before stays beside it: put
    it back to undo the change. No note is changed.

    \b
    Example:
      vault-memory --vault ~/Notes layout obsidian
    """
    change = None
    if name:
        with context.open() as memory:
            change = layout_setup.set_layout(memory.vault, name)
    with context.open(marks=False) as memory:
        report = memory.vault.layout_report()
        rows = layout_setup.proposals(memory.vault)
        is_watched = memory.vault.state.socket.exists()
    answer: LayoutJson = {
        "layout": status_report.of_layout(report),
        "proposals": [_proposal_json(row) for row in rows],
        "file": str(change.file) if change else "",
        "backup": str(change.backup) if change and change.backup else "",
    }
    context.emit(answer, lambda: "\n".join(_lines(report, rows)))
    if change:
        context.say(_change_text(change))
        if is_watched:
            context.say("a daemon runs with the layout from before: start it again")


def _proposal_json(row: "LayoutProposal") -> "LayoutProposalJson":
    return {
        "name": row.name,
        "claimed": row.survey.claimed,
        "unclaimed": row.survey.unclaimed,
        "excluded": row.survey.excluded,
        "daily": row.daily,
        "exclude": list(row.exclude),
    }


def _lines(report: "LayoutReport", rows: "Sequence[LayoutProposal]") -> Iterator[str]:
    survey = report.survey
    by = {"program": " (chosen by the program)", "default": "", "configuration": ""}
    yield f"layout: {report.name or 'built-in'}{by[report.chosen_by]}"
    yield (
        f"Markdown files: {survey.claimed:,} are memory, {survey.unclaimed:,} are not,"
        f" {survey.excluded:,} are excluded"
    )
    details = {
        "not memory": ", ".join(survey.examples),
        "daily notes": report.daily,
        "exclude": ", ".join(report.exclude),
        "note": report.remark,
    }
    yield from (f"{label}: {text}" for label, text in details.items() if text)
    yield ""
    yield "layouts, and how many files each would claim:"
    yield from map(layout_choice.proposal_text, rows)


def _change_text(change: "ConfigChange") -> str:
    text = f"wrote {change.file}"
    if change.backup:
        return f"{text}; the file from before is {change.backup}"
    return text


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--install", is_flag=True, help="Write the script where the shell finds it.")
@common
@click.pass_obj
def completion(context: Context, shell: str, install: bool) -> None:
    """Print the script that completes commands and names at the Tab key, or install it.

    --install writes the script into your folder of completions. zsh, and bash without the package
    bash-completion, also get one line in ~/.zshrc or ~/.bashrc. A second run changes nothing.

    \b
    Examples:
      vault-memory completion bash --install
      vault-memory completion fish | source
    """
    script = script_of(shell)
    place = None
    if install:
        place = place_of(shell, os.environ)
        write_script(script, place)
    start_file = place.start_file if place else None
    answer: CompletionJson = {
        "shell": shell,
        "script": script,
        "file": str(place.file) if place else "",
        "start_file": str(start_file or ""),
    }
    if place is None:
        context.emit(answer, lambda: script, verbatim=True)
    else:
        context.emit(answer, lambda: completion_report(shell, place))


# --- Owner question ---

# Asks whose notes a vault has.


def owner_of_new_notes(
    context: Context, vault: "OpenVault", named: str | None, *, is_new: bool
) -> str:
    """Return the owner to write into the marker; "" where it is known, or stays unknown."""
    if named is not None:
        if not named.strip():
            raise UsageError("`--user` needs a name", hint="write `--user NAME`")
        return named.strip()
    if owner.has_owner(vault):
        return ""
    login = owner.login_name()
    if context.can_ask() and not context.quiet:
        answer: str = click.prompt("Whose notes are these?", default=login)
        return answer.strip()
    # Fault: a vault that is in use without a name must not get one unasked.
    return login if is_new else ""


def owner_text(name: str, previous: str) -> str:
    """Return who owns the notes now, and who no longer does."""
    is_changed = previous not in ("", name)
    before = f", no longer to {previous}" if is_changed else ""
    return f"these notes belong to {name}{before}"


SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
BASH_COMPLETION = (
    "/usr/share/bash-completion/bash_completion",
    "/usr/local/share/bash-completion/bash_completion",
)
"""Programs that load the completions of a user's folder"""


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Where a shell finds the script."""

    file: Path
    start_file: Path | None = None
    """The file that the shell reads at its start, if it has to name the script"""

    @property
    def line(self) -> str:
        """The line by which that file reads the script."""
        return f'[ -r "{self.file}" ] && source "{self.file}"'


def script_of(shell: str) -> str:
    """Return the script for a shell."""
    return (SCRIPTS / f"vault-memory.{shell}").read_text(encoding="utf-8")


def completion_report(shell: str, place: ScriptPlace) -> str:
    """Return the text about what was written, and how to undo it."""
    lines = [f"wrote {place.file}"]
    undo = f"delete {place.file}"
    if place.start_file is not None:
        lines.append(f"{place.start_file} reads it, by a line at its end")
        undo += f", and the line that names it in {place.start_file}"
    lines.append(f"start a new {shell}, and press Tab after `vault-memory `")
    lines.append(f"to undo it: {undo}")
    return "\n".join(lines)


def place_of(shell: str, environment: Mapping[str, str]) -> ScriptPlace:
    """Return where a shell looks for its completions."""
    home = Path(os.path.expanduser("~"))
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    match shell:
        case "fish":
            return ScriptPlace(settings / "fish" / "completions" / "vault-memory.fish")
        case "zsh":
            folder = Path(environment.get("ZDOTDIR") or home)
            file = data / "vault-memory" / "vault-memory.zsh"
            return ScriptPlace(file, folder / ".zshrc")
    folder = data / "bash-completion" / "completions"
    file = folder / "vault-memory"
    if any(map(os.path.exists, BASH_COMPLETION)):
        return ScriptPlace(file)
    return ScriptPlace(file, home / ".bashrc")


def write_script(script: str, place: ScriptPlace) -> None:
    """Write the script, and the line that reads it. A second call changes nothing."""
    # A path with these letters would end the quotation in the line of the shell.
    if place.start_file is not None and set('"$`\\\n') & set(str(place.file)):
        raise UsageError(
            f"the shell cannot read a script at `{place.file}`",
            hint="set XDG_DATA_HOME to another folder",
        )
    place.file.parent.mkdir(parents=True, exist_ok=True)
    state_file.write(place.file, script, mode=0o644)
    if place.start_file is None:
        return
    start_file = place.start_file.resolve()
    text = b""
    if start_file.exists():
        text = start_file.read_bytes()
    line = place.line.encode()
    if line in text.splitlines():
        return
    if text:
        backup = start_file.with_name(f"{start_file.name}.before-vault-memory")
        shutil.copy2(start_file, backup)
    # The file is only added to: its links, its rights and its text stay.
    with open(start_file, "ab") as file:
        file.write(b"\n" + line + b"\n")
