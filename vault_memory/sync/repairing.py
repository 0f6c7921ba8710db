"""Uploads without an answer: was it ours that arrived, half of ours, or somebody else's text?"""

import logging
from datetime import datetime

from vault_memory.remote import (
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    Stored,
)
from vault_memory.sync.book import Sent
from vault_memory.sync.overwritten import NOTHING, Overwritten
from vault_memory.sync.sides import SECOND_LOOK, Again, Sides
from vault_memory.sync.trees import BaseFile
from vault_memory.vault import Note, revision_of

logger = logging.getLogger(__name__)

CUT_SHORT = "its last upload was cut short; it is sent again in a few seconds"


def repair(sides: Sides, now: datetime) -> dict[str, str]:
    """Find out what became of uploads without an answer: ours, our own half of one, or somebody else's.

    A beginning of what we sent is written anew; it is never taken for an edit. Returns what is still open.
    """
    still: dict[str, str] = {}
    for sent in sides.book.unsettled():
        try:
            _settle(sides, sent, now)
        except (RemoteLocked, RemoteBusy, OutcomeUnknown, NotUnderstood) as error:
            still[sent.path] = error.message
        except Again:
            still[sent.path] = CUT_SHORT
        except (RemoteChanged, RemoteMissing, ParentMissing, Refused, RemoteFull) as error:
            logger.info("%s; it is looked at anew", error.message)
            sides.sent(sent.path)
    return still


def _settle(sides: Sides, sent: Sent, now: datetime) -> None:
    ours = _bytes_of(sides, sent)
    _remember(sides, sent, ours, now)
    try:
        there = sides.remote.get(sent.path, max_bytes=sides.largest)
    except RemoteMissing:
        sides.sent(sent.path)
        return
    if revision_of(there.raw) == sent.hash:
        sides.agree(sent.path, there.raw, Stored(there.etag, confirmed=there.confirmed))
        sides.deliveries.record(sent.path, there.raw, now)
    elif ours is not None and ours.startswith(there.raw) and there.etag != sent.tag:
        with sides.book.writing():
            since = sides.book.doubted(sent.path, there.etag, now)
        if not (there.confirmed or now.timestamp() - since >= SECOND_LOOK):
            raise Again
        sides.agree(sent.path, ours, sides.send(sent.path, ours, there.etag))
        sides.deliveries.record(sent.path, ours, now)
    elif there.etag != sent.tag:
        # The server may have kept a part of ours, or all of it, before somebody wrote what lies there now.
        sides.deliveries.lose(sent.path, sent.hash)
    sides.sent(sent.path)


def _remember(sides: Sides, sent: Sent, ours: bytes | None, now: datetime) -> None:
    """It may have arrived, and have replaced a text that nobody here has seen."""
    was = sides.book.agreed(sent.path)
    if ours is None or not isinstance(was, BaseFile | None) or (was.tag if was else None) != sent.tag:
        return
    with sides.book.writing():
        Overwritten(sides).remember(was or NOTHING, Stored(), sent.path, ours, now, young=True)


def _bytes_of(sides: Sides, sent: Sent) -> bytes | None:
    """What was to be uploaded, if it is still to be had."""
    note = sides.local.read(sent.path)
    if isinstance(note, Note) and note.revision == sent.hash:
        return note.raw
    with sides.writing() as writer:
        return writer.snapshots.bytes_of(sent.hash)
