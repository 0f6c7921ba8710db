"""Converts any value to one that JSON can hold; bytes become text or base64."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from vault_memory.rules.edits.ops import Op, as_json

if TYPE_CHECKING:
    from vault_memory.contract.edit_answers import TextOrBytes

LONGEST = 2_000
"""In characters, of a text in a value"""
DEEPEST = 8


def plain(value: object, *, longest: int = LONGEST, depth: int = 0) -> object:
    """Returns a value that JSON can hold; texts are cut to `longest` characters, 0 cuts none."""
    if isinstance(value, str):
        # A record has many short texts in ASCII, and each stays as it is.
        if value.isascii() and (not longest or len(value) <= longest):
            return value
        return _plain_text(value, longest)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _plain_number(value)
    return _plain_container(value, longest, depth)


def _plain_container(value: object, longest: int, depth: int) -> object:
    """Returns an op, a mapping or a sequence; of any other value only the name of its type."""
    if isinstance(value, Op):
        value = as_json(value)
    # Fault: a value that contains itself has no end.
    if depth >= DEEPEST:
        return _plain_text(type(value).__name__, longest)
    if isinstance(value, Mapping):
        return {
            str(plain(key)): plain(item, longest=longest, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item, longest=longest, depth=depth + 1) for item in value]
    return type(value).__name__


def _plain_number(value: float) -> object:
    if isinstance(value, int):
        # Many JSON readers lose digits of larger numbers.
        is_exact = abs(value) < 2**63
        return value if is_exact else hex(value)[:80]
    # Infinity and NaN have no JSON form.
    return value if isfinite(value) else repr(value)


def _plain_text(value: str, longest: int) -> str:
    text = value
    # Half of a surrogate pair has no UTF-8 form. Most texts are ASCII, which has none.
    if not value.isascii():
        text = value.encode("utf-8", "replace").decode()
    if not longest or len(text) <= longest:
        return text
    return text[:longest] + "…"


def packed(raw: bytes) -> "TextOrBytes":
    """Returns UTF-8 bytes as text, other bytes as an object with base64."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def unpacked(value: object) -> bytes:
    """Returns the bytes of a packed value; ``b""`` for any other value."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    encoded = value.get("base64") if isinstance(value, Mapping) else None
    if not isinstance(encoded, str):
        return b""
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""
