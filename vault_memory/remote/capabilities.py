"""What a server honours, found out by trying it on a scratch folder that is gone afterwards."""

import re
import secrets
import unicodedata
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from vault_memory.remote.contract import Capabilities
from vault_memory.remote.remote_errors import (
    AnsweredByProxy,
    NotUnderstood,
    Refused,
    RemoteChanged,
    RemoteError,
)
from vault_memory.remote.remote_listing import listing

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
    """Some twenty requests; raises when not even plain files can be stored."""
    tidy(remote)
    known, remote.traits = remote.traits, Capabilities(infinity=False)
    scratch = f"{_NAME}{secrets.token_hex(6)}.tmp"  # a name that is no memory, should it be left behind
    try:
        remote.mkcol(scratch)
        try:
            return _try_out(remote, scratch)
        finally:
            remote.remove_scratch(scratch)
    finally:
        remote.traits = known


def is_scratch(path: str) -> bool:
    """Whether this is the name of a folder in which something was tried out."""
    return bool(re.fullmatch(rf"{_NAME}[0-9a-f]{{12}}\.tmp", path))


def tidy(remote: "WebDav") -> None:
    """Remove scratch folders that nobody has written in for an hour: a probe takes seconds."""
    with suppress(RemoteError):
        lines, date = remote.propfind("", depth="1")
        seen = listing(
            lines,
            folder="",
            deep=False,
            at=remote.at,
            traits=Capabilities(etags=False),
            date=date,
        )
        for entry in seen.entries:
            is_old = date is not None and 0 < entry.modified <= date - _LEFT_SECONDS
            if entry.is_folder and is_old and is_scratch(entry.path):
                remote.remove_scratch(entry.path)


def _try_out(remote: "WebDav", scratch: str) -> Capabilities:
    told = remote.put(f"{scratch}/a.md", b"first\n", expected=None)
    traits = _listed(remote, scratch)
    remote.traits = traits = replace(traits, etag_in_put=bool(told.etag))
    traits = replace(
        traits,
        conditional_create=not _succeeds(
            remote, "upload", f"{scratch}/a.md", b"second\n", "If-None-Match: *"
        ),
        conditional_put=not _succeeds(
            remote, "upload", f"{scratch}/a.md", b"third\n", NOT_A_TAG
        ),
    )
    if traits.conditional_put and traits.etags:
        traits = replace(traits, conditional_put=_matches(remote, f"{scratch}/a.md"))
    versions = _keeps_versions(remote, f"{scratch}/a.md")
    target = f"Destination: {remote.at.origin}{remote.at.target(f'{scratch}/b.md')}"
    moved = _succeeds(
        remote, "move", f"{scratch}/a.md", None, NOT_A_TAG, target, "Overwrite: F"
    )
    left = f"{scratch}/b.md" if moved else f"{scratch}/a.md"
    deleted = _succeeds(remote, "clean", left, None, NOT_A_TAG)
    return replace(
        traits,
        conditional_move=not moved,
        versions=versions,
        conditional_delete=not deleted,
        normalises_names=_normalises(remote, scratch),
        **_of_trees(remote, scratch),
    )


def _listed(remote: "WebDav", scratch: str) -> Capabilities:
    """What the properties in a listing tell."""
    remote.traits = Capabilities(
        etags=False
    )  # without a demand for tags, so that a server with none can be read at all
    file = remote.look(f"{scratch}/a.md")
    folder = remote.look(scratch, folder=True)
    return Capabilities(
        etags=not file.etag.startswith("~"), fileids=bool(file.fileid and folder.fileid)
    )


def _matches(remote: "WebDav", path: str) -> bool:
    """Whether the right tag is taken for right, be it after a second."""
    try:
        remote.put(path, b"fourth\n", expected=remote.look(path).etag)
    except RemoteChanged:
        return False
    return True


def _keeps_versions(remote: "WebDav", path: str) -> bool:
    """Whether earlier bytes can be had. Asked twice: a proxy may miss the server for a moment."""
    with suppress(AnsweredByProxy):
        return bool(remote.versions(path))
    try:
        return bool(remote.versions(path))
    except AnsweredByProxy:
        return False  # a proxy that replaces each refusal of the server by a page of its own


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


def _succeeds(
    remote: "WebDav", action: str, path: str, body: bytes | None, *headers: str
) -> bool:
    """Whether the server does what a precondition forbids."""
    answer = remote.exchange(action, remote.at.target(path), body, headers, path=path)
    if answer.status != 412 and not 200 <= answer.status < 300:
        remote.refuse(action, path, answer)
    return answer.status != 412
