"""Import of a workspace of OpenClaw or Hermes: its files, as they are, in the places that the layout has for them.

Nothing is overwritten. Where another text stands under the same name, the file is put beside it as a conflict copy, for
a person to merge.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import UsageError, VaultError
from vault_memory.lazy import lazy_module
from vault_memory.rules.paths.conflict_names import conflict_copy
from vault_memory.transfer.exporter import LARGEST_LOG, Skipped
from vault_memory.transfer.importer import Imported
from vault_memory.vault.reader import LARGEST_STORED, Folder
from vault_memory.vault.write.copy_file import copy_name
from vault_memory.vault.write.create import add_file

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.markdown.merging import three_way
else:
    three_way = lazy_module("vault_memory.markdown.merging.three_way")

TAKEN = frozenset(
    {
        "user",
        "channel",
        "memory",
        "note",
        "dated",
        "facts",
        "rules",
        "reflection",
        "persona",
        "transcript",
    }
)
"""Kinds of files; what was decided and changed elsewhere stays there"""
FOLDERS = ("memory", "memories", "groups", "transcripts")
RENAMED = {
    "memories/MEMORY.md": "MEMORY.md",
    "memories/USER.md": "USER.md",
    "memory.md": "MEMORY.md",
}
"""Where Hermes has them, and another spelling"""
MARKS = (
    "MEMORY.md",
    "USER.md",
    "SOUL.md",
    "memory.md",
    "memories/MEMORY.md",
    "memories/USER.md",
)
"""One of these, or a folder `memory`, is in every workspace"""
PERSONA = "SOUL.md"
MOST_COPIES = 100


class NoWorkspace(UsageError):
    """The folder has nothing that such a workspace has."""

    def __init__(self, source: Path, why: str) -> None:
        super().__init__(
            f"`{source}` {why}",
            hint="name the folder that has MEMORY.md, USER.md, SOUL.md, or the folder `memory`",
        )


def import_workspace(
    edits: "EditCalls",
    source: Path,
    *,
    scopes: Collection[str] | None,
    now: datetime,
    dry_run: bool,
) -> Imported:
    """Copy the files of a workspace. Raises NoWorkspace, VaultUnreachable."""
    real, root = source.resolve(), Path(edits.vault.root).resolve()
    if real == root or root in real.parents or real in root.parents:
        raise NoWorkspace(source, "and the vault lie in one another")
    if (
        not any((source / name).is_file() for name in MARKS)
        and not (source / "memory").is_dir()
    ):
        raise NoWorkspace(source, "is no workspace of OpenClaw or Hermes")
    done = Imported()
    folder = Folder(source)
    for path in sorted(_paths(folder, done)):
        to = RENAMED.get(path, path)
        place = edits.vault.layout.place(to)
        if place is None or place.kind not in TAKEN:
            done.left.append(path)
        elif scopes is None or place.scope in scopes:
            try:
                largest = LARGEST_LOG if path.endswith(".jsonl") else LARGEST_STORED
                _take(
                    edits,
                    done,
                    to,
                    folder.read(path, max_bytes=largest).raw,
                    now,
                    dry_run=dry_run,
                )
            except VaultError as error:
                done.skipped.append(Skipped(path, error.message))
    return done


def import_persona(
    edits: "EditCalls",
    source: Path,
    *,
    scopes: Collection[str] | None,
    now: datetime,
    dry_run: bool,
) -> Imported:
    """Copy the instructions that an older bot had to SOUL.md."""
    done = Imported()
    place = edits.vault.layout.place(PERSONA)
    if place and (scopes is None or place.scope in scopes):
        try:
            _take(
                edits,
                done,
                PERSONA,
                Folder(source.parent).read(source.name).raw,
                now,
                dry_run=dry_run,
            )
        except VaultError as error:
            done.skipped.append(Skipped(source.name, error.message))
    return done


def _paths(folder: Folder, done: Imported) -> Iterator[str]:
    """The files that may be memory: at the top, and in the folders that have it."""
    names = (
        entry.name
        for entry in Path(folder.root).iterdir()
        if entry.suffix == ".md" and entry.is_file()
    )
    yield from names
    for name in FOLDERS:
        listing = folder.listing(name)
        done.skipped += [
            Skipped(path, reason) for path, reason in listing.unknown.items()
        ]
        done.left += listing.copies
        yield from listing.entries


def _take(
    edits: "EditCalls",
    done: Imported,
    path: str,
    raw: bytes,
    now: datetime,
    *,
    dry_run: bool,
) -> None:
    """One file: as it is, or beside what stands there."""
    if edits.vault.folder.stat(path) is None and (
        dry_run or add_file(edits.vault.root, path, raw)
    ):
        done.notes.append(path)
    elif _is_known(edits, path, raw):
        done.known += 1
    elif path.endswith(".jsonl"):
        done.skipped.append(Skipped(path, "another transcript of this day is there"))
    elif copy := _beside(edits, path, raw, now, dry_run=dry_run):
        done.copies.append(copy)


def _is_known(edits: "EditCalls", path: str, raw: bytes) -> bool:
    """Whether the note says all that the file says, or the file lies beside it already."""
    there = edits.vault.folder.read(path, max_bytes=LARGEST_LOG).raw
    if there == raw or (
        path.endswith(".md") and three_way.merge(None, raw, there).result == there
    ):
        return True
    above = path.rpartition("/")[0]
    for copy in edits.vault.folder.listing(above).copies:
        found = conflict_copy(copy.rpartition("/")[2])
        if (
            found
            and copy.rpartition("/")[0] == above
            and edits.vault.folder.read(copy).raw == raw
        ):
            return True
    return False


def _beside(
    edits: "EditCalls", path: str, raw: bytes, now: datetime, *, dry_run: bool
) -> str:
    above, slash, name = path.rpartition("/")
    for number in range(1, MOST_COPIES):
        copy = (
            above + slash + copy_name(name, f"{now:%Y-%m-%d %H%M%S}", "import", number)
        )
        if dry_run or add_file(edits.vault.root, copy, raw):
            return copy
    return ""
