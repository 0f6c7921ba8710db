"""Keeps the notes in a folder of a program and those in a folder of the vault the same.

For a program that takes no folder of the vault. Codex 0.169.0 does not write its memory behind a
link, and reads `memory_summary.md` before its hooks have ended. So a hook quotes the new lines.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts.installer import replace_file
from vault_memory.edits.edit_errors import SaveConflict
from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.merging import three_way
from vault_memory.rules.context import assemble
from vault_memory.vault.reader import Folder
from vault_memory.vault.snapshots import revision_of

if TYPE_CHECKING:
    from vault_memory.addons.hosts.own_notes.adopted import Adopted
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.paths.scopes import Caller

MOST_NEWS = 2_000
"""Letters of the new lines that a hook quotes"""


class Exchange:
    """One exchange. `saved`: the notes that changed in the vault, each with the program's file."""

    def __init__(
        self, memory: "VaultMemory", adopted: "Adopted", now: datetime, *, dry_run: bool = False
    ) -> None:
        self._memory = memory
        self._notes = memory.vault.folder
        self._adopted = adopted
        self._now = now
        self._dry_run = dry_run
        self.saved: list[tuple[str, Path]] = []
        self._added: dict[str, str] = {}
        """A note → the lines that the program did not have before"""
        self.failures: list[str] = []

    def run(self, caller: "Caller") -> None:
        """Exchange the notes that the caller may write."""
        scopes = caller.scopes(self._memory.layout)
        for source, entry in self._adopted.exchanged.items():
            folder, patterns = str(entry["folder"]), tuple(map(str, entry["patterns"]))
            if self._is_away(source, folder):
                self.failures.append(f"`{folder}` is empty in the vault: nothing was exchanged")
                continue
            for name in sorted(self._names(Path(source), folder, patterns)):
                place = self._memory.layout.place(f"{folder}/{name}")
                # Fault: in a room, others would get what is the person's own.
                if place is None or place.scope not in scopes:
                    continue
                try:
                    self._exchange(Path(source) / name, f"{folder}/{name}")
                except (VaultMemoryError, OSError, UnicodeDecodeError) as error:
                    # One file may be too large or in use: all others are exchanged.
                    reason = error.message if isinstance(error, VaultMemoryError) else error
                    self.failures.append(f"left out {Path(source) / name}: {reason}")
        if not self._dry_run:
            self._adopted.save()

    def news(self) -> str:
        """Return the quoted lines that the program did not have before."""
        room = MOST_NEWS
        texts = []
        for note, text in self._added.items():
            quotation = assemble.whole_note("memory", note, text)
            shortened = quotation and assemble.beginning(quotation, room)
            if shortened and shortened.groups:
                texts.append(shortened.text(shortened.groups))
                room -= len(texts[-1])
        return "\n\n".join(texts)

    def _is_away(self, source: str, folder: str) -> bool:
        """Whether all notes are gone that were exchanged before."""
        # Fault: a folder that was moved would empty that of the program.
        is_begun = any(file.startswith(f"{source}/") for file in self._adopted.files)
        return is_begun and not self._notes.listing(folder, suffixes=(".md",)).entries

    def _names(self, source: Path, folder: str, patterns: tuple[str, ...]) -> Iterator[str]:
        """Yield the notes that either side has, as both folders name them."""
        names = {
            note.removeprefix(f"{folder}/")
            for note in self._notes.listing(folder, suffixes=(".md",)).entries
        }
        if source.is_dir():
            names.update(Folder(source).listing(suffixes=(".md",)).entries)
        left_out = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
        for name in names:
            if _matches(name, patterns) and not _matches(name, left_out):
                yield name

    def _exchange(self, file: Path, note: str) -> None:
        theirs = _bytes_of(file)
        ours = None if self._notes.stat(note) is None else self._notes.read(note).raw
        place, common = self._adopted.files.get(str(file), ("", ""))
        if place != note:
            common = ""
        if theirs is None and common:
            # Fault: what the program has thrown away would come back to it.
            return
        after = theirs
        if ours != theirs:
            after = self._merged(file, note, common, theirs, ours)
        if self._dry_run:
            return
        # Fault: the program may have written the file meanwhile. Then it is exchanged later.
        if after != theirs and not replace_file(file, theirs, after):
            return
        self._tell(note, theirs, after)
        self._adopted.files.pop(str(file), None)
        if after is not None:
            self._adopted.files[str(file)] = [note, revision_of(after)]

    def _merged(
        self, file: Path, note: str, common: str, theirs: bytes | None, ours: bytes | None
    ) -> bytes | None:
        """Return what both have from now on; None when the person has deleted the note."""
        # The person alone has changed the note.
        if theirs is None or revision_of(theirs) == common:
            return ours
        self.saved.append((note, file))
        if self._dry_run:
            return theirs
        text, base = theirs, ours or b""
        if ours is not None and revision_of(ours) != common:
            past = self._memory.edits.editor.past
            before = past.bytes_of(note, common) if common else None
            if before is None:
                # Fault: a line that one side lacks could be new or deleted, so all are kept.
                text = _union(theirs, ours)
            else:
                base = before
        return self._save(note, text, base)

    def _save(self, note: str, text: bytes, base: bytes) -> bytes:
        edits = self._memory.edits
        try:
            edit = edits.save(note, text, base=base, now=self._now)
        except SaveConflict as conflict:
            if conflict.merged is None:
                raise
            edit = edits.save(note, conflict.merged, base=conflict.on_disk, now=self._now)
        # Fault: until the note has the text, it would be taken away from the program.
        if edit.pending or edit.rejected:
            raise OSError("its note is in use; it is exchanged later")
        return self._notes.read(note).raw

    def _tell(self, note: str, before: bytes | None, after: bytes | None) -> None:
        previous = set((before or b"").splitlines())
        lines = [
            line for line in (after or b"").splitlines() if line.strip() and line not in previous
        ]
        if lines:
            self._added[note] = b"\n".join(lines).decode()


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _union(theirs: bytes, ours: bytes) -> bytes:
    union = three_way.merge(None, theirs, ours).result
    if union is None:
        raise OSError("the vault has another text there; both stay as they are")
    return union


def _bytes_of(file: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return file.read_bytes()
    return None
