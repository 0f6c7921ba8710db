"""The transcripts of a vault: what was said is added, and read again, from the files of all devices."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from vault_memory.edits.edit_errors import TurnNotRecorded
from vault_memory.edits.people import refuse_twin
from vault_memory.errors import NoteUnreadable, VaultError
from vault_memory.logs import Logger
from vault_memory.rules.conversations.turn import (
    Turn,
    checked,
    read_turn,
    read_turns,
    transcript_path,
    union_of_turns,
)
from vault_memory.rules.paths.layout import Layout
from vault_memory.vault.device_id import own_log
from vault_memory.vault.devices import Devices
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.jsonl_log import Appended, append_records, last_lines
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder

logger = Logger(__name__)

LARGEST = 64 << 20
"""In bytes: of one transcript"""
_DEVICE = re.compile(r"\d{4}-\d{2}-\d{2}\.(?P<device>[^/]+)\.jsonl")
_DAY = timedelta(days=1)


class Added(NamedTuple):
    """Turns that stand in a transcript now."""

    path: str
    turns: tuple[Turn, ...]
    appended: Appended


class Transcripts:
    """For one vault and one thread at a time."""

    def __init__(self, folder: Folder, layout: Layout, devices: Devices) -> None:
        self._folder, self._layout, self._devices = folder, layout, devices
        self._met = set[str]()

    def add(self, turns: Iterable[Turn], *, once: bool = False) -> list[Added]:
        """Add turns at the end of their transcripts; they are on the disk when this returns.

        With `once` those whose ids stand there already are left out. Raises UsageError, TurnNotRecorded.
        """
        by_path: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            by_path[self.path_of(turn)].append(
                turn._replace(device=self._devices.device)
            )
        return [
            added
            for path, said in by_path.items()
            if (added := self._append(path, said, once=once))
        ]

    def of(
        self, scope: str, first: date | None = None, last: date | None = None
    ) -> list[Turn]:
        """What was said in a scope from one day to another, both included, in the order of time."""
        return union_of_turns(self._read(self._paths(scope, first, last)))

    def logs(
        self,
        scope: str,
        known: Mapping[str, str],
        entries: Mapping[str, Stat] | None = None,
    ) -> dict[str, tuple[str, tuple[Turn, ...] | None]]:
        """The transcripts of a scope by path: a signature of the file as it is, and its turns.

        None in their place where the signature is the one that is `known`. A file that cannot be read is left out.
        `entries` are those of a listing that has at least the files of this scope; else the vault is listed.
        """
        if entries is None:
            entries = self._folder.listing(suffixes=(".jsonl",)).entries
        found: dict[str, tuple[str, tuple[Turn, ...] | None]] = {}
        for path in self._paths(scope, None, None, entries):
            stat = entries[path]
            signature = f"{stat.size}:{stat.mtime_ns}:{stat.ctime_ns}:{stat.ino}"
            try:
                raw = (
                    None
                    if known.get(path) == signature
                    else self._folder.read(path, max_bytes=LARGEST).raw
                )
            except VaultError as error:
                logger.warning("%s", error)
                continue
            found[path] = signature, None if raw is None else tuple(read_turns(raw))
        return found

    def in_place(self, user: str, channel: str, first: date, last: date) -> list[Turn]:
        """What was said where this person's turns stand, in a channel or outside of any, on these days."""
        place = self._layout.place(self._place_of(user, channel, first))
        return self.of(place.scope, first, last) if place else []

    def since(
        self, scope: str, after: str | None = None, until: datetime | None = None
    ) -> list[Turn]:
        """What was said after the turn with this id, up to a moment, in the order of time; without it, everything."""
        turns = self.of(scope, last=until.date() + _DAY if until else None)
        start = (
            next((at + 1 for at, turn in enumerate(turns) if turn.id == after), 0)
            if after
            else 0
        )
        return [turn for turn in turns[start:] if until is None or turn.at <= until]

    def _append(self, path: str, turns: Sequence[Turn], *, once: bool) -> Added | None:
        own = self._file_of(path)
        if once:
            known = {turn.id for turn in union_of_turns(self._read(self._beside(path)))}
            turns = list(
                {
                    turn.id: turn for turn in reversed(turns) if turn.id not in known
                }.values()
            )[::-1]
        if not turns:
            return None
        try:
            appended = append_records(
                self._folder.root, own, [turn.as_json() for turn in turns]
            )
        except OSError as error:
            raise TurnNotRecorded(own, error.strerror or str(error)) from None
        return Added(own, tuple(turns), appended)

    def path_of(self, turn: Turn) -> str:
        """The transcript that a turn belongs to, when it can be recorded. Raises UsageError, NameTaken."""
        checked(turn)
        path = self._place_of(turn.user, turn.channel, turn.at.date())
        if turn.user:
            refuse_twin(turn.user, Path(self._folder.root), self._layout)
        return path

    def _place_of(self, user: str, channel: str, day: date) -> str:
        workspace = user == self._layout.user and not os.path.isdir(
            Path(self._folder.root, "Users")
        )
        return transcript_path(
            self._layout, user=user, channel=channel, day=day, workspace=workspace
        )

    # ---- files ----------------------------------------------------------------------------------------------------

    def _file_of(self, path: str) -> str:
        """Where this device writes: once another is known, each has files of its own."""
        if path not in self._met and not self._devices.others:
            last = self._last(path)
            named = [
                found["device"]
                for one in self._beside(path)
                if (found := _DEVICE.search(one))
            ]
            self._devices.meet(
                [*named, *([last.device] if last and last.device else [])]
            )
            self._met.add(path)
        return own_log(path, self._devices.device) if self._devices.others else path

    def _beside(self, path: str) -> list[str]:
        """The transcripts of the same day, of all devices."""
        folder_path, _, name = path.rpartition("/")
        files = RealFiles(self._folder.root)
        try:
            folder = files.open_folder(folder_path)
        except OSError:
            return []
        try:
            names = sorted(os.listdir(folder))
        finally:
            files.close(folder)
        day = name.removesuffix(".jsonl")
        found = [
            f"{folder_path}/{one}"
            for one in names
            if one.startswith(day) and one.endswith(".jsonl")
        ]
        return [
            one
            for one in found
            if (place := self._layout.place(one)) and place.kind == "transcript"
        ]

    def _last(self, path: str) -> Turn | None:
        """The last turn of a file, without reading all of it."""
        lines = last_lines(self._folder.root, path)
        return next((turn for line in lines if (turn := read_turn(line))), None)

    def _paths(
        self,
        scope: str,
        first: date | None,
        last: date | None,
        entries: Iterable[str] | None = None,
    ) -> list[str]:
        found = []
        for path in (
            self._folder.listing(suffixes=(".jsonl",)).entries
            if entries is None
            else entries
        ):
            place = self._layout.place(path)
            if place is None or (place.kind, place.scope) != ("transcript", scope):
                continue
            if (
                place.date
                and (first is None or place.date >= first)
                and (last is None or place.date <= last)
            ):
                found.append(path)
        return sorted(found)

    def _read(self, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            try:
                yield self._folder.read(path, max_bytes=LARGEST).raw
            except NoteUnreadable:
                raise
            except VaultError:  # gone by now
                continue
