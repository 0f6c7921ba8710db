"""The stored files, and the comparison of a new text with one of them."""

import difflib
from pathlib import Path

EXPECTED = Path(__file__).resolve().parent / "expected"
LONGEST_DIFF = 120
"""Lines of a difference that a failing test prints"""
HINT = "hint: is the change meant? Then run `make goldens`, read `git diff tests/goldens`, and commit it"


def difference(name: str, before: str, after: str, *, most: int = LONGEST_DIFF) -> str:
    """A unified diff, cut after `most` lines; empty when both texts are equal."""
    lines = list(
        difflib.unified_diff(
            before.splitlines(),
            after.splitlines(),
            f"stored/{name}",
            f"now/{name}",
            n=2,
            lineterm="",
        )
    )
    if not lines and before != after:
        lines = [f"{name}: only the ends of lines differ"]
    if len(lines) > most:
        lines = [*lines[:most], f"… and {len(lines) - most} more lines"]
    return "\n".join(lines)


def check(name: str, text: str) -> None:
    """Compare a text with the stored file of this name. Raises AssertionError with the difference."""
    file = EXPECTED / name
    if not file.is_file():
        raise AssertionError(f"there is no stored file `{name}`\n\n{HINT}")
    stored = file.read_bytes().decode()
    if stored != text:
        raise AssertionError(f"{difference(name, stored, text)}\n\n{HINT}")


def write(folder: Path, name: str, text: str) -> bool:
    """Write a text below a folder, and tell whether that changed the file."""
    file = folder / name
    raw = text.encode()
    if file.is_file() and file.read_bytes() == raw:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(raw)
    return True
