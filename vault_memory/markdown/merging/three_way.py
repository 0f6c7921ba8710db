"""Merges two versions of a note that have a common base: by structure, otherwise by lines.

Bytes are moved and not rewritten, so what a person wrote stays as it is. A text that cannot stay is
returned as a conflict. Where no merge is safe there is no result, and the caller keeps both versions
in a conflict copy. Any bytes are a note.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from vault_memory.markdown.items import normalised
from vault_memory.markdown.merging.block_merge import Kind
from vault_memory.markdown.merging.front_matter import merge_front
from vault_memory.markdown.merging.line_merge import merge_lines
from vault_memory.markdown.merging.merged_text import write
from vault_memory.markdown.merging.parsed_note import ParsedNote, majority_newline, parse_note
from vault_memory.markdown.merging.structural import StructuralMerge

LINE_ENDS = (b"\n", b"\r")
MARK = re.compile(rb" ?\xe2\x9a\xa0 \(other device, [^()\r\n]*\)[ \t]*$")

_marker = re.compile(
    rb"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)(?:\[[ xX-]\](?:[ \t]+|$))?"
).match

Counts = Counter[bytes]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that both changed, or that came back though one side had deleted it."""

    kind: Kind
    section: str
    """The name of the section it is in; empty above the first one"""
    kept: bytes
    """The text in the note, line ends as ``\\n``"""
    other: bytes
    """The text that is not in the note, or follows with a mark; empty for a section that came back"""
    reason: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The outcome of a merge."""

    result: bytes | None
    """None: a conflict copy is needed"""
    conflicts: tuple[Conflict, ...] = ()


NO_RESULT = Merged(None)


def merge(
    base: bytes | None, ours: bytes, theirs: bytes, *, between_people: bool = False, date: str = ""
) -> Merged:
    """Merge two versions; without a base the result is their union, in which nothing is deleted.

    `theirs` is the person or the other device, `ours` is the bot or this device. Where both changed
    one item, theirs stays in the note and ours is a conflict. `between_people` both stay, and ours
    gets a mark that has the `date`.
    """
    if ours in (theirs, base):
        return Merged(theirs)
    if theirs == base:
        return Merged(ours)
    mark = None
    if between_people:
        mark = b" \xe2\x9a\xa0 (other device, %s)" % date.encode("utf-8", "replace")
    base_note = parse_note(base or b"")
    our_note = parse_note(ours)
    their_note = parse_note(theirs)
    # Fault (A21): below an open fence or comment, no line is what it looks like. Moved
    # by structure, a line could leave the fence, or others get into it.
    if not base_note or not our_note or not their_note:
        return _merge_by_lines(base, ours, theirs)
    outcome = _merge_by_structure(base_note, our_note, their_note, mark)
    if outcome.result is None:
        return outcome
    result = outcome.result
    dropped_texts = (conflict.other for conflict in outcome.conflicts)
    # A bug of the merge must end in a conflict copy, and not in lost or doubled lines.
    if not nothing_is_lost(base or b"", ours, theirs, result, dropped_texts):
        return NO_RESULT
    mark_size = _mark_size(outcome.conflicts, mark)
    if not is_no_larger(ours, theirs, result, mark_size):
        return NO_RESULT
    return outcome


def _merge_by_structure(
    base: ParsedNote, ours: ParsedNote, theirs: ParsedNote, mark: bytes | None
) -> Merged:
    structure = StructuralMerge(base, ours, theirs, mark)
    front = merge_front(base.front, ours.front, theirs.front, mark)
    units = structure.run()
    if units is None:
        return NO_RESULT
    result = write(structure, units, front.text)
    if result is None:
        return NO_RESULT
    items = [unit.text for unit in units if unit.kind == "item" and unit.thread >= 0]
    if not nothing_is_twice(_items(ours), _items(theirs), items):
        return NO_RESULT
    conflicts = [
        Conflict("front matter", "", conflict.kept, conflict.dropped, "both changed it")
        for conflict in front.conflicts
    ]
    for kind, name, conflict in structure.conflicts:
        section = name.decode("utf-8", "replace")
        conflicts.append(Conflict(kind, section, *conflict))
    return Merged(result, tuple(conflicts))


def _items(note: ParsedNote) -> list[bytes]:
    return [unit.text for unit in note.units if unit.kind == "item"]


def _mark_size(conflicts: tuple[Conflict, ...], mark: bytes | None) -> int:
    """Return how many bytes the marks may add: one for each line that stays beside another."""
    if not mark:
        return 0
    lines = sum(conflict.other.count(b"\n") + 1 for conflict in conflicts)
    return (len(mark) + 2) * lines


def _merge_by_lines(base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """Merge notes whose structure is broken. Line ends are theirs."""
    if base is None:
        return NO_RESULT
    our_texts = ours.splitlines()
    stretches = merge_lines(base.splitlines(), our_texts, theirs.splitlines())
    if stretches is None:
        return NO_RESULT
    their_lines = theirs.splitlines(keepends=True)
    our_newline = majority_newline(ours.splitlines(keepends=True))
    newline = majority_newline(their_lines) or our_newline or b"\n"
    lines: list[bytes] = []
    for is_ours, first, end in stretches:
        if is_ours:
            lines += [line + newline for line in our_texts[first:end]]
        else:
            lines += their_lines[first:end]
    lines = with_newlines(lines, newline)
    if lines and not theirs.endswith(LINE_ENDS):
        lines[-1] = lines[-1].rstrip(b"\r\n")
    result = b"".join(lines)
    is_safe = nothing_is_lost(base, ours, theirs, result, ())
    return Merged(result) if is_safe else NO_RESULT


def with_newlines(lines: list[bytes], newline: bytes) -> list[bytes]:
    """End each line but the last: their last line may have no newline, and is last no longer."""
    ended = [line if line.endswith(LINE_ENDS) else line + newline for line in lines[:-1]]
    return ended + lines[-1:]


# --- Checks of a merge ---


def lines_of(raw: bytes) -> Counts:
    """Count the lines of a note, without line ends and BOM."""
    return Counter(raw.removeprefix(b"\xef\xbb\xbf").splitlines())


def words_of(line: bytes) -> bytes:
    """Return the words of a line, without its marker, its box and the mark of another device."""
    line = MARK.sub(b"", line.strip(b" \t"))
    if b": " in line:
        line = line.removeprefix(b"# ")
    marker = _marker(line)
    if marker:
        line = line[marker.end() :]
    return b" ".join(line.split())


def nothing_is_lost(
    base: bytes, ours: bytes, theirs: bytes, result: bytes, conflicts: Iterable[bytes]
) -> bool:
    """Return whether each line is in the result often enough, or in a conflict.

    A line may also be folded into one with the same normalised text.
    """
    versions = [lines_of(raw) for raw in (base, ours, theirs, result)]
    unchanged = _unchanged(*versions)
    cache: dict[bytes, bytes] = {}
    base_words, our_words, their_words, result_words = [
        _count_words(version, cache, without=unchanged) for version in versions
    ]
    for raw in conflicts:
        result_words.update(_count_words(lines_of(raw), cache))
    lost = [
        words
        for words in our_words.keys() | their_words.keys()
        if words
        and result_words[words] < _least(base_words[words], our_words[words], their_words[words])
    ]
    if not lost:
        return True
    normal = set(map(_normal, result_words))
    normal.update(_normal(words_of(line)) for line in unchanged)
    return normal.issuperset(map(_normal, lost))


def _unchanged(base: Counts, ours: Counts, theirs: Counts, result: Counts) -> set[bytes]:
    """Return the lines that all versions have equally often, which need no check."""
    return {
        line
        for line, count in result.items()
        if base.get(line) == count and ours.get(line) == count == theirs.get(line)
    }


def _least(base: int, ours: int, theirs: int) -> int:
    """Return how often a line must be there: both deletions and the larger addition count."""
    removed = max(base - ours, 0) + max(base - theirs, 0)
    added = max(ours - base, theirs - base, 0)
    return base - removed + added


def _normal(words: bytes) -> str:
    return normalised(words.decode("utf-8", "replace"))


def _count_words(
    lines: Counts, cache: dict[bytes, bytes], without: frozenset[bytes] | set[bytes] = frozenset()
) -> Counts:
    """Count the words of lines. `cache` has the words of each line that was seen."""
    counts: Counts = Counter()
    for line, count in lines.items():
        if line in without:
            continue
        words = cache.get(line)
        if words is None:
            words = cache[line] = words_of(line)
        counts[words] += count
    return counts


def nothing_is_twice(
    ours: Iterable[bytes], theirs: Iterable[bytes], result: Iterable[bytes]
) -> bool:
    """Return whether no item is there more often than in the version that has it most."""
    our_counts, their_counts = Counter(ours), Counter(theirs)
    return all(
        count == 1 or count <= max(our_counts[text], their_counts[text])
        for text, count in Counter(result).items()
    )


def is_no_larger(ours: bytes, theirs: bytes, result: bytes, allowance: int) -> bool:
    """Return whether the result has at most the bytes of both and the marks, without line ends."""
    return _size(result) <= _size(ours) + _size(theirs) + allowance


def _size(raw: bytes) -> int:
    return sum(map(len, raw.splitlines()))
