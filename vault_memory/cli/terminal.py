"""What may reach a terminal: text without control characters, and the few codes for colour that are ours.

A name or a note may hold characters that move the cursor, hide text or turn its direction. They are shown as escapes.
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
"""Stands for ESC in our own styles until the text is written. No note can contain it, because nobody can guess it"""


def escaped(text: str) -> str:
    """The text with each control character as ``\\x1b`` and each direction mark as ``\\u202e``."""
    return _UNSAFE.sub(lambda match: _escape(match[0]), text)


def escaped_json(text: str) -> str:
    """JSON that says the same, with none of these characters in it."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_text(answer: object) -> str:
    """One JSON object on one line, in the letters that stdout can write."""
    import json

    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    escapes = encoding.lower().replace("-", "") != "utf8"
    return escaped_json(json.dumps(answer, ensure_ascii=escapes))


def styled(
    text: str,
    *,
    fg: str | None = None,
    bold: bool | None = None,
    dim: bool | None = None,
) -> str:
    """The text in a colour, for `shown`; only what is styled here ends in colour codes."""
    import click  # only here: what is not coloured needs none of it

    return click.style(escaped(text), fg=fg, bold=bold, dim=dim).replace("\x1b", _MARK)


def shown(text: str) -> str:
    """The text as it goes to a terminal."""
    return "\x1b".join(escaped(part) for part in text.split(_MARK))


def guard_streams() -> None:
    """From now on nothing reaches a terminal unescaped, whoever writes it: a log, a prompt, an error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if (
            isinstance(stream, io.TextIOWrapper)
            and not isinstance(stream, _Guarded)
            and stream.isatty()
        ):
            encoding, buffered = stream.encoding, not stream.line_buffering
            raw = stream.detach()
            setattr(
                sys,
                name,
                _Guarded(
                    raw, encoding, "backslashreplace", line_buffering=not buffered
                ),
            )


class _Guarded(io.TextIOWrapper):
    """A stream to a terminal. Codes for colour pass: what else is in the text was escaped before they were added."""

    def write(self, text: str) -> int:
        parts = _COLOUR.split(text)
        super().write(
            "".join(part if at % 2 else escaped(part) for at, part in enumerate(parts))
        )
        return len(text)


def _escape(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
