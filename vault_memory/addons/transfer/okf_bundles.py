"""Exports notes as a bundle of the Open Knowledge Format, and imports such a bundle.

The exported files have the paths of their notes. A concept of another program becomes a note below
the notes of the person, with its front matter as it is.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.transfer import okf_concepts
from vault_memory.addons.transfer.import_report import ImportReport, ImportRequest, Skipped
from vault_memory.addons.transfer.workspace import IMPORTED_KINDS, Copier
from vault_memory.errors import UsageError, VaultError
from vault_memory.markdown.letters import without_case
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.filenames import inside
from vault_memory.vault.reader import LARGEST_STORED, Folder
from vault_memory.vault.write.create import write_copy

if TYPE_CHECKING:
    from vault_memory.addons.transfer.exporter import VaultFiles
    from vault_memory.edits.calls import EditCalls

INDEX = "index.md"
RESERVED = (INDEX, "log.md")
"""Names of lists in a bundle, which are no concepts"""
_MARKDOWN = (".md", ".markdown")


class NoBundle(UsageError):
    """The folder is no bundle of the Open Knowledge Format."""

    def __init__(self, source: Path) -> None:
        super().__init__(
            f"`{source}` has no Markdown file, so it is no bundle",
            hint="name the folder of the bundle; unpack it first if it is a zip or a tarball",
        )


def write_bundle(edits: "EditCalls", files: "VaultFiles", target: Path) -> int:
    """Write the notes as concepts to a new folder. Return their number."""
    paths: dict[str, str] = {}
    for path, place, raw in files:
        # Transcripts, ledgers and audit logs are no Markdown.
        if place.kind not in IMPORTED_KINDS or not path.lower().endswith(_MARKDOWN):
            continue
        stat = edits.vault.folder.stat(path)
        modified = datetime.fromtimestamp(stat.mtime_ns // 10**9 if stat else 0, UTC)
        origin = okf_concepts.NoteOrigin(
            path, place, edits.editor.trail.of(path), sha256(raw).hexdigest(), modified
        )
        try:
            concept = okf_concepts.concept_of(raw, origin)
        except UnicodeDecodeError:
            # One such note must not keep the others out.
            files.skipped.append(Skipped(path, "it is not UTF-8, which concepts are"))
            continue
        name = _free_path(path, paths)
        paths[name] = path
        write_copy(target / name, concept)
    write_copy(target / INDEX, _index(sorted(paths)))
    return len(paths)


def _free_path(path: str, used_paths: Mapping[str, str]) -> str:
    """Returns the path of a concept: that of its note, unless this is reserved or taken."""
    stem = path.rpartition(".")[0]
    name = path.rpartition("/")[2]
    candidate = f"{stem}.md"
    number = 1
    # Fault: a note of the name of a list would be read as the list.
    while without_case(name) in RESERVED or candidate in used_paths:
        candidate = f"{stem}.note{number}.md"
        name = candidate.rpartition("/")[2]
        number += 1
    return candidate


def _index(paths: Iterable[str]) -> bytes:
    entries = "".join(f"* [{_escaped(path)}](</{path}>)\n" for path in paths)
    return f'---\nokf_version: "{okf_concepts.VERSION}"\n---\n\n# Notes\n\n{entries}'.encode()


def _escaped(path: str) -> str:
    return path.removesuffix(".md").replace("[", "\\[").replace("]", "\\]")


def import_bundle(edits: "EditCalls", source: Path, request: ImportRequest) -> ImportReport:
    """Copy the concepts of a bundle to notes. Raises NoBundle, VaultUnreachable."""
    copier = Copier(edits, request)
    folder = Folder(source)
    listing = folder.listing(suffixes=(".md",))
    if not listing.entries:
        raise NoBundle(source)
    for path, reason in listing.unknown.items():
        copier.report.skip(path, reason)
    for path in sorted(listing.entries):
        if without_case(path.rpartition("/")[2]) in RESERVED:
            copier.report.left.append(path)
            continue
        try:
            concept = folder.read(path, max_bytes=LARGEST_STORED).raw
            target, raw = okf_concepts.note_in(concept)
            target = inside(target or _foreign_path(edits, request, path))
            place = edits.vault.layout.place(target)
            # Fault: a bundle may name any path as that of its note.
            if place is None or place.kind not in IMPORTED_KINDS:
                copier.report.skip(path, f"this vault has no place for a note `{target}`")
            elif request.includes(place.scope):
                copier.add(target, raw)
        except VaultError as error:
            # One damaged concept must not keep the others out.
            copier.report.skip(path, error.message)
    return copier.report


def _foreign_path(edits: "EditCalls", request: ImportRequest, path: str) -> str:
    """Returns the note for a concept of another program: below those of the person or channel."""
    owner = edits.vault.owner
    scope = f"user:{owner}" if owner else "group:main"
    scope = next(iter(request.scopes or ()), scope)
    # Where the notes of a person lie depends on the vault.
    notes = list(edits.vault.folder.listing().entries)
    return scope_notes.places_of(scope, notes, edits.vault.layout).notes + path
