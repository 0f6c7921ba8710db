"""Ledgers: append-only logs in the folder `learning/` of a scope, read as a union of all devices.

As soon as a second device is known, each device appends to files of its own, `NAME.DEVICE.jsonl`.
"""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from vault_memory.errors import VaultError
from vault_memory.rules.learning.ledger_lines import DAILY, is_record, ledger_of
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scope_notes import Places
from vault_memory.search.open_vault import OpenVault
from vault_memory.vault.devices import Devices, is_device, own_log
from vault_memory.vault.jsonl_log import append_records, read_records
from vault_memory.vault.reader import Folder

logger = logging.getLogger(__name__)

LARGEST = 64 << 20
"""Bytes of the largest ledger that is read"""
SUFFIX = ".jsonl"
LEARNING_PARENTS = ("Users", "Channels", "groups")
"""Folders with a folder for each owner of ledgers; those of the person at the root are at the root"""


class Ledgers:
    """The ledgers of one vault."""

    def __init__(self, folder: Folder, layout: Layout, devices: Devices) -> None:
        self._folder = folder
        self._layout = layout
        self._devices = devices

    @property
    def device(self) -> str:
        """The name of this device."""
        return self._devices.device

    def append(self, places: Places, name: str, records: Iterable[Mapping[str, Any]]) -> str:
        """Appends records; they are on the disk on return. Returns the path. Raises OSError."""
        # Fault: two devices that append to the same file make a sync conflict. So each has a file
        # of its own.
        path = self._path_to_append(places, name)
        append_records(self._folder.root, path, records)
        return path

    def append_by_day(
        self, places: Places, name: str, day: date, record: Mapping[str, Any]
    ) -> None:
        """Appends a record to the log of a day. A failure is logged and never raised."""
        try:
            self.append(places, f"{name}/{day}", [record])
        except OSError as error:
            # A full disk must not keep the turn from being judged.
            logger.warning("the %s log cannot be written: %s", name, error)

    def records(self, places: Places, name: str) -> list[dict[str, Any]]:
        """Returns the records of all devices, each once, in the order of their files.

        Lines that are no records of this ledger are skipped, and so are unreadable files.
        """
        # Fault: a sync conflict copies a ledger, and a killed night appends its line again. Each
        # record counts once.
        unique: dict[str, dict[str, Any]] = {}
        for path in self.files(places, name):
            for record in self._records_of(path)[0]:
                unique.setdefault(json.dumps(record, sort_keys=True), record)
        return list(unique.values())

    def daily_records(self, places: Places, name: str) -> list[dict[str, Any]]:
        """Returns the records of a log with a file for each day, the oldest file first."""
        return [
            record
            for path in self.daily_files(places, name)
            for record in self._records_of(path)[0]
        ]

    def files(self, places: Places, name: str) -> list[str]:
        """Returns the files of a ledger, of all devices."""
        wanted = f"{places.learning}{name}"
        return [path for path in self._list(places) if _stem(path) == wanted]

    def daily_files(self, places: Places, name: str) -> list[str]:
        """Returns the files of a log with a file for each day, the oldest first."""
        folder = f"{places.learning}{name}/"
        return [path for path in self._list(places) if path.startswith(folder)]

    def mentions(self, name: str, text: str) -> bool:
        """Whether a ledger of any scope has this text in one of its lines. Parses nothing."""
        # A quote in the text has a backslash before it in the line.
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        raw = escaped.encode(errors="replace")
        return any(raw in self._bytes_of(path) for path in self._named(name))

    def _named(self, name: str) -> Iterator[str]:
        """Yields the files of a ledger in all scopes."""
        parents = [
            f"{top}/{owner}/" for top in LEARNING_PARENTS for owner in self._folder.names(top)[1]
        ]
        for parent in ("", *parents):
            folder = f"{parent}learning"
            for file in self._folder.names(folder)[0]:
                path = f"{folder}/{file}"
                if _stem(path) == f"{folder}/{name}":
                    yield path

    def _bytes_of(self, path: str) -> bytes:
        try:
            return self._folder.read(path, max_bytes=LARGEST).raw
        except VaultError as error:
            logger.warning("%s", error)
            return b""

    def remove_before(self, places: Places, name: str, first: date) -> int:
        """Deletes the files of days before `first`, not into the trash. Returns their number."""
        removed = 0
        for path in self.daily_files(places, name):
            day = _day_of(path)
            # Fault: a file that a person put there has no date in its name. It is no log of a day,
            # and remains.
            if day is not None and day < first:
                # Fault: another process may have removed it, or the folder is read-only. The next
                # night tries again.
                with suppress(OSError):
                    os.unlink(os.path.join(self._folder.root, path))
                    removed += 1
        return removed

    def bad_lines(self) -> dict[str, int]:
        """Returns how many lines of each ledger of the vault are no records of it."""
        counts: dict[str, int] = {}
        for path in sorted(self._folder.listing(suffixes=(SUFFIX,)).entries):
            if self._is_ledger(path):
                bad = self._records_of(path)[1]
                if bad:
                    counts[path] = bad
        return counts

    def _path_to_append(self, places: Places, name: str) -> str:
        path = f"{places.learning}{name}{SUFFIX}"
        if not self._devices.others:
            # Fault: a device that shares the vault may be known only from its files, which sync
            # brought here.
            self._devices.meet(self._devices_in(places))
        if self._devices.others:
            return own_log(path, self._devices.device)
        return path

    def _devices_in(self, places: Places) -> Iterator[str]:
        """Yields the devices that files are named after, or that wrote into the common ones."""
        for path in self._list(places):
            device = path.removeprefix(_stem(path)).removesuffix(SUFFIX).lstrip(".")
            if device:
                yield device
        for path in self.files(places, "counts"):
            yield from (record["device"] for record in self._records_of(path)[0])

    def _list(self, places: Places) -> list[str]:
        subtree = places.learning.rstrip("/")
        return sorted(
            path
            for path in self._folder.listing(subtree, suffixes=(SUFFIX,)).entries
            if self._is_ledger(path)
        )

    def _is_ledger(self, path: str) -> bool:
        place = self._layout.place(path)
        return place is not None and place.kind == "ledger"

    def _records_of(self, path: str) -> tuple[list[dict[str, Any]], int]:
        """Returns the records of a file, and the number of lines that are none."""
        place = self._layout.place(path)
        try:
            # Fault: a huge file must not fill the memory, nor must an unreadable one end the night.
            raw = self._folder.read(path, max_bytes=LARGEST).raw
        except VaultError as error:
            logger.warning("%s", error)
            return [], 0
        lines = read_records(raw)
        ledger = ledger_of(place.name if place else "")
        # Fault: a line may be torn, or written by hand. It must not pass for a record.
        records = [record for record in lines.records if is_record(ledger, record)]
        return records, lines.bad + len(lines.records) - len(records)


def of_vault(vault: OpenVault) -> Ledgers:
    """Returns the ledgers of an open vault."""
    return Ledgers(vault.folder, vault.layout, Devices(vault.state.path))


def _stem(path: str) -> str:
    """Returns the path of a ledger without the device and the suffix."""
    stem = path.removesuffix(SUFFIX)
    first, dot, device = stem.rpartition(".")
    # Fault: a ledger's own name may have a dot. Only a device's name is cut off.
    return first if dot and is_device(device) else stem


def _day_of(path: str) -> date | None:
    name = _stem(path).rpartition("/")[2]
    try:
        return date.fromisoformat(name)
    except ValueError:
        return None


__all__ = ["DAILY", "Ledgers", "of_vault"]
