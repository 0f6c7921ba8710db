"""Writes the completion script of a shell where the shell finds it."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vault_memory.config import state_file
from vault_memory.errors import UsageError

SCRIPTS = Path(__file__).resolve().parent / "scripts"
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


def report(shell: str, place: ScriptPlace) -> str:
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
