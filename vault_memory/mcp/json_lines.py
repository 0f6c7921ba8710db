"""Reads and writes messages on a pipe, one JSON text a line; messages have a largest size."""

import os
import re
import select
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

LARGEST = 4 << 20
"""Bytes of one message: room for the longest argument of a tool, with each letter escaped"""
_BLOCK = 1 << 16
_TAIL = 1 << 10
"""Bytes of each end of a dropped message in which its id is searched"""

_ID = rb'"id"\s*:\s*(?P<id>-?\d{1,18}|"[^"\\\x00-\x1f]{1,200}")'
_NAMES = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"'
_ID_IN_FRONT = re.compile(rb"\s*\{\s*(?:" + _NAMES + rb"\s*,\s*)*" + _ID + rb"\s*[,}]")
_ID_AT_END = re.compile(rb"[,{]\s*" + _ID + rb"\s*(?:,\s*" + _NAMES + rb"\s*)*\}\s*\Z")


class TooLong(NamedTuple):
    """The two ends of a message that was dropped."""

    front: bytes
    end: bytes

    def id(self) -> int | str | None:
        """Returns the id of the request, which waits for an answer; None if it is unclear."""
        # Fault: an inner object may have an `id`, too. An answer to the wrong request
        # would mix two calls up. So only members of the outermost object count: the
        # first ones, before any inner object, and the last ones, before the last
        # bracket.
        match = _ID_IN_FRONT.match(self.front) or _ID_AT_END.search(self.end)
        return None if match is None else msgspec.json.decode(match["id"])

    def with_more(self, raw: bytes) -> "TooLong":
        """Returns the ends of the message after more bytes of it came."""
        return TooLong(self.front, (self.end + raw)[-_TAIL:])


def read_lines(source: int) -> Iterator[bytes | TooLong]:
    """Yields each line without its end. Memory holds one message at most."""
    buffer = bytearray()
    dropped: TooLong | None = None
    while block := _read(source):
        *line_ends, begun_line = block.split(b"\n")
        for line_end in line_ends:
            if dropped is not None:
                yield dropped.with_more(line_end)
                dropped = None
            elif len(buffer) + len(line_end) > LARGEST:
                yield _ends_of(buffer + line_end)
            else:
                yield bytes(buffer + line_end)
            buffer.clear()
        if dropped is not None:
            dropped = dropped.with_more(begun_line)
            continue
        buffer += begun_line
        # Fault: a line without an end must not fill the memory.
        if len(buffer) > LARGEST:
            dropped = _ends_of(buffer)
            buffer.clear()
    # A client may close the pipe without a last line break.
    if dropped is not None:
        yield dropped
    elif buffer:
        yield bytes(buffer)


def _read(source: int) -> bytes:
    """Waits for the next bytes; empty at the end of the input."""
    while True:
        try:
            return os.read(source, _BLOCK)
        except BlockingIOError:
            # Some hosts give a pipe that does not block.
            select.select([source], [], [])


class LineWriter:
    """Writes messages as lines, from any thread. It drops them once the reader has gone."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self.gone = False
        """Whether the reader closed the pipe"""

    def write(self, message: Any) -> None:
        """Writes one message."""
        line = memoryview(encode(message) + b"\n")
        with self._lock:
            while line and not self.gone:
                try:
                    line = line[os.write(self._sink, line) :]
                except BlockingIOError:
                    # Some hosts give a pipe that does not block.
                    select.select([], [self._sink], [])
                except OSError:
                    # The host closed the pipe: later answers have no reader.
                    self.gone = True


def encode(message: Any) -> bytes:
    """Returns a message as JSON."""
    try:
        return msgspec.json.encode(message, enc_hook=_plain)
    except (UnicodeEncodeError, OverflowError):
        import json

        # Half of a surrogate pair, as in the name of a file, has an escape in JSON, and no UTF-8.
        return json.dumps(message).encode("ascii")


def _plain(value: Any) -> str:
    """Returns the text of a subclass of `str`, which msgspec does not write by itself."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def decode(line: bytes) -> Any:
    """Returns the value of a line. Raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        if b"\\u" not in line:
            raise
    import json

    # msgspec refuses half of a surrogate pair, which JSON allows: the tool explains the error.
    return json.loads(line, parse_constant=_refused)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _ends_of(message: bytes | bytearray) -> TooLong:
    return TooLong(bytes(message[:_TAIL]), bytes(message[-_TAIL:]))
