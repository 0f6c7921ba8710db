"""Loads the instructions for brains: Markdown files that a user can replace."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import ConfigError

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Role

PACKAGED_PROMPTS = Path(__file__).parent / "prompts"
LARGEST = 1 << 16
"""Bytes of one file"""


def instructions(role: "Role", folders: Iterable[Path] = ()) -> str:
    """Return `{role}.md` from the first folder that has it, else the packaged file.

    Raises ConfigError when the file is unusable.
    """
    for folder in (*folders, PACKAGED_PROMPTS):
        try:
            with (folder / f"{role}.md").open("rb") as file:
                raw = file.read(LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise _unusable(folder, role, (error.strerror or "unreadable").lower()) from None
        return _text(raw, folder, role)
    raise _unusable(PACKAGED_PROMPTS, role, "it is missing")


def _text(raw: bytes, folder: Path, role: str) -> str:
    if len(raw) > LARGEST:
        raise _unusable(folder, role, f"it is longer than {LARGEST // 1024} KB")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise _unusable(folder, role, "it is not UTF-8") from None
    if not text:
        raise _unusable(folder, role, "it is empty")
    return text


def _unusable(folder: Path, role: str, reason: str) -> ConfigError:
    return ConfigError(
        f"the prompt `{folder / (role + '.md')}` cannot be used: {reason}",
        hint="correct it, or remove it to use the packaged prompt",
    )
