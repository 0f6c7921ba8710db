"""The transcripts of a vault: appends turns, and reads them from the files of all devices."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from vault_memory.vault.devices import Devices, own_log
from vault_memory.vault.fs import RealFiles
from vault_memory.vault.jsonl_log import Appended, append_records, last_lines
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder

logger = Logger(__name__)

LARGEST = 64 << 20
"""Bytes of the largest transcript that is read"""
_DEVICE = re.compile(r"\d{4}-\d{2}-\d{2}\.(?P<device>[^/]+)\.jsonl")
_DAY = timedelta(days=1)


class Added(NamedTuple):
    """Turns that were appended to a transcript."""

    path: str
    turns: tuple[Turn, ...]
    appended: Appended


class Transcripts:
    """The transcripts of one vault, for one thread at a time."""

    def __init__(
        self, folder: Folder, layout: Layout, devices: Devices, written: Callable[[str], str]
    ) -> None:
        """`written` returns the text of a new turn as it is written, without secrets."""
        self._folder = folder
        self._layout = layout
        self._devices = devices
        self._written = written
        self._searched_for_devices = set[str]()
        """Transcripts beside which files of other devices were searched"""

    def add(self, turns: Iterable[Turn], *, once: bool = False) -> list[Added]:
        """Appends turns to their transcripts; they are on the disk when this returns.

        With `once`, it omits turns whose ids are recorded already. Raises UsageError,
        TurnNotRecorded.
        """
        by_path: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            # Fault: a program may name another device as its own. A turn belongs to the device that
            # records it.
            path = self.path_of(turn)
            by_path[path].append(
                turn._replace(device=self._devices.device, text=self._written(turn.text))
            )
        additions = (
            self._append(path, new_turns, once=once) for path, new_turns in by_path.items()
        )
        return [added for added in additions if added is not None]

    def of(self, scope: str, first: date | None = None, last: date | None = None) -> list[Turn]:
        """Returns the turns of a scope in the order of time; `first` and `last` are included."""
        return union_of_turns(self._read(self._paths(scope, first, last)))

    def logs(
        self, scope: str, signatures: Mapping[str, str], entries: Mapping[str, Stat] | None = None
    ) -> dict[str, tuple[str, tuple[Turn, ...] | None]]:
        """Returns the transcripts of a scope by path: a signature of the present file, and its turns.

        The turns are None where the signature equals the one in `signatures`. A file that cannot be
        read is omitted. `entries` come from a listing that has the files of this scope; without
        them the vault is listed.
        """
        if entries is None:
            entries = self._folder.listing(suffixes=(".jsonl",)).entries
        logs: dict[str, tuple[str, tuple[Turn, ...] | None]] = {}
        for path in self._paths(scope, None, None, entries):
            stat = entries[path]
            # Fault: an editor or a sync client may keep size and time of a file. Its other numbers
            # show the change.
            signature = f"{stat.size}:{stat.mtime_ns}:{stat.ctime_ns}:{stat.ino}"
            if signatures.get(path) == signature:
                logs[path] = signature, None
                continue
            try:
                raw = self._folder.read(path, max_bytes=LARGEST).raw
            except VaultError as error:
                # Fault (B42): one damaged transcript must not hide the others.
                logger.warning("%s", error)
                continue
            logs[path] = signature, read_turns(raw)
        return logs

    def in_place(self, user: str, channel: str, first: date, last: date) -> list[Turn]:
        """Returns the turns of these days in the transcript of a channel, else of a person."""
        place = self._layout.place(self._place_of(user, channel, first))
        return self.of(place.scope, first, last) if place else []

    def shortly_before(self, user: str, channel: str, at: datetime) -> list[Turn]:
        """Returns the turns up to a moment, of its day and of the day before, in the order of time.

        They are those of a channel, else of a person. The vault is not listed.
        """
        paths = [
            path
            for day in (at.date() - _DAY, at.date())
            for path in self._beside(self._place_of(user, channel, day))
        ]
        return [turn for turn in union_of_turns(self._read(paths)) if turn.at <= at]

    def since(
        self, scope: str, after: str | None = None, until: datetime | None = None
    ) -> list[Turn]:
        """Returns the turns after the one with this id, up to a moment, in the order of time.

        Without `after`, or where no turn has this id, it begins with the first turn.
        """
        # Fault (G114): the date of a file may belong to another time zone. One more day
        # is read.
        turns = self.of(scope, last=until.date() + _DAY if until else None)
        ids = [turn.id for turn in turns]
        start = ids.index(after) + 1 if after in ids else 0
        return [turn for turn in turns[start:] if until is None or turn.at <= until]

    def _append(self, path: str, turns: Sequence[Turn], *, once: bool) -> Added | None:
        own = self._file_of(path)
        # Fault: a host sends a turn again after a lost answer.
        if once:
            turns = self._new_turns(path, turns)
        if not turns:
            return None
        try:
            appended = append_records(self._folder.root, own, [turn.as_json() for turn in turns])
        except OSError as error:
            # Fault: a full disk must not pass for a recorded turn. The caller learns that it is not
            # written.
            raise TurnNotRecorded(own, error.strerror or str(error)) from None
        return Added(own, tuple(turns), appended)

    def _new_turns(self, path: str, turns: Sequence[Turn]) -> list[Turn]:
        """Returns the turns that no transcript of the day has, each id once."""
        # Fault: a turn of a retry may be in the file of another device by now.
        recorded = union_of_turns(self._read(self._beside(path)))
        seen = {turn.id for turn in recorded}
        new_turns = []
        for turn in turns:
            if turn.id not in seen:
                new_turns.append(turn)
                seen.add(turn.id)
        return new_turns

    def path_of(self, turn: Turn) -> str:
        """Returns the transcript of a turn that can be recorded. Raises UsageError, NameTaken."""
        checked(turn)
        path = self._place_of(turn.user, turn.channel, turn.at.date())
        if turn.user:
            # Fault (H124): a name that reads like that of another person would put the
            # turn into the wrong transcript.
            refuse_twin(turn.user, Path(self._folder.root), self._layout)
        return path

    def _place_of(self, user: str, channel: str, day: date) -> str:
        has_people = os.path.isdir(Path(self._folder.root, "Users"))
        layout = self._layout
        is_at_root = layout.at_root or bool(layout.bot_folder) or not has_people
        is_workspace = user == layout.user and is_at_root
        return transcript_path(layout, user=user, channel=channel, day=day, workspace=is_workspace)

    # --- Files ---

    def _file_of(self, path: str) -> str:
        """Returns the file to which this device appends."""
        # Fault (G113): two devices that append to one file make a conflict copy. Each
        # gets its own files.
        if path not in self._searched_for_devices and not self._devices.others:
            self._devices.meet(self._devices_beside(path))
            self._searched_for_devices.add(path)
        return own_log(path, self._devices.device) if self._devices.others else path

    def _devices_beside(self, path: str) -> list[str]:
        """Returns the devices in the names of transcripts of the same day, and of the last turn."""
        matches = map(_DEVICE.search, self._beside(path))
        devices = [match["device"] for match in matches if match is not None]
        last = self._last(path)
        if last is not None and last.device:
            devices.append(last.device)
        return devices

    def _beside(self, path: str) -> list[str]:
        """Returns the transcripts of the same day, of all devices."""
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
        paths = [
            f"{folder_path}/{file_name}"
            for file_name in names
            if file_name.startswith(day) and file_name.endswith(".jsonl")
        ]
        return [path for path in paths if self._is_transcript(path)]

    def _is_transcript(self, path: str) -> bool:
        place = self._layout.place(path)
        return place is not None and place.kind == "transcript"

    def _last(self, path: str) -> Turn | None:
        """Returns the last turn of a file, without reading all of it."""
        lines = last_lines(self._folder.root, path)
        return next((turn for line in lines if (turn := read_turn(line))), None)

    def _paths(
        self,
        scope: str,
        first: date | None,
        last: date | None,
        entries: Iterable[str] | None = None,
    ) -> list[str]:
        """Returns the transcripts of a scope on these days; `entries` are paths to choose from."""
        if entries is None:
            entries = self._folder.listing(suffixes=(".jsonl",)).entries
        first = first or date.min
        last = last or date.max
        paths = []
        for path in entries:
            place = self._layout.place(path)
            # Fault: transcripts of other scopes are in the same listing, and must not mix with
            # these.
            if place is None or (place.kind, place.scope) != ("transcript", scope):
                continue
            if place.date and first <= place.date <= last:
                paths.append(path)
        return sorted(paths)

    def _read(self, paths: Iterable[str]) -> Iterator[bytes]:
        for path in paths:
            try:
                yield self._folder.read(path, max_bytes=LARGEST).raw
            except NoteUnreadable:
                # Fault: an empty answer would look as if nothing was said on that day.
                raise
            except VaultError:
                # A person deleted the file after the listing.
                continue
