"""Exports a vault: its files as they are, and a dump in JSON Lines that any program can read.

An export is complete or absent: it is written beside its target, and renamed at the end.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons.transfer.import_report import Skipped
from vault_memory.errors import UsageError, VaultError
from vault_memory.markdown import document, note_items
from vault_memory.models.llm import policy_tables
from vault_memory.rules.conversations import turn as conversations_turn
from vault_memory.rules.edits import audit_reader
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.learning.policy import secret_signs
from vault_memory.vault.jsonl_log import read_records
from vault_memory.vault.reader import LARGEST_STORED
from vault_memory.vault.write.create import open_by_name, write_copy

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.markdown.document import Section
    from vault_memory.rules.edits.audit_record import Proposal
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.paths.layout import Place
    from vault_memory.vault.listing import Listing

VAULT_FOLDER = "vault"
"""Folder of an export for the files of the vault"""
DUMP = "memory.jsonl"
LARGEST_LOG = 256 << 20
"""Maximum size of a transcript or an audit log, in bytes"""

Line = dict[str, Any]
"""One line of the dump"""


class TargetInUse(UsageError):
    """The target of the export exists already, and an export overwrites nothing."""

    def __init__(self, target: Path) -> None:
        super().__init__(
            f"`{target}` exists already", hint="name a folder or a file that does not exist"
        )


class TargetInVault(UsageError):
    """The target of the export is in the vault, where it would be read as memory."""

    def __init__(self, target: Path) -> None:
        super().__init__(f"`{target}` is in the vault itself", hint="name a place outside of it")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported."""

    target: Path
    files: int
    """number of files of the vault"""
    bytes: int
    """total size of these files"""
    records: int
    """number of lines of the dump"""
    skipped: tuple[Skipped, ...] = ()


def export(
    edits: "EditCalls",
    target: Path,
    *,
    scopes: Collection[str] | None,
    write: "Callable[[VaultFiles, Path], int] | None" = None,
) -> ExportReport:
    """Export the files of these scopes and the dump to a folder.

    A `target` that ends in `.jsonl` gets only the dump. `scopes` None means the complete
    vault. `write` writes another form of the files to the folder, and returns the number of its
    records. Raises TargetInUse, TargetInVault, UsageError.
    """
    # Fault: a text is a collection of letters. None of them is a scope, and the export
    # would be empty without a sign.
    if isinstance(scopes, str):
        raise UsageError(
            f"`scopes` is a list of scopes, not {scopes!r}", hint="None means all of the vault"
        )
    target = Path(os.path.abspath(target))
    _check_target(edits, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Fault: a rename to another disk is not one step, and a crash would leave half an
    # export. So the folder is beside the target.
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    dump_only = target.suffix == ".jsonl" and write is None
    try:
        copies = None if dump_only or write else folder / VAULT_FOLDER
        run = VaultFiles(edits, scopes, copies)
        count = write(run, folder) if write else _write_dump(folder / DUMP, run.lines())
        # Fault: the target may have appeared while the export was running.
        _check_target(edits, target)
        os.replace(folder / DUMP if dump_only else folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ExportReport(target, run.files, run.bytes, count, tuple(run.skipped))


def _write_dump(path: Path, lines: Iterator[Line]) -> int:
    """Write the dump, and return the number of its lines."""
    count = 0
    with open(path, "wb", opener=open_by_name) as dump:
        for line in lines:
            text = json.dumps(line, ensure_ascii=False)
            # Fault (C58): half of a surrogate pair, as in a file name that is not
            # UTF-8, has no UTF-8 form.
            dump.write(text.encode("utf-8", "backslashreplace") + b"\n")
            count += 1
    return count


def _check_target(edits: "EditCalls", target: Path) -> None:
    # Fault: a link may lead into the vault, where the export would be read as memory.
    real = Path(os.path.realpath(target))
    root = Path(os.path.realpath(edits.vault.root))
    if real == root or root in real.parents:
        raise TargetInVault(target)
    if target.is_dir() and target.suffix != ".jsonl":
        if any(target.iterdir()):
            raise TargetInUse(target)
    elif os.path.lexists(target) and not _is_empty_file(target):
        raise TargetInUse(target)


def _is_empty_file(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


class VaultFiles:
    """The files of one export. It reads each file once, for its copy and for the dump."""

    def __init__(
        self, edits: "EditCalls", scopes: Collection[str] | None, copies: Path | None
    ) -> None:
        """`copies` is the folder for the copies of the files; None without copies."""
        self._edits = edits
        self._scopes = None if scopes is None else frozenset(scopes)
        self._copies = copies
        self.files = 0
        self.bytes = 0
        self.skipped: list[Skipped] = []
        if copies is not None:
            copies.mkdir()

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the dump in the order of the paths, and copy each file."""
        for path, place, raw in self:
            yield from map(self._masked, _file_lines(path, place, raw))
        yield from self._proposals()

    def __iter__(self) -> "Iterator[tuple[str, Place, bytes]]":
        """Yield each file with its place in the order of the paths, and copy it."""
        folder = self._edits.vault.folder
        with folder.held():
            listing = folder.listing()
            self._skip_unlisted(listing)
            for path in sorted(listing.entries):
                place = self._place(path)
                if place is None:
                    continue
                raw = self._read(path)
                if raw is not None:
                    yield path, place, raw

    def _skip_unlisted(self, listing: "Listing") -> None:
        """Report what could not be listed: an export must not look complete without it."""
        for path, reason in sorted(listing.unknown.items()):
            # The scope of an unreadable folder follows from its path alone.
            if self._scopes is None or self._place(path):
                self.skipped.append(Skipped(path, reason))
        if listing.truncated:
            count = len(listing.entries)
            self.skipped.append(Skipped("", f"there are more than {count:,} files"))

    def _place(self, path: str) -> "Place | None":
        """Return what the layout says about a path; None if it is not exported."""
        place = self._edits.vault.layout.place(path)
        if place is None:
            return None
        is_included = self._scopes is None or place.scope in self._scopes
        return place if is_included else None

    def _read(self, path: str) -> bytes | None:
        """Read and copy a file; None if it cannot be read."""
        largest = LARGEST_LOG if path.endswith(".jsonl") else LARGEST_STORED
        try:
            raw = self._edits.vault.folder.read(path, max_bytes=largest).raw
        except VaultError as error:
            # A file may be deleted, locked or too large: all others are still exported.
            self.skipped.append(Skipped(path, error.message))
            return None
        if self._copies is not None:
            write_copy(self._copies / path, raw)
        self.files += 1
        self.bytes += len(raw)
        return raw

    def _masked(self, line: Line) -> Line:
        """Return a line of the dump, which models read, without a secret that was said."""
        if line["type"] != "turn":
            return line
        cues = policy_tables.policy_cues(self._edits.vault.state.path)
        return {**line, "text": secret_signs.masked(str(line["text"]), cues.is_secret)}

    def _proposals(self) -> Iterator[Line]:
        proposals = self._edits.editor.inbox.proposals()
        for proposal in sorted(proposals, key=lambda each: (each.note, each.id)):
            place = self._place(proposal.note)
            if place:
                yield _proposal_line(proposal, place)


def _proposal_line(proposal: "Proposal", place: "Place") -> Line:
    return {
        "type": "proposal",
        "path": proposal.note,
        "scope": place.scope,
        "kind": place.kind,
        **proposal.as_json(),
        "date": proposal.ts[:10] or None,
        "ts": proposal.ts,
        "text": str(proposal.op.get("line", "")),
    }


def _file_lines(path: str, place: "Place", raw: bytes) -> Iterator[Line]:
    """Yield a line for a note, and a line for each thing in the file."""
    origin = {"path": path, "scope": place.scope, "kind": place.kind}
    match place.kind:
        case "transcript":
            yield from _turn_lines(origin, raw)
        case "audit":
            yield from _audit_lines(origin, raw)
        case "ledger":
            yield from _ledger_lines(origin, raw)
        case _:
            day = place.date.isoformat() if place.date else None
            yield {
                "type": "note",
                **origin,
                "date": day,
                "name": place.name,
                "bytes": len(raw),
                "text": raw.decode("utf-8", "replace"),
            }
            yield from _item_lines(origin, day, raw)


def _item_lines(origin: dict[str, str], day: str | None, raw: bytes) -> Iterator[Line]:
    """Yield the items of a note, or the facts of a page of facts."""
    scope = origin["scope"]
    kind = origin["kind"]
    doc = document.parse(raw)
    start = len(doc.preamble)
    for index, section in enumerate(doc.sections):
        start += len(section.heading)
        facts = _facts_by_text(section, scope) if kind == "facts" else {}
        for item in note_items.section_items(doc, index):
            place = {
                **origin,
                "line": _line_number(raw, start + item.start),
                "heading": item.heading,
                "date": day,
            }
            fact = facts.get(item.text)
            if fact:
                yield {"type": "fact", **place, "text": item.text} | _fact_fields(fact)
            else:
                id_ = note_items.item_id(scope, kind, item.text)
                yield {"type": "item", "id": id_, **place, "text": item.text}
        start += len(section.body)


def _facts_by_text(section: "Section", scope: str) -> "dict[str, Fact]":
    return {fact.text: fact for fact in facts_fact.section_facts(section, scope)}


def _fact_fields(fact: "Fact") -> Line:
    stated = facts_fact.stated(fact)
    return {"id": fact.id, **stated, "date": stated["valid_from"]}


def _turn_lines(origin: dict[str, str], raw: bytes) -> Iterator[Line]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        turn = conversations_turn.read_turn(line)
        if turn:
            day = turn.at.date().isoformat()
            place = {"type": "turn", **origin, "line": number, "date": day}
            yield place | turn.as_json()


def _audit_lines(origin: dict[str, str], raw: bytes) -> Iterator[Line]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        record = audit_reader.read_line(line)
        if record:
            place = {"type": "audit", **origin, "line": number, "date": record.ts[:10]}
            yield place | {"text": record.why} | record.as_json()


def _ledger_lines(origin: dict[str, str], raw: bytes) -> Iterator[Line]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        for record in read_records(line).records:
            place = {
                "type": "ledger",
                **origin,
                "line": number,
                "date": str(record.get("ts", ""))[:10],
            }
            yield place | {"text": str(record.get("text", "")), "record": record}


def _line_number(raw: bytes, offset: int) -> int:
    """Return the number of the line at a byte offset, from 1."""
    before = raw[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
