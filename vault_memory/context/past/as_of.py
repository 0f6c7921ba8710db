"""Composes a memory block as it would have been at the end of an earlier day.

The notes of that day are written into a folder of their own, which is indexed by words and removed
again. Nothing of it reaches the vault or its index.
"""

import shutil
import tempfile
import time as clock
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path

from vault_memory.config.sections import EmbeddingSettings
from vault_memory.context import calls
from vault_memory.context.blocks import ContextBlock, Cut
from vault_memory.context.past.past_notes import PastNotes
from vault_memory.edits.calls import EditCalls, aware
from vault_memory.errors import UsageError
from vault_memory.search.calls import SearchCalls
from vault_memory.search.open_vault import OpenVault
from vault_memory.vault.write.create import write_copy

PREFIX = "as-of-"
"""Begins the names of the throwaway folders in the state folder"""
BY_WORDS = "the notes are of a past day, which are searched by words"
"""Why search by meaning had no part: the configuration may well have it on"""
LEFT_BEHIND_SECONDS = 3600.0
_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)


def context_as_of(
    edits: EditCalls, prompt: str, scopes: Sequence[str], options: "calls.ContextOptions", day: date
) -> ContextBlock:
    """Composes the block of the end of `day`. Raises UsageError for a day in the future."""
    now = aware(options.get("now"))
    if day > now.date():
        raise UsageError(f"`{day}` is in the future", hint="give a day up to today as the past day")
    moment = _end_of(day, now)
    state = edits.vault.state.path
    # Fault: a killed process leaves copies of notes in the state folder.
    remove_leftovers(state)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=state) as folder:
        root = Path(folder, "vault")
        root.mkdir()
        unknown = _rebuild(root, edits, scopes, moment, now)
        past_options: calls.ContextOptions = {
            **options,
            "as_of": None,
            "now": moment,
            "refresh": True,
        }
        block = _compose(root, edits, prompt, scopes, past_options)
    freshness = block.freshness._replace(reason=BY_WORDS)
    return block._replace(cut=(*block.cut, *unknown), freshness=freshness)


def remove_leftovers(state: Path) -> None:
    """Removes the folders that a killed process left behind; they have text of notes."""
    # Another process may be composing a block just now.
    oldest = clock.time() - LEFT_BEHIND_SECONDS
    for folder in state.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _end_of(day: date, now: datetime) -> datetime:
    """The last moment of a day in the time zone of `now`."""
    midnight = datetime.combine(day + _DAY, time.min, tzinfo=now.tzinfo)
    return min(midnight - _TICK, now) if day == now.date() else midnight - _TICK


def _rebuild(
    root: Path, edits: EditCalls, scopes: Sequence[str], moment: datetime, now: datetime
) -> list[Cut]:
    """Writes the notes of the moment below `root`. Returns what is unknown."""
    unknown: list[Cut] = []
    # Fault: a note that is written meanwhile would be half of that day and half of now.
    with edits.transaction():
        past = PastNotes(edits, scopes, moment, now)
        for path, kind, note in past.notes():
            if note.raw is not None:
                write_copy(root / path, note.raw)
            if note.doubt:
                unknown.append(Cut(kind, f"{path}: {note.doubt}"))
        for path, raw in past.logs():
            write_copy(root / path, raw)
    return unknown


def _compose(
    root: Path,
    edits: EditCalls,
    prompt: str,
    scopes: Sequence[str],
    options: "calls.ContextOptions",
) -> ContextBlock:
    # Fault: an embedder would send the notes of a past day to a server again, and make the answer
    # wait.
    config = edits.vault.config._replace(embedding=EmbeddingSettings(kind="off"))
    # Fault: the vault of the past must not share the index and the sessions of the real one.
    environment = {"VAULT_MEMORY_STATE": str(root.parent / "state")}
    with closing(OpenVault.open(root, config, environment)) as vault:
        searcher = SearchCalls(vault)
        return calls.ContextCalls(searcher).context(prompt, scopes, options)
