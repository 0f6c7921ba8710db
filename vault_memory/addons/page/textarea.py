"""A note in a text field of a browser, and back to bytes. Pure.

A browser changes line ends and drops a first newline. So only the lines that differ come from the
form. All other lines keep their bytes: line ends, byte order mark, absent last newline.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence

from vault_memory.errors import UsageError
from vault_memory.markdown.merging.line_merge import hunks

_NEWLINE = re.compile(r"\r\n|\r|\n")


def form_text(raw: bytes) -> str:
    """Returns what stands between the tags of the text field, before escaping, for a UTF-8 note."""
    text = raw.removeprefix(BOM_UTF8).decode().replace("\r\n", "\n")
    # Fault: a parser of HTML drops a newline right after the start tag.
    return f"\n{text}" if text.startswith("\n") else text


def bytes_of(form: str, base: bytes) -> bytes:
    """Returns the note that a posted text field means; `base` are the bytes that the form showed.

    Raises UsageError for a text that UTF-8 cannot encode.
    """
    mark = BOM_UTF8 if base.startswith(BOM_UTF8) else b""
    lines = [_encoded(line) for line in _NEWLINE.split(form)]
    base_lines, base_ends = _split(base.removeprefix(mark))
    ends = _ends(lines, base_lines, base_ends)
    # The last line has no end: after a last newline it is an empty line.
    ends[-1] = b""
    return mark + b"".join(map(bytes.__add__, lines, ends))


def _encoded(line: str) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError:
        raise UsageError(
            "the text is not valid Unicode",
            hint="remove the letter that is half of a surrogate pair",
        ) from None


def _split(raw: bytes) -> tuple[list[bytes], list[bytes]]:
    """Returns the lines of a note without their ends, and the ends; that of the last line is empty."""
    lines = []
    ends = []
    for line in raw.split(b"\n"):
        has_return = line.endswith(b"\r")
        lines.append(line[:-1] if has_return else line)
        ends.append(b"\r\n" if has_return else b"\n")
    # Without an LF behind it, a CR belongs to the line.
    if ends[-1] == b"\r\n":
        lines[-1] += b"\r"
    ends[-1] = b""
    return lines, ends


def _ends(
    lines: Sequence[bytes], base_lines: Sequence[bytes], base_ends: Sequence[bytes]
) -> list[bytes]:
    """Returns an end for each line: that of its line in the note, else that of the line above."""
    kinds = set(base_ends[:-1])
    if len(kinds) < 2:
        return [kinds.pop() if kinds else b"\n"] * len(lines)
    ends: list[bytes] = []
    usual = max(kinds, key=base_ends.count)
    for base_index in _base_indexes(lines, base_lines):
        end = base_ends[base_index] if base_index is not None else b""
        ends.append(end or (ends[-1] if ends else usual))
    return ends


def _base_indexes(lines: Sequence[bytes], base_lines: Sequence[bytes]) -> list[int | None]:
    """Returns for each line the line of the note that it was, or that it replaces; None: it is new."""
    indexes: list[int | None] = []
    base_end = 0
    for first, end, form_first, form_end in hunks(base_lines, lines):
        indexes += range(base_end, first)
        replaced = range(first, end)[: form_end - form_first]
        indexes += replaced
        indexes += [None] * (form_end - form_first - len(replaced))
        base_end = end
    return [*indexes, *range(base_end, len(base_lines))]
