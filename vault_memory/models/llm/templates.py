"""The instructions that brains are given: Markdown files, each of which a person can replace by one of their own."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import ConfigError

if TYPE_CHECKING:
    from vault_memory.rules.learning.model_prompt import Role

OURS = Path(__file__).parent / "prompts"
LARGEST = 1 << 16
"""Bytes of one file"""


def instructions(role: "Role", folders: Iterable[Path] = ()) -> str:
    """The text of `{role}.md` from the first folder that has it, else the one that comes with the program."""
    for folder in (*folders, OURS):
        try:
            with (folder / f"{role}.md").open("rb") as file:
                raw = file.read(LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise _unusable(
                folder, role, (error.strerror or "unreadable").lower()
            ) from None
        return _text(raw, folder, role)
    raise _unusable(OURS, role, "it is missing")


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
        hint="mend it, or take it away to use the one that comes with the program",
    )
