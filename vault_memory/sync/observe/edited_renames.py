"""Finds notes that were renamed and edited at once: an old text is missing, and a new note has much of it."""

from collections import Counter
from collections.abc import Mapping

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised
from vault_memory.rules.paths.filenames import MARKDOWN
from vault_memory.sync.apply.session import Writing
from vault_memory.sync.observe.local_scan import LocalScanner
from vault_memory.sync.trees import Base, BaseFile, File, Node, Unknown

RENAMED_SHARE = 0.5
"""The share of its lines that a note keeps when it is renamed and edited"""


def find_edited_renames(
    base: Base,
    nodes: Mapping[str, Node],
    scanner: LocalScanner,
    writing: Writing,
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


def _new_notes(
    base: Base,
    nodes: Mapping[str, Node],
) -> list[str]:
    return [
        path
        for path, node in nodes.items()
        if isinstance(node, File) and path not in base and path.endswith(MARKDOWN)
    ]


def _similar(
    old_text: bytes,
    new_texts: Mapping[str, bytes],
) -> list[str]:
    """The paths of the texts that have enough lines of an old one."""
    return [
        path
        for path, text in new_texts.items()
        if _share_kept(old_text, text) >= RENAMED_SHARE
    ]


def _read(
    paths: list[str],
    scanner: LocalScanner,
) -> dict[str, bytes]:
    texts = {}
    for path in paths:
        note = scanner.read(path)
        if note and not isinstance(note, Unknown):
            texts[path] = note.raw
    return texts


def _share_kept(
    old: bytes,
    new: bytes,
) -> float:
    """The share of the lines of an old text that a new one has."""
    old_lines, new_lines = _lines(parse(old)), _lines(parse(new))
    return (old_lines & new_lines).total() / max(1, old_lines.total())


def _lines(doc: SectionedDoc) -> Counter[str]:
    """The lines of all sections, normalised, without headings and empty lines."""
    counts: Counter[str] = Counter()
    for body in (doc.preamble, *(section.body for section in doc.sections)):
        for line in body.decode("utf-8", "replace").splitlines():
            text = normalised(line)
            if text:
                counts[text] += 1
    return counts
