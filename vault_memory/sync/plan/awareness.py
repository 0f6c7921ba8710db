"""Decides whether the author of a text on the server had read our upload that it replaces. Pure.

Some programs upload without a precondition. A line of our upload that such a text lacks was removed on
purpose only if its author had read the upload. Without evidence, it counts as unread, and the line stays.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vault_memory.markdown.merging.similarity import MAX_PAIRS, alike, made_of, words_in
from vault_memory.markdown.merging.three_way import merge
from vault_memory.vault.jsonl_log import merge_records

_is_heading = re.compile(rb"#{1,6}(\s|$)").match


@dataclass(frozen=True, slots=True)
class SentText:
    """A text that this device uploaded, and the text that it replaced on the server."""

    raw: bytes
    before: bytes
    older: frozenset[bytes] = frozenset()
    """lines of the earlier texts of others: a text that has them proves nothing"""
    before_was_read: bool = False
    """whether everybody who writes over this text has read the one before it"""
    at_once: bool = True
    """whether no other program can have read a part of it alone"""


def first_unread(raw: bytes, sent: Sequence[SentText]) -> SentText | None:
    """The earliest upload that the author of a text had not read; None when it is based on the last one.

    `sent`: uploads of this device without a text of others between them, the newest first. Uploads
    that leave no trace in a text are decided by those before them.
    """
    unread = None
    for upload in sent:
        is_read = _has_read(raw, upload)
        if is_read:
            break
        if is_read is False:
            unread = upload
    return unread


def last_read(raw: bytes, sent: Sequence[SentText]) -> bytes | None:
    """The last upload, if a text shows that its author had read it."""
    # Fault: the server stored an upload, and its answer was lost. The base is the text before it, but
    # the server's text is based on the upload.
    lines = items_of(raw)
    for upload in sent[:1]:
        # Fault: the upload only removed lines, and never arrived. Every text has the other ones.
        has_removed = lines & (items_of(upload.before) - items_of(upload.raw))
        if _has_read(raw, upload) and not has_removed:
            return upload.raw
    return None


def _has_read(raw: bytes, upload: SentText) -> bool | None:
    """Whether the author of a text had read an upload; None when the text does not show it."""
    lines = items_of(raw)
    ours, before = items_of(upload.raw), items_of(upload.before)
    added, removed = ours - before, before - ours
    typed = _typed(lines - ours - before, ours, removed)
    if not upload.at_once:
        # Fault: the server kept half of it, and the author had read that half. The lines that
        # the text lacks were cut off, even if the author has read other ones.
        return all(line in lines or _grew(line, typed) for line in ours)
    if added:
        proof = {line for line in added if line in lines or _grew(line, typed)}
        # Fault: a line was merged in from a text of others. It proves nothing.
        return not proof <= upload.older
    # Fault: another device's line is in the text before, and our upload adds none of its own. The
    # author may have read an even older text.
    may_lack_lines = not upload.before_was_read and not ours <= lines
    return False if removed & lines or may_lack_lines else None


def _typed(new: set[bytes], ours: set[bytes], removed: set[bytes]) -> set[bytes]:
    """The new lines of a text that may be longer forms of ours; none where there are too many."""
    if len(new) * (len(ours) + len(removed)) > MAX_PAIRS:
        return set()
    # A longer form of an earlier line proves nothing.
    return {line for line in new if not any(_grew(old, [line]) for old in removed)}


def _grew(line: bytes, typed: Iterable[bytes]) -> bool:
    """Whether one of the typed lines is a longer form of a line: it has all words of it."""
    old = line.decode(errors="replace")
    return any(_is_longer_form(old, new.decode(errors="replace")) for new in typed)


def _is_longer_form(old: str, new: str) -> bool:
    # Fault: another author wrote a line that is only alike, e.g. with another name. Taken for an
    # edit of ours, it would replace it. A longer form has every word of ours.
    if new.startswith(old):
        return True
    return alike(old, new) and words_in(old) <= words_in(new)


def common_text(upload: SentText, theirs: bytes, date: str) -> bytes:
    """What our side and an author who had not read our upload have in common.

    Such an author may have read an even older text than `before`. So a line that the text lacks
    counts as unread, unless everybody has read the text before ours.
    """
    lines = items_of(theirs)
    ours, before = items_of(upload.raw), items_of(upload.before)
    typed = _typed(lines - ours - before, ours | before, set())
    known_lines = lines | _edited(before - lines, lines - before - ours)
    known_lines |= {line for line in ours - lines if _grew(line, typed)}
    if upload.before_was_read and upload.at_once:
        known_lines |= before

    def is_unread(line: bytes) -> bool:
        return bool(line.strip()) and not _is_heading(line) and line.strip() not in known_lines

    earlier, sent = _without(upload.before, is_unread), _without(upload.raw, is_unread)
    return merge(None, earlier, sent, between_people=True, date=date).result or sent


def is_superseded(raw: bytes, later: bytes, base: bytes) -> bool:
    """Whether a later text has each line that a text adds to its base, or an edit of it."""
    # Fault: the server kept the first part of an upload of another device, which uploads it again.
    if later.startswith(raw):
        return True
    lines, later_lines, base_lines = map(items_of, (raw, later, base))
    dropped = lines - later_lines - base_lines
    # Fault: the later author had not read the text. The line that it replaced is no edit of its line.
    return _edited(dropped, later_lines - lines - base_lines) == dropped


def _edited(lost: set[bytes], typed: set[bytes]) -> set[bytes]:
    """The lost lines that became one of the typed lines."""
    if len(lost) * len(typed) > MAX_PAIRS:
        return set()
    texts = {line.decode(errors="replace"): line for line in sorted(lost)}
    edited = set()
    for line in typed:
        new = line.decode(errors="replace")
        longer = (old for old in texts if new.startswith(old))
        old = made_of(new, texts) or next(longer, None)
        if old is not None:
            edited.add(texts[old])
    return edited


def items_of(raw: bytes) -> set[bytes]:
    """The lines that identify a text. Headings do not: a program that adds a line also adds its heading."""
    lines = (line.strip() for line in raw.splitlines())
    return {line for line in lines if line and not _is_heading(line)}


def without_torn(raw: bytes, complete: bytes, older: Iterable[bytes]) -> bytes:
    """Remove the lines that are only the beginning of a line of a text that the server cut short.

    `older`: earlier texts; a line that was in one of them is not torn.
    """
    lines = complete.splitlines()
    complete_lines = set(lines).union(*(text.splitlines() for text in older))
    # The text of a server that cut it short ends with the torn line.
    items = items_of(raw)
    last_known = max((at for at, line in enumerate(lines) if line.strip() in items), default=-1)
    candidates = lines[last_known + 1 :]

    def is_torn(line: bytes) -> bool:
        # Fault: a person may have written a short line that begins like a longer one.
        # It is in an earlier text, or in the complete one, or lines that follow the longer one are there.
        if not line.strip() or line in complete_lines:
            return False
        return any(candidate.startswith(line) for candidate in candidates)

    return _without(raw, is_torn)


def join_records(texts: Sequence[bytes]) -> bytes:
    """Merge the records of several texts, without torn records."""
    joined = merge_records(texts)
    lines = joined.splitlines()

    # Fault: an upload was cut off in the middle of a record, and another program read that part.
    def is_torn(line: bytes) -> bool:
        if not line.strip() or _is_json(line):
            return False
        return any(record.startswith(line) and record != line for record in lines)

    return _without(joined, is_torn)


def _without(raw: bytes, is_dropped: Callable[[bytes], bool]) -> bytes:
    """A text without some lines. `is_dropped` gets each line without its ending."""
    lines = raw.splitlines(keepends=True)
    return b"".join(line for line in lines if not is_dropped(line.rstrip(b"\r\n")))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
