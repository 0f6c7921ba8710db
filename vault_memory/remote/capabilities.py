"""Probes what a server can do, in a scratch folder that is removed afterwards."""

import re
import secrets
import unicodedata
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from vault_memory.remote.contract import Capabilities
from vault_memory.remote.http_transport import Request
from vault_memory.remote.remote_errors import (
    AnsweredByProxy,
    NotUnderstood,
    Refused,
    RemoteChanged,
    RemoteError,
)
from vault_memory.remote.remote_listing import ListingContext, listing

if TYPE_CHECKING:
    from vault_memory.remote.webdav import WebDav

_NAME = "vault-memory-probe-"
_LEFT_SECONDS = 3600
NOT_A_TAG = 'If-Match: "0-no-such-tag"'
_COMPOSED, _DECOMPOSED = (
    unicodedata.normalize("NFC", "n-\u00fc.md"),
    unicodedata.normalize("NFD", "n-\u00fc.md"),
)


def probe(remote: "WebDav") -> Capabilities:
    """Probe a server with some twenty requests. Raises RemoteError when it stores no files."""
    tidy(remote)
    previous, remote.traits = remote.traits, Capabilities(infinity=False)
    # Fault (B33): a crash leaves the folder behind. Under the name of a temporary file,
    # no program syncs it.
    scratch = f"{_NAME}{secrets.token_hex(6)}.tmp"
    try:
        remote.mkcol(scratch)
        try:
            return _try_out(remote, scratch)
        finally:
            remote.remove_scratch(scratch)
    finally:
        remote.traits = previous


def is_scratch(path: str) -> bool:
    """Whether this is the name of a scratch folder."""
    return bool(re.fullmatch(rf"{_NAME}[0-9a-f]{{12}}\.tmp", path))


def tidy(remote: "WebDav") -> None:
    """Remove scratch folders that are an hour old: a probe takes seconds."""
    with suppress(RemoteError):
        lines, date = remote.propfind("", depth="1")
        context = ListingContext(remote.at, Capabilities(etags=False), date)
        for entry in listing(lines, context, folder="", deep=False).entries:
            # Fault: another device may be probing now. By the server's own clock, its
            # folder is not left behind.
            is_old = date is not None and 0 < entry.modified <= date - _LEFT_SECONDS
            if entry.is_folder and is_old and is_scratch(entry.path):
                remote.remove_scratch(entry.path)


def _try_out(remote: "WebDav", scratch: str) -> Capabilities:
    """Try all capabilities in a scratch folder."""
    file = f"{scratch}/a.md"
    stored = remote.put(file, b"first\n", expected=None)
    traits = replace(_listed(remote, scratch), etag_in_put=bool(stored.etag))
    remote.traits = traits
    # Fault (E102): some servers accept a precondition and ignore it. Only a write that
    # must fail shows that.
    overwrites_new = _succeeds(
        remote, Request("upload", "", b"second\n", ("If-None-Match: *",)), file
    )
    overwrites_old = _succeeds(remote, Request("upload", "", b"third\n", (NOT_A_TAG,)), file)
    conditional_put = not overwrites_old
    if conditional_put and traits.etags:
        conditional_put = _matches(remote, file)
    versions = _keeps_versions(remote, file)
    renamed = f"{scratch}/b.md"
    destination = f"Destination: {remote.at.origin}{remote.at.target(renamed)}"
    moves = _succeeds(
        remote, Request("move", "", headers=(NOT_A_TAG, destination, "Overwrite: F")), file
    )
    remaining = renamed if moves else file
    deletes = _succeeds(remote, Request("clean", "", headers=(NOT_A_TAG,)), remaining)
    return replace(
        traits,
        conditional_create=not overwrites_new,
        conditional_put=conditional_put,
        conditional_move=not moves,
        conditional_delete=not deletes,
        versions=versions,
        normalises_names=_normalises(remote, scratch),
        **_of_trees(remote, scratch),
    )


def _listed(remote: "WebDav", scratch: str) -> Capabilities:
    """The capabilities that the properties of a listing show."""
    # Without a demand for tags, a server that has none can be listed.
    remote.traits = Capabilities(etags=False)
    file = remote.look(f"{scratch}/a.md")
    folder = remote.look(scratch, folder=True)
    return Capabilities(
        etags=not file.etag.startswith("~"), fileids=bool(file.fileid and folder.fileid)
    )


def _matches(remote: "WebDav", path: str) -> bool:
    """Whether the server accepts the right tag, if need be after a second."""
    try:
        remote.put(path, b"fourth\n", expected=remote.look(path).etag)
    except RemoteChanged:
        return False
    return True


def _keeps_versions(remote: "WebDav", path: str) -> bool:
    """Whether the server keeps earlier versions. Asked twice: a proxy may miss the server for a moment."""
    with suppress(AnsweredByProxy):
        return bool(remote.versions(path))
    try:
        return bool(remote.versions(path))
    except AnsweredByProxy:
        # This proxy replaces each refusal of the server by a page of its own.
        return False


def _of_trees(remote: "WebDav", scratch: str) -> dict[str, bool]:
    remote.mkcol(f"{scratch}/sub")
    before = remote.look(scratch, folder=True).etag
    remote.put(f"{scratch}/sub/c.md", b"below\n", expected=None)
    after = remote.look(scratch, folder=True).etag
    return {"recursive_etags": before != after, "infinity": _sees_all(remote, scratch)}


def _sees_all(remote: "WebDav", scratch: str) -> bool:
    try:
        lines, _ = remote.propfind(scratch, depth="infinity")
    except (Refused, NotUnderstood):
        return False
    return any(line.href.rstrip("/").endswith("/sub/c.md") for line in lines)


def _normalises(remote: "WebDav", scratch: str) -> bool:
    try:
        remote.put(f"{scratch}/{_DECOMPOSED}", b"name\n", expected=None)
    except Refused:
        return False
    names = [entry.path.rpartition("/")[2] for entry in remote.list(scratch).entries]
    return _COMPOSED in names and _DECOMPOSED not in names


def _succeeds(remote: "WebDav", request: Request, path: str) -> bool:
    """Whether the server does to a path what a precondition forbids."""
    request = replace(request, target=remote.at.target(path))
    answer = remote.exchange(request, path)
    if answer.status != 412 and not 200 <= answer.status < 300:
        remote.refuse(request.action, path, answer)
    return answer.status != 412
