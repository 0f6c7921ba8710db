"""Escapes text for a terminal, and lets the colour codes of this program pass.

A name or a note may contain characters that move the cursor, hide text or change its direction. A
terminal gets them as visible escapes.
"""

import io
import os
import re
import sys

_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LINE_ENDS = r"\u2028\u2029"
_UNSAFE = re.compile(rf"[{_CONTROL}{_BIDI}{_LINE_ENDS}]|\r(?!\n)")
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
_MARK = f"<{os.urandom(12).hex()}>"
"""Replaces ESC in styles until the text is written. It is random, so no note contains it"""


def escaped(text: str) -> str:
    """Return the text with visible escapes, such as ``\\x1b`` and ``\\u202e``."""
    return _UNSAFE.sub(_visible, text)


def escaped_json(text: str) -> str:
    """Return JSON of the same meaning without any of these characters."""
    return _UNSAFE.sub(_json_escape, text)


def json_text(answer: object) -> str:
    """Return a JSON object on one line, in letters that stdout can encode."""
    import json

    text = json.dumps(answer, ensure_ascii=not writes_all_letters())
    return escaped_json(text)


def writes_all_letters() -> bool:
    """Return whether stdout is written in UTF-8."""
    # A closed stdout has no encoding, and that of a C locale lacks most letters.
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return encoding.lower().replace("-", "") == "utf8"


def styled(
    text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None
) -> str:
    """Return the escaped text in a style, for `shown`."""
    # Imported here: only coloured output needs it.
    import click

    # ESC in the text itself is escaped by now, so each one left is of the style.
    painted = click.style(escaped(text), fg=fg, bold=bold, dim=dim)
    return painted.replace("\x1b", _MARK)


def shown(text: str) -> str:
    """Return the text for a terminal: escaped, with the colour codes of `styled`."""
    return "\x1b".join(escaped(segment) for segment in text.split(_MARK))


def guard_streams() -> None:
    """Escape all text that goes to a terminal from now on: logs, prompts and errors, too."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, _Guarded):
            continue
        # A file or a pipe gets each byte of a note.
        if not stream.isatty():
            continue
        encoding = stream.encoding
        is_line_buffered = stream.line_buffering
        guarded = _Guarded(
            stream.detach(), encoding, "backslashreplace", line_buffering=is_line_buffered
        )
        setattr(sys, name, guarded)


class _Guarded(io.TextIOWrapper):
    """A stream to a terminal that escapes text. Colour codes pass: notes were escaped before."""

    def write(self, text: str) -> int:
        segments = _COLOUR.split(text)
        # `split` puts the colour codes at the odd indexes.
        for index in range(0, len(segments), 2):
            segments[index] = escaped(segments[index])
        super().write("".join(segments))
        # A caller compares the result with the length of its own text.
        return len(text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}"
