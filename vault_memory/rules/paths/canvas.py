"""Reads the boards of Obsidian: the text of a `.canvas` file, as Markdown on the same lines."""

import json
import re

TEXT = re.compile(r'"(?:text|label)"\s*:\s*("(?:[^"\\]|\\.)*")')
"""A key of a card or of a group, with its text as a JSON string"""
_BETWEEN = " · "


def as_markdown(raw: bytes) -> bytes:
    """Returns the texts of a board, each as an item on the line where it is in the file.

    So a hit names the line of the file. A damaged file gives the texts that can be read.
    """
    # Fault: parsed as JSON, a board that is half saved would lose all its text, and the lines of
    # its texts would be unknown.
    lines = raw.decode("utf-8", "replace").split("\n")
    return "\n".join(map(_item, lines)).encode("utf-8", "replace")


def _item(line: str) -> str:
    texts = [_text(match[1]) for match in TEXT.finditer(line)]
    joined = _BETWEEN.join(text for text in texts if text)
    return f"- {joined}" if joined else ""


def _text(literal: str) -> str:
    try:
        text = str(json.loads(literal))
    except ValueError:
        # Fault: another program wrote an invalid escape. The other texts still count.
        return ""
    return " ".join(text.split())
