"""Reads notes that are no UTF-8: those with a byte order mark of UTF-16, and Windows-1252.

Only reading decodes them. Edits refuse such a note, since a line in UTF-8 would be another encoding
within the same file.
"""

import codecs

UTF_16 = "UTF-16"
WINDOWS = "Windows-1252"
"""Also called CP1252, of which Latin-1 has all letters"""

_MARKS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FIRST_SURROGATE = 0xDC00
"""Python reads a byte that is no UTF-8 as this number plus the byte"""
_WINDOWS_LETTERS = {
    _FIRST_SURROGATE + byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte)
    for byte in range(0x80, 0x100)
}


def encoding_of(raw: bytes) -> str:
    """Return the encoding of a note; empty for UTF-8."""
    if raw.startswith(_MARKS_16):
        return UTF_16
    try:
        raw.decode()
    except UnicodeDecodeError:
        return WINDOWS
    return ""


def text_of(raw: bytes) -> str:
    """Return the text of a note. Any bytes are a text."""
    if raw.startswith(_MARKS_16):
        return raw.decode("utf-16", "replace")
    return text_of_lines(raw)


def text_of_lines(raw: bytes) -> str:
    """Return the text of bytes from within a note: each byte that is no UTF-8 is of Windows-1252.

    So a note with lines of two programs, of which one wrote UTF-8, is read as both meant it.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape").translate(_WINDOWS_LETTERS)


def as_utf8(raw: bytes) -> bytes:
    """Return a note in UTF-8, with the same lines."""
    return text_of(raw).encode("utf-8", "replace") if encoding_of(raw) else raw


def in_encoding_of(raw: bytes, utf8: bytes) -> bytes:
    """Return a text in the UTF-16 of a note, whose byte order it keeps."""
    little = raw.startswith(codecs.BOM_UTF16_LE)
    name = "utf-16-le" if little else "utf-16-be"
    return raw[:2] + utf8.decode("utf-8", "replace").encode(name)
