"""Imports the memory of another system as items and facts of notes. `undo` can take it back."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.transfer import okf_bundles, workspace
from vault_memory.addons.transfer import persona as transfer_persona
from vault_memory.addons.transfer.import_report import ImportReport, ImportRequest
from vault_memory.addons.transfer.istota import ImportedText, IstotaMemory, read_istota
from vault_memory.edits import commands
from vault_memory.edits.calls import aware as moment
from vault_memory.edits.plans import fact_edits
from vault_memory.errors import NoteUnreadable, UsageError, VaultMemoryError
from vault_memory.facts import entity_info
from vault_memory.learning import note_lines
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import normalised_text
from vault_memory.markdown.letters import folded_line
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.facts import fact_page
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.filenames import inside

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.markdown.document import SectionedDoc
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.paths.scope_notes import Places

HEADING = "Imported"
UNDATED_NOTE = "imported.md"
"""Name of the note for permanent texts, beside the dated notes"""
REASON = "imported from {name}"
COMPARABLE_LETTERS = 20
"""A text of this length that is anywhere in a note is not added again"""


class NoSource(UsageError):
    """There is nothing to import at this path."""

    def __init__(self, source: Path) -> None:
        super().__init__(
            f"there is no file or folder `{source}`",
            hint="name a database of Istota, a workspace, or a CLAUDE.md",
        )


def import_from(
    edits: "EditCalls",
    source: Path,
    *,
    scopes: Collection[str] | None,
    now: datetime | None,
    dry_run: bool,
    is_bundle: bool = False,
) -> ImportReport:
    """Import a workspace, a persona, a bundle, or the facts and texts of a database.

    Raises NoSource, NoWorkspace, NoBundle, ForeignDatabase, UsageError.
    """
    # Fault: a text is a collection of letters. None of them is a scope, and nothing
    # would be imported without a sign.
    if isinstance(scopes, str):
        raise UsageError(
            f"`scopes` is a list of scopes, not {scopes!r}", hint="None means all of the source"
        )
    request = ImportRequest(scopes, moment(now), dry_run)
    if is_bundle:
        if not source.is_dir():
            raise okf_bundles.NoBundle(source)
        return okf_bundles.import_bundle(edits, source, request)
    persona = transfer_persona.own_persona(edits, source)
    if persona:
        return transfer_persona.move_compactions(edits, persona, request)
    if source.is_dir():
        return workspace.import_workspace(edits, source, request)
    if not source.is_file():
        raise NoSource(source)
    if source.name == "CLAUDE.md":
        return workspace.import_persona(edits, source, request)
    return _import_database(edits, source, request)


def _import_database(edits: "EditCalls", source: Path, request: ImportRequest) -> ImportReport:
    importer = _DatabaseImporter(edits, source.name, request)
    memory = read_istota(source)
    for scope in memory.scopes():
        if request.includes(scope):
            importer.add_scope(scope, memory)
    return importer.report


class _DatabaseImporter:
    """One import of a database."""

    def __init__(self, edits: "EditCalls", name: str, request: ImportRequest) -> None:
        self._edits = edits
        self._request = request
        self._reason = REASON.format(name=name)
        self.report = ImportReport()

    def add_scope(self, scope: str, memory: IstotaMemory) -> None:
        """Import the facts and texts of one scope."""
        paths = list(self._edits.vault.folder.listing().entries)
        places = scope_notes.places_of(scope, paths, self._edits.vault.layout)
        reason = self._reason_without_place(scope, places)
        if reason:
            self.report.skip(scope, reason)
            return
        facts = [fact for fact in memory.facts if fact.scope == scope]
        if facts:
            with self._skipping_unreadable(places.facts):
                self._add_facts(places.facts, scope, facts)
        texts_by_note = _texts_by_note(places, memory.texts)
        for note, texts in sorted(texts_by_note.items()):
            with self._skipping_unreadable(note):
                self._add_texts(note, places, texts)

    def _reason_without_place(self, scope: str, places: "Places") -> str:
        """Return why the layout has no place for a scope; empty if it has one."""
        try:
            place = self._edits.vault.layout.place(inside(places.facts))
        except VaultMemoryError as error:
            # Fault: a name of the database may not be possible as the name of a folder.
            return error.message
        if place is None or (place.kind, place.scope) != ("facts", scope):
            return f"there is no place for {scope!r} in this vault"
        return ""

    @contextmanager
    def _skipping_unreadable(self, note: str) -> Iterator[None]:
        """Skip a note that cannot be read, so that the others are still imported."""
        try:
            yield
        except NoteUnreadable as error:
            self.report.skip(note, error.reason)

    # ---- facts -----------------------------------------------------------------------

    def _add_facts(self, page: str, scope: str, facts: "Sequence[Fact]") -> None:
        """Add all facts of a scope in one edit, oldest first."""
        settings = self._edits.vault.config.facts
        today = self._request.now.date()
        rules = entity_info.FactRules(today, settings.single, settings.conflicts, settings.modes)
        doc = self._parsed(page)
        wishes = []
        for fact in facts:
            try:
                entity_info.check(fact)
            except UsageError as error:
                # A fact of the database may be too long or empty: all others are still added.
                self.report.skip(page, error.message)
                continue
            if doc is not None and fact_page.is_said(doc, fact):
                self.report.known += 1
            else:
                wishes.append(fact_edits.wish_of("add", scope, rules, fact=fact))
        if wishes:
            self._count_facts(self._run(page, commands.ChangeFacts(tuple(wishes))), len(wishes))

    def _count_facts(self, edit: "Edit", count: int) -> None:
        """Count the added facts among `count` wishes; the others existed before."""
        added = 0
        for op in edit.applied:
            words = op.remark.split()
            is_fact = words[:1] == [fact_edits.ABOUT]
            if is_fact and words[-1] != "duplicate":
                added += 1
        self.report.facts += added
        if not edit.pending:
            refused = len(edit.rejected) + len(edit.proposed)
            self.report.known += count - added - refused

    def _parsed(self, page: str) -> "SectionedDoc | None":
        note = self._edits.editor.there(page)
        return parse(note.raw) if note else None

    # ---- texts -----------------------------------------------------------------------

    def _add_texts(self, note: str, places: "Places", texts: Iterable[ImportedText]) -> None:
        """Add the texts that neither the note nor the profile has, as items."""
        raws = {}
        for path in (note, places.profile):
            file = self._edits.editor.there(path)
            if file:
                raws[path] = file.raw
        is_known = _known_texts(raws.values())
        lines = []
        for text in texts:
            if is_known(text):
                self.report.known += 1
            else:
                lines.append(text.line)
        if not lines:
            return
        ops = note_lines.ops_for(parse(raws.get(note, b"")), HEADING, lines)
        edit = self._run(note, commands.ApplyOps(tuple(ops)))
        added = sum(op.outcome == "applied" for op in edit.applied)
        self.report.items += added
        self.report.known += len(edit.applied) - added

    def _run(self, note: str, action: "commands.EditAction") -> "Edit":
        """Execute an edit, and report what was refused or waits."""
        editor = self._edits.editor
        now = self._request.now
        command = editor.new_command(note, "cli", now, action, why=self._reason)
        edit = editor.run(
            command, now, commands.RunOptions(dry_run=self._request.dry_run, idle=False)
        )
        if any(op.outcome == "applied" for op in edit.applied):
            self.report.notes.append(note)
        for refused in edit.rejected:
            self.report.skip(note, refused.reason)
        for proposal in edit.proposed:
            self.report.skip(note, f"waits for your decision: {proposal.id}")
        # All ops of one edit wait for the same reason.
        for op in edit.pending[:1]:
            self.report.skip(note, f"waits until the note is free: {op.reason}")
        return edit


def _known_texts(raws: Collection[bytes]) -> Callable[[ImportedText], bool]:
    """Return a function that checks whether these notes, or an earlier call, have a text."""
    contents = "\n".join(folded_line(raw.decode("utf-8", "replace")) for raw in raws)
    items = {normalised_text(item.text) for raw in raws for item in items_of(parse(raw))}

    def is_known(text: ImportedText) -> bool:
        key = normalised_text(text.line)
        if key in items:
            return True
        if len(text.text) >= COMPARABLE_LETTERS and folded_line(text.text) in contents:
            return True
        items.add(key)
        return False

    return is_known


def _texts_by_note(
    places: "Places", texts: Iterable[ImportedText]
) -> dict[str, list[ImportedText]]:
    """Return the texts of a scope by the note to which they are added."""
    texts_by_note: dict[str, list[ImportedText]] = {}
    for text in texts:
        if text.scope == places.scope:
            note = _note_of(places, text)
            texts_by_note.setdefault(note, []).append(text)
    return texts_by_note


def _note_of(places: "Places", text: ImportedText) -> str:
    """Return the note for a text: that of its day, else one for permanent texts."""
    if text.day:
        return places.note_of(text.day)
    if places.scope.startswith("channel:"):
        return places.profile
    return places.notes + UNDATED_NOTE
