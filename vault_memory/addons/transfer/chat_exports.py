"""Opens the export of a chat program: the zip that it sent, its folder, or a file of conversations."""

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from vault_memory.addons.transfer import json_array
from vault_memory.errors import UsageError

LARGEST_CONVERSATION = 32 << 20
"""Bytes of JSON of one conversation; a larger one is left out"""
LARGEST_RATIO = 200
"""How many times its size a file in a zip may unpack to; a list of conversations has 5 to 30"""
SURELY_HARMLESS = 256 << 20
"""Unpacked bytes that are read at any ratio"""
_CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json")
_PATTERN = "conversations*.json"
_ZIP_SIGN = b"PK\x03\x04"
_BROKEN = (
    json_array.BrokenArray,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    OSError,
)
"""What a damaged file, a broken download or a disk with faults raises when it is read"""


class NoExport(UsageError):
    """The file has no conversations that can be imported."""

    def __init__(self, source: Path, why: str, hint: str = "") -> None:
        super().__init__(
            f"`{source}` {why}",
            hint=hint or "name the zip of the program, its folder, or its conversations.json",
        )


class ExportBroken(Exception):
    """A list of conversations ends before it is complete, or cannot be read on."""


def lists_of(source: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yields the name and the bytes of each list of conversations. Raises NoExport."""
    try:
        if source.is_dir():
            yield from _in_folder(source)
        elif zipfile.is_zipfile(source):
            yield from _in_zip(source)
        else:
            with source.open("rb") as stream:
                _check_is_no_zip(source, stream)
                yield source.name, stream
    except FileNotFoundError:
        raise NoExport(source, "does not exist") from None
    except zipfile.BadZipFile as error:
        raise NoExport(source, f"is a damaged zip: {error}", _FETCH_AGAIN) from None
    except OSError as error:
        raise NoExport(source, f"cannot be read: {error.strerror or error}") from None


def conversations_in(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yields the JSON of each conversation of a list; None for one that is too large.

    Raises ExportBroken.
    """
    try:
        yield from json_array.objects(stream, LARGEST_CONVERSATION)
    except _BROKEN as error:
        raise ExportBroken(str(error) or type(error).__name__) from None


_FETCH_AGAIN = "fetch the export again: the download may have been cut off"


def _check_is_no_zip(source: Path, stream: IO[bytes]) -> None:
    # Fault: the end of a zip, where its table is, is missing after a broken download.
    if stream.read(len(_ZIP_SIGN)) == _ZIP_SIGN:
        raise NoExport(source, "is a zip without its end", _FETCH_AGAIN)
    stream.seek(0)


def _in_folder(source: Path) -> Iterator[tuple[str, IO[bytes]]]:
    paths = [*source.glob(_PATTERN), *source.glob(f"*/{_PATTERN}")]
    lists = sorted(path for path in paths if _CONVERSATIONS.fullmatch(path.name))
    if not lists:
        raise NoExport(source, "has no conversations.json")
    for path in lists:
        with path.open("rb") as stream:
            yield path.name, stream


def _in_zip(source: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(source) as archive:
        entries = sorted(
            (entry for entry in archive.infolist() if _is_list(entry.filename)),
            key=lambda entry: entry.filename,
        )
        if not entries:
            raise NoExport(source, "has no conversations.json")
        for entry in entries:
            _check_entry(source, entry)
        for entry in entries:
            with archive.open(entry) as stream:
                yield entry.filename, stream


def _is_list(name: str) -> bool:
    folder, _, last = name.rpartition("/")
    # Fault: macOS adds a folder with a file of attributes for each file of the zip.
    return bool(_CONVERSATIONS.fullmatch(last)) and "__MACOSX" not in folder


def _check_entry(source: Path, entry: zipfile.ZipInfo) -> None:
    """Raises NoExport for a list that cannot be unpacked, or unpacks to far more than it should."""
    if entry.flag_bits & 1:
        raise NoExport(
            source, "is encrypted", "unpack it with its password, and name the folder instead"
        )
    # Fault: a zip of a megabyte can unpack to a petabyte, and would fill the disk.
    most = max(SURELY_HARMLESS, LARGEST_RATIO * entry.compress_size)
    if entry.file_size > most:
        raise NoExport(
            source,
            f"unpacks {entry.filename} to {entry.file_size:,} bytes, from {entry.compress_size:,}:"
            " no export does",
            "fetch the export from the program itself",
        )
