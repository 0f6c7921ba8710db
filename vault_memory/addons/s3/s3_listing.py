"""Builds a listing from the pages of LIST: complete, or an error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vault_memory.addons.s3.s3_address import S3Address
from vault_memory.errors import BadPath
from vault_memory.remote.contract import Entry, RemoteListing
from vault_memory.remote.remote_errors import NotUnderstood
from vault_memory.remote.remote_listing import etag_of
from vault_memory.rules.paths.filenames import inside

CLASH = "it is a file and a folder at once"
TWICE = "the server lists it twice"
MOST_KEYS = 1_000_000

Page = Mapping[str, Any]


@dataclass(slots=True)
class _CollectedKeys:
    """What the keys of a listing mean."""

    files: dict[str, Entry] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    unknown: dict[str, str] = field(default_factory=dict)
    dropped: int = 0


def folder_entry(path: str) -> Entry:
    return Entry(path, True, "")


def file_entry(path: str, item: Mapping[str, Any]) -> Entry | None:
    """The entry of a key in a listing; None when its tag cannot be sent back."""
    etag, weak = etag_of(str(item.get("ETag", "")))
    if not etag:
        return None
    return Entry(
        path=path,
        is_folder=False,
        etag=etag,
        size=int(item.get("Size", 0)),
        modified=seconds_of(item.get("LastModified")),
        confirmed=not weak,
    )


def seconds_of(moment: Any) -> int:
    """A time of boto3 in Unix seconds; 0 when there is none."""
    return int(moment.timestamp()) if moment is not None else 0


def s3_listing(
    pages: Iterable[Page], address: S3Address, folder: str, *, deep: bool
) -> RemoteListing | None:
    """The listing of a folder; None when no key begins with it. Raises NotUnderstood."""
    start = address.marker(folder)
    collected = _CollectedKeys()
    keys = 0
    for page in pages:
        prefixes = page.get("CommonPrefixes", [])
        items = page.get("Contents", [])
        keys += len(prefixes) + len(items)
        # Fault (H121): a hostile server lists without end.
        if keys > MOST_KEYS:
            raise NotUnderstood(f"it lists more than {MOST_KEYS} keys", path=folder)
        for prefix in prefixes:
            _collect_folder(str(prefix["Prefix"]), start, folder, collected)
        for item in items:
            _collect(item, start, folder, collected, deep=deep)
    if not keys:
        return None
    return _listing(collected, folder)


def _collect(
    item: Mapping[str, Any], start: str, folder: str, collected: _CollectedKeys, *, deep: bool
) -> None:
    key = str(item["Key"])
    name = key.removeprefix(start)
    if key == start:
        return
    if name.endswith("/"):
        _collect_folder(key, start, folder, collected)
        return
    is_outside = not key.startswith(start)
    if is_outside or ("/" in name and not deep):
        collected.dropped += 1
        return
    path = _path(folder, name, collected)
    if path is None:
        return
    entry = file_entry(path, item)
    if path in collected.files or path in collected.unknown:
        # Fault (E88): two entries of one file contradict each other, and neither is
        # sure.
        collected.files.pop(path, None)
        collected.unknown[path] = TWICE
    elif entry is None:
        collected.unknown[path] = "the server gives no ETag for it"
    else:
        collected.files[path] = entry


def _collect_folder(key: str, start: str, folder: str, collected: _CollectedKeys) -> None:
    if not key.startswith(start):
        collected.dropped += 1
        return
    path = _path(folder, key.removeprefix(start).removesuffix("/"), collected)
    if path is not None:
        collected.folders.add(path)


def _path(folder: str, name: str, collected: _CollectedKeys) -> str | None:
    """The path of a name below the folder; None when it is unknown or dropped. Notes its folders."""
    # Fault (H119): no part of a name may lead upwards on any device.
    if {"", ".", ".."} & set(name.replace("\\", "/").split("/")):
        collected.dropped += 1
        return None
    start = f"{folder}/" if folder else ""
    parts = name.split("/")
    for number in range(1, len(parts) + 1):
        path = start + "/".join(parts[:number])
        try:
            inside(path)
        except BadPath as error:
            collected.unknown[path] = error.reason
            return None
        if number < len(parts):
            collected.folders.add(path)
    return path


def _listing(collected: _CollectedKeys, folder: str) -> RemoteListing:
    unknown = collected.unknown
    for path in collected.files.keys() & collected.folders:
        # Fault: S3 can keep `a` and `a/b` at once, and no disk can.
        unknown[path] = CLASH
    entries = dict(collected.files)
    for path in collected.folders:
        entries[path] = folder_entry(path)
    for path in list(entries):
        if _is_in_unknown(path, unknown):
            del entries[path]
    ordered = tuple(entries[path] for path in sorted(entries))
    return RemoteListing(folder_entry(folder), ordered, unknown, collected.dropped)


def _is_in_unknown(path: str, unknown: Mapping[str, str]) -> bool:
    while path and unknown:
        if path in unknown:
            return True
        path = path.rpartition("/")[0]
    return False
