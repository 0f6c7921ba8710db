"""Export: what a vault knows as files just as they are, and once more as JSON Lines that any program can read.

The answer is whole or not there: it is written beside its target and put in place at the end.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.errors import UsageError, VaultError
from vault_memory.lazy import lazy_module
from vault_memory.vault.reader import LARGEST_STORED

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.markdown import document, note_items
    from vault_memory.rules.conversations import turn as conversations_turn
    from vault_memory.rules.edits import audit_reader
    from vault_memory.rules.facts import fact as facts_fact
    from vault_memory.rules.paths.layout import Place
else:
    document = lazy_module("vault_memory.markdown.document")
    note_items = lazy_module("vault_memory.markdown.note_items")
    conversations_turn = lazy_module("vault_memory.rules.conversations.turn")
    audit_reader = lazy_module("vault_memory.rules.edits.audit_reader")
    facts_fact = lazy_module("vault_memory.rules.facts.fact")

FILES, DUMP = "vault", "memory.jsonl"
"""In the folder of an export: the files, and the dump"""
LARGEST_LOG = 256 << 20
"""In bytes: of a transcript or an audit file"""


class TargetInUse(UsageError):
    """Something is there already, and an export overwrites nothing."""

    def __init__(self, target: Path) -> None:
        super().__init__(
            f"there is something at `{target}` already",
            hint="name a folder or a file that is not there",
        )


class TargetInVault(UsageError):
    """An export in the vault would be read as memory."""

    def __init__(self, target: Path) -> None:
        super().__init__(
            f"`{target}` lies in the vault itself", hint="name a place outside of it"
        )


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be taken along, or was not to be."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    target: Path
    files: int
    """files of the vault"""
    bytes: int
    """in these files"""
    records: int
    """lines of the dump"""
    skipped: tuple[Skipped, ...] = field(default=())


def export(
    edits: "EditCalls", target: Path, *, scopes: Collection[str] | None
) -> Exported:
    """Write the files of these scopes and the dump into a folder, or only the dump into a file that ends in `.jsonl`.

    Raises UsageError when something is there already.
    """
    if isinstance(scopes, str):
        raise UsageError(
            f"`scopes` is a list of scopes, not {scopes!r}",
            hint="None means all of the vault",
        )
    target = Path(os.path.abspath(target))
    _check(edits, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        alone = target.suffix == ".jsonl"
        work = _Work(
            edits,
            None if scopes is None else frozenset(scopes),
            None if alone else beside / FILES,
        )
        with open(beside / DUMP, "wb") as dump:
            for record in work.records():
                dump.write(
                    json.dumps(record, ensure_ascii=False).encode(
                        "utf-8", "backslashreplace"
                    )
                    + b"\n"
                )
                work.lines += 1
        _check(edits, target)
        os.replace(beside / DUMP if alone else beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Exported(target, work.files, work.bytes, work.lines, tuple(work.skipped))


def _check(edits: "EditCalls", target: Path) -> None:
    real, root = (
        Path(os.path.realpath(target)),
        Path(os.path.realpath(edits.vault.root)),
    )
    if real == root or root in real.parents:
        raise TargetInVault(target)
    if target.is_dir() and target.suffix != ".jsonl":
        if any(target.iterdir()):
            raise TargetInUse(target)
    elif os.path.lexists(target) and (not target.is_file() or target.stat().st_size):
        raise TargetInUse(target)


class _Work:
    """One export: every file is read once."""

    def __init__(
        self,
        edits: "EditCalls",
        scopes: frozenset[str] | None,
        copies: Path | None,
    ) -> None:
        self._edits, self._scopes, self._copies = edits, scopes, copies
        self.files = self.bytes = self.lines = 0
        self.skipped: list[Skipped] = []
        if copies is not None:
            copies.mkdir()

    def records(self) -> Iterator[dict[str, Any]]:
        """The lines of the dump, in the order of the paths. On the way every file is copied."""
        with self._edits.vault.folder.held():
            listing = self._edits.vault.folder.listing(suffixes=(".md", ".jsonl"))
            unknown = (
                Skipped(path, reason)
                for path, reason in sorted(listing.unknown.items())
            )
            self.skipped += [
                one for one in unknown if self._scopes is None or self._place(one.path)
            ]
            if listing.truncated:
                self.skipped.append(
                    Skipped("", f"there are more than {len(listing.entries):,} files")
                )
            for path in sorted(listing.entries):
                place = self._place(path)
                raw = self._taken(path) if place else None
                if place is not None and raw is not None:
                    yield from _told(path, place, raw)
        yield from self._proposals()

    def _place(self, path: str) -> "Place | None":
        place = self._edits.vault.layout.place(path)
        return (
            place
            if place and (self._scopes is None or place.scope in self._scopes)
            else None
        )

    def _taken(self, path: str) -> bytes | None:
        largest = LARGEST_LOG if path.endswith(".jsonl") else LARGEST_STORED
        try:
            raw = self._edits.vault.folder.read(path, max_bytes=largest).raw
        except VaultError as error:
            self.skipped.append(Skipped(path, error.message))
            return None
        if self._copies is not None:
            copy = self._copies / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(raw)
        self.files += 1
        self.bytes += len(raw)
        return raw

    def _proposals(self) -> Iterator[dict[str, Any]]:
        for one in sorted(
            self._edits.editor.inbox.proposals(), key=lambda one: (one.note, one.id)
        ):
            if place := self._place(one.note):
                said = one.as_json() | {
                    "date": one.ts[:10] or None,
                    "ts": one.ts,
                    "text": str(one.op.get("line", "")),
                }
                yield {
                    "type": "proposal",
                    "path": one.note,
                    "scope": place.scope,
                    "kind": place.kind,
                } | said


def _told(path: str, place: "Place", raw: bytes) -> Iterator[dict[str, Any]]:
    """What one file says: itself when it is a note, and then each thing in it."""
    where = {"path": path, "scope": place.scope, "kind": place.kind}
    if place.kind == "transcript":
        yield from _turns(where, raw)
    elif place.kind == "audit":
        yield from _records(where, raw)
    else:
        day = place.date.isoformat() if place.date else None
        text = raw.decode("utf-8", "replace")
        yield {
            "type": "note",
            **where,
            "date": day,
            "name": place.name,
            "bytes": len(raw),
            "text": text,
        }
        yield from _parts(where, day, place.kind, raw)


def _parts(
    where: dict[str, str], day: str | None, kind: str, raw: bytes
) -> Iterator[dict[str, Any]]:
    """The items of a note, or the facts of a page of facts."""
    doc = document.parse(raw)
    above = len(doc.preamble)
    for at, section in enumerate(doc.sections):
        above += len(section.heading)
        facts = (
            {
                fact.text: fact
                for fact in facts_fact.section_facts(section, where["scope"])
            }
            if kind == "facts"
            else {}
        )
        for item in note_items.section_items(doc, at):
            said = {
                **where,
                "line": _line(raw, above + item.start),
                "heading": item.heading,
                "date": day,
            }
            if fact := facts.get(item.text):
                yield {"type": "fact", **said, "text": item.text} | _fact(fact)
            else:
                yield {
                    "type": "item",
                    "id": note_items.item_id(where["scope"], kind, item.text),
                    **said,
                    "text": item.text,
                }
        above += len(section.body)


def _fact(fact: Any) -> dict[str, Any]:
    said = {
        name: value
        for name, value in asdict(fact).items()
        if name not in ("scope", "text")
    }
    days = {
        name: said[name] and said[name].isoformat()
        for name in ("valid_from", "valid_until")
    }
    return said | days | {"date": days["valid_from"]}


def _turns(where: dict[str, str], raw: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        if turn := conversations_turn.read_turn(line):
            yield {
                "type": "turn",
                **where,
                "line": number,
                "date": turn.at.date().isoformat(),
            } | turn.as_json()


def _records(where: dict[str, str], raw: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        if record := audit_reader.read_line(line):
            said = record.as_json()
            yield {
                "type": "audit",
                **where,
                "line": number,
                "date": record.ts[:10],
                "text": record.why,
            } | said


def _line(raw: bytes, at: int) -> int:
    """The line that a byte stands in, counted from 1."""
    before = raw[:at]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
