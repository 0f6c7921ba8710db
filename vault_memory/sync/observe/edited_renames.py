"""Finds notes that were renamed and edited at once: an old text is missing, and a new note has much of it."""

from collections.abc import Mapping

from vault_memory.markdown.note_items import RENAMED_SHARE, line_counts, share_kept
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.sync.apply.session import Writing
from vault_memory.sync.observe.local_scan import LocalScanner
from vault_memory.sync.trees import Base, BaseFile, File, Node, Unknown


def find_edited_renames(
    base: Base, nodes: Mapping[str, Node], scanner: LocalScanner, writing: Writing
) -> frozenset[tuple[str, str]]:
    """Return pairs of an old and a new path whose texts share half of the old lines or more."""
    missing = {
        path: was.hash
        for path, was in base.items()
        if isinstance(was, BaseFile) and path not in nodes
    }
    new = _new_notes(base, nodes)
    if not missing or not new:
        return frozenset()
    new_texts = _read(new, scanner)
    matches: set[tuple[str, str]] = set()
    with writing() as writer:
        for path, revision in missing.items():
            old_text = writer.snapshots.bytes_of(revision)
            if old_text:
                similar = _similar(old_text, new_texts)
                matches |= {(path, new_path) for new_path in similar}
    return frozenset(matches)


def _new_notes(base: Base, nodes: Mapping[str, Node]) -> list[str]:
    return [
        path
        for path, node in nodes.items()
        if isinstance(node, File) and path not in base and path.endswith(MARKDOWN)
    ]


def _similar(old_text: bytes, new_texts: Mapping[str, bytes]) -> list[str]:
    """The paths of the texts that have enough lines of an old one."""
    old_lines = line_counts(old_text)
    return [
        path
        for path, text in new_texts.items()
        if share_kept(old_lines, line_counts(text)) >= RENAMED_SHARE
    ]


def _read(paths: list[str], scanner: LocalScanner) -> dict[str, bytes]:
    texts = {}
    for path in paths:
        note = scanner.read(path)
        if note and not isinstance(note, Unknown):
            texts[path] = note.raw
    return texts
