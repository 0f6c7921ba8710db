"""Decides which notes a person may edit as a whole text, in an editor or in a text field."""

import re

LARGEST = 256 << 10
"""Bytes of the largest note that is edited as a whole"""
_LONE_CR = re.compile(rb"\r(?!\n)")


def why_not_editable(raw: bytes) -> str:
    """Returns why these bytes cannot be edited as a text without loss, or an empty string."""
    if len(raw) > LARGEST:
        return f"it is larger than {LARGEST >> 10} KiB"
    if b"\0" in raw:
        return "it has a NUL byte"
    # Fault: a text field makes an LF of it, so an untouched line would change.
    if _LONE_CR.search(raw):
        return "it has a carriage return without a line feed"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8"
    return ""
