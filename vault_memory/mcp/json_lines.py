"""Messages on a pipe: one JSON text a line in both directions, and none that fills the memory."""

import os
import re
import select
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

LARGEST = 4 << 20
"""Bytes of one message; the longest argument of a tool, with each letter escaped, has room in it"""
_BLOCK = 1 << 16
_TAIL = 1 << 10
"""Bytes at the end of a dropped message that are kept to find its id"""

_ID = rb'"id"\s*:\s*(?P<id>-?\d{1,18}|"[^"\\\x00-\x1f]{1,200}")'
_NAMES = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"'
_ID_IN_FRONT = re.compile(rb"\s*\{\s*(?:" + _NAMES + rb"\s*,\s*)*" + _ID + rb"\s*[,}]")
_ID_AT_END = re.compile(rb"[,{]\s*" + _ID + rb"\s*(?:,\s*" + _NAMES + rb"\s*)*\}\s*\Z")


class TooLong(NamedTuple):
    """A message that was dropped, but for both its ends."""

    front: bytes
    end: bytes

    def id(self) -> int | str | None:
        """The id of the request, so that its sender does not wait; None where it cannot be told.

        Looks only at members of the outermost object: the first ones, before any value that could
        hold others, and the last ones, before the bracket that closes the message.
        """
        found = _ID_IN_FRONT.match(self.front) or _ID_AT_END.search(self.end)
        return None if found is None else msgspec.json.decode(found["id"])


def read_lines(source: int) -> Iterator[bytes | TooLong]:
    """Each line that comes, without its end. Holds no more than one message in memory."""
    buffer = bytearray()
    dropped: TooLong | None = None
    while block := _read(source):
        *ended, rest = block.split(b"\n")
        for part in ended:
            if dropped is not None:
                yield TooLong(dropped.front, (dropped.end + part)[-_TAIL:])
                dropped = None
            elif len(buffer) + len(part) > LARGEST:
                yield _ends_of(buffer + part)
            else:
                yield bytes(buffer + part)
            buffer.clear()
        if dropped is not None:
            dropped = TooLong(dropped.front, (dropped.end + rest)[-_TAIL:])
            continue
        buffer += rest
        if len(buffer) > LARGEST:
            dropped = _ends_of(buffer)
            buffer.clear()
    # a client that ends without a last line break has still asked
    if dropped is not None:
        yield dropped
    elif buffer:
        yield bytes(buffer)


def _read(source: int) -> bytes:
    """The next bytes; empty at the end."""
    while True:
        try:
            return os.read(source, _BLOCK)
        except BlockingIOError:  # a host may hand on a pipe that does not block
            select.select([source], [], [])


class LineWriter:
    """Writes messages as lines, from any thread. After the reader has gone it drops them."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self.gone = False
        """whether nobody reads any more"""

    def write(self, message: Any) -> None:
        line = memoryview(encode(message) + b"\n")
        with self._lock:
            while line and not self.gone:
                try:
                    line = line[os.write(self._sink, line) :]
                except BlockingIOError:
                    select.select([], [self._sink], [])
                except OSError:
                    self.gone = True


def encode(message: Any) -> bytes:
    try:
        return msgspec.json.encode(message, enc_hook=_plain)
    except (UnicodeEncodeError, OverflowError):
        import json

        # half of a surrogate pair, as in the name of a file, has no UTF-8, but an escape in JSON
        return json.dumps(message).encode("ascii")


def _plain(value: Any) -> str:
    """A text of a class of its own, which msgspec does not write by itself."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def decode(line: bytes) -> Any:
    """The JSON of a line. Raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        if b"\\u" not in line:
            raise
    import json

    # msgspec refuses half of a surrogate pair, which JSON allows: the tool says what is wrong
    return json.loads(line, parse_constant=_refused)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _ends_of(message: bytes | bytearray) -> TooLong:
    return TooLong(bytes(message[:_TAIL]), bytes(message[-_TAIL:]))
