"""Values that JSON can hold: whatever a caller gave is made so, and bytes go in as text or as base64."""

import base64
import binascii
from collections.abc import Mapping, Sequence

from vault_memory.rules.edits.ops import Op, as_json

LONGEST = 2_000
"""In characters, of a text that somebody sent"""
DEEPEST = 8


def plain(value: object, *, longest: int = LONGEST, depth: int = 0) -> object:
    """A value that JSON can hold, near to the one given; long texts are cut to `longest` characters when not 0."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else hex(value)[:80]
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, Op):
        return plain(as_json(value), longest=longest, depth=depth)
    if isinstance(value, str) or depth >= DEEPEST:
        text = (
            (value if isinstance(value, str) else type(value).__name__)
            .encode("utf-8", "replace")
            .decode()
        )
        return text if not longest or len(text) <= longest else text[:longest] + "…"
    if isinstance(value, Mapping):
        return {
            str(plain(key)): plain(item, longest=longest, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item, longest=longest, depth=depth + 1) for item in value]
    return type(value).__name__


def packed(raw: bytes) -> object:
    """Text as it is, other bytes as base64."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def unpacked(value: object) -> bytes:
    """The bytes again; none where there is nothing to understand."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    packed = value.get("base64") if isinstance(value, Mapping) else None
    try:
        return (
            base64.b64decode(packed, validate=True) if isinstance(packed, str) else b""
        )
    except (binascii.Error, ValueError):
        return b""
