"""Splits a JSON array into its objects, so that one of them is in memory at a time.

It looks for brackets and strings only. Another error in an object is found when it is decoded.
"""

import re
from collections.abc import Iterator
from typing import IO

CHUNK_BYTES = 1 << 18
_BOM = b"\xef\xbb\xbf"
_NEXT = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+', re.DOTALL)
"""Everything up to a bracket, complete strings included, or up to a string without its end"""
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_OPENING = b"[{"
_QUOTE = ord('"')


class BrokenArray(ValueError):
    """The bytes are no JSON array of objects, or end before it does."""


def objects(stream: IO[bytes], largest: int) -> Iterator[bytes | None]:
    """Yields the bytes of each object in the array; None for one above `largest` bytes.

    Raises BrokenArray, and what `stream` raises.
    """
    splitter = _Splitter(largest)
    while chunk := stream.read(CHUNK_BYTES):
        yield from splitter.feed(chunk)
        if splitter.is_done:
            return
    splitter.end()


class _Splitter:
    """Where in the array the bytes end that were read so far."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._pending = bytearray()
        """the bytes of the open object, else those that were not looked at"""
        self._position = 0
        """up to here the pending bytes were looked at"""
        self._start = 0
        """where the open object begins"""
        self._depth = 0
        """number of open brackets; 1 in the array, 2 and more in an object"""
        self._in_string = False
        self._is_too_large = False
        self.is_done = False

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Yields the objects that end in this chunk."""
        self._pending += chunk
        while self._to_next_bracket():
            bracket = self._pending[self._position]
            self._position += 1
            if bracket in _OPENING:
                self._open(bracket)
                continue
            self._depth -= 1
            if self._depth == 1:
                yield self._closed()
            elif self._depth <= 0:
                self.is_done = True
                return
        self._forget()

    def end(self) -> None:
        """Raises BrokenArray: the bytes have ended, and the array has not."""
        raise BrokenArray("it breaks off" if self._depth else "it is no list")

    def _to_next_bracket(self) -> bool:
        """Moves to the next bracket outside of strings. False if it is in a later chunk."""
        pending = self._pending
        if self._in_string:
            self._position = _end(_IN_STRING, pending, self._position)
            # Fault: a backslash at the end of the chunk belongs to the byte that follows.
            if pending[self._position : self._position + 1] != b'"':
                return False
            self._in_string = False
            self._position += 1
        before = self._position
        self._position = _end(_NEXT, pending, before)
        if not self._depth:
            self._check_beginning(before)
        if self._position == len(pending):
            return False
        if pending[self._position] == _QUOTE:
            self._in_string = True
            self._position += 1
            return self._to_next_bracket()
        return True

    def _check_beginning(self, before: int) -> None:
        """Raises BrokenArray if anything but blanks precedes the array."""
        pending = self._pending
        is_array = pending[self._position : self._position + 1] in (bytearray(), bytearray(b"["))
        is_blank = not bytes(pending[before : self._position]).removeprefix(_BOM).strip()
        if not (is_array and is_blank):
            raise BrokenArray("it is no list")

    def _open(self, bracket: int) -> None:
        self._depth += 1
        if self._depth == 2:
            self._start = self._position - 1

    def _closed(self) -> bytes | None:
        """Returns the object that ends here, and makes place for the next one."""
        size = self._position - self._start
        is_too_large = self._is_too_large or size > self._largest
        self._is_too_large = False
        return None if is_too_large else bytes(self._pending[self._start : self._position])

    def _forget(self) -> None:
        """Drops the bytes that no object needs."""
        is_in_object = self._depth > 1
        # Fault: one object of hundreds of megabytes must not fill the memory.
        if is_in_object and len(self._pending) - self._start > self._largest:
            self._is_too_large = True
        unneeded = self._position
        if is_in_object and not self._is_too_large:
            unneeded = self._start
        del self._pending[:unneeded]
        self._position -= unneeded
        self._start = 0


def _end(pattern: re.Pattern[bytes], text: bytearray, start: int) -> int:
    match = pattern.match(text, start)
    assert match is not None, "the pattern fits an empty text, too"
    return match.end()
