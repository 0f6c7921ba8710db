"""Tries each precondition on a scratch key. A store that ignores one is refused.

What the stores answer, seen in November 2026:

| request | moto 5.2 | SeaweedFS 4.48 |
|---|---|---|
| PUT or DELETE, `If-Match` of a missing key | 404 NoSuchKey | 412 |
| PUT or DELETE, `If-Match` with another tag | 412 | 412 |
| PUT, `If-None-Match: *` over a key | 412 | 412 |
| PUT of the marker `a/` where only `a/b` exists | 200 | 412: it has folders |
| GET, `If-Match` with another tag | 412 | 412, but 200 for a marker |
| PUT of `a/` where the file `a` exists | 200 | 412 |
| PUT into a missing bucket | 404 NoSuchBucket | 200: an admin makes the bucket |
| PUT of a name of 300 bytes | 200 | 500 |
| GET of an unknown version | 404 NoSuchVersion | 400 InvalidRequest |
| LIST with a delimiter, only deleted keys in a bucket with versions | the prefix is listed | it is not |
| wrong secret | not checked | 403 SignatureDoesNotMatch |

Amazon answers 404 or 412 to `If-Match` of a missing key, and 409 when two writes meet.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from vault_memory.remote.capabilities import is_scratch
from vault_memory.remote.contract import Capabilities, KeyCapabilities
from vault_memory.remote.remote_errors import (
    PreconditionsIgnored,
    RemoteChanged,
    RemoteError,
    RemoteMissing,
    Unauthorised,
)

if TYPE_CHECKING:
    from vault_memory.addons.s3.s3_remote import S3

NO_TAG = '"00000000000000000000000000000000"'
"""The tag of no text"""
_LEFT_SECONDS = 3600


def s3_probe(remote: "S3") -> Capabilities:
    """Find out what a store can do. Raises PreconditionsIgnored, and RemoteErrors."""
    tidy(remote)
    # The first requests only read, so that a proxy that removes preconditions is found
    # before anything is written.
    _check_reads(remote)
    scratch = f"vault-memory-probe-{secrets.token_hex(6)}.tmp"
    try:
        _check_writes(remote, scratch)
    finally:
        with suppress(RemoteError):
            remote.erase_versions(scratch)
    remote.keep_root()
    return KeyCapabilities(conditional_move=True, infinity=True, versions=remote.keeps_versions())


def tidy(remote: "S3") -> None:
    """Remove scratch keys that are an hour old: a probe takes seconds."""
    with suppress(RemoteError):
        for entry in remote.list().entries:
            # Fault: another device may be probing now.
            age = remote.clock - entry.modified
            if is_scratch(entry.path) and entry.modified > 0 and age >= _LEFT_SECONDS:
                remote.erase_versions(entry.path)


def _check_reads(remote: "S3") -> None:
    """Read a key that exists, on a condition that does not hold."""
    keys = remote.first_keys()
    # SeaweedFS checks no precondition of a read of a folder's marker.
    files = [key for key, size in keys.items() if size and not key.endswith("/")]
    if files:
        _must_fail(lambda: remote.read_if(files[0], NO_TAG))


def _check_writes(remote: "S3", scratch: str) -> None:
    """Try each conditional write on a scratch key."""
    # Fault (E102): some stores accept a precondition and ignore it. Only a write that
    # must fail shows that.
    _must_fail(lambda: remote.put(scratch, b"none\n", expected=NO_TAG))
    first = remote.put(scratch, b"first\n", expected=None)
    _must_fail(lambda: remote.put(scratch, b"second\n", expected=None))
    _must_fail(lambda: remote.put(scratch, b"third\n", expected=NO_TAG))
    second = remote.put(scratch, b"fourth\n", expected=first.etag)
    _must_fail(lambda: remote.delete(scratch, expected=first.etag))
    remote.delete(scratch, expected=second.etag)


def _must_fail(act: Callable[[], object]) -> None:
    """Do what a precondition forbids. Raises PreconditionsIgnored when it succeeds."""
    try:
        act()
    except (RemoteChanged, RemoteMissing):
        return
    except Unauthorised:
        # Fault: the precondition is part of the signature. A proxy that removes it
        # makes the signature wrong, while the requests before were accepted.
        raise PreconditionsIgnored from None
    raise PreconditionsIgnored
