"""Names of people: two that a reader cannot tell apart would be two people with one face, so the second is refused."""

import os
from collections.abc import Iterable
from pathlib import Path

from vault_memory.errors import UsageError
from vault_memory.rules.paths.filenames import person_key
from vault_memory.rules.paths.layout import Layout

FOLDER = "Users"


class NameTaken(UsageError):
    """The name differs from that of another person only in case, blanks or invisible letters."""

    def __init__(self, name: str, other: str) -> None:
        super().__init__(
            f"{name!r} cannot be told from {other!r}, another person of this vault",
            hint=f"use {other!r}, or a name that differs in more than case, blanks and invisible letters",
            name=name,
            other=other,
        )


def people_in(root: Path) -> list[str]:
    """The people who have a folder."""
    try:
        return sorted(entry.name for entry in os.scandir(root / FOLDER) if entry.is_dir())
    except OSError:
        return []


def refuse_twin(name: str, root: Path, layout: Layout) -> None:
    """Raise NameTaken for a new person whose name reads like that of another. Who is there already may stay."""
    people = people_in(root)
    if not name or name in people or name == layout.user:
        return
    key = person_key(name)
    for other in (*people, layout.user):
        # Fault (H124): two names that read alike would let one person's facts reach the
        # other.
        if person_key(other) == key:
            raise NameTaken(name, other)


def twins(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The groups of different names that read alike, each sorted."""
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(person_key(name), set()).add(name)
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)
