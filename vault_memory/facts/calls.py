"""Calls on facts: list them, and state, correct or end them. FACTS.md holds them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from vault_memory.contract import Source
from vault_memory.edits import commands
from vault_memory.edits.calls import EditCalls, EditKeywords, EditOptions, aware
from vault_memory.edits.plans import fact_edits
from vault_memory.errors import UsageError
from vault_memory.facts import entity_finder, entity_info, known
from vault_memory.index import fact_queries as rows
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.models.llm import policy_tables
from vault_memory.rules.call_values import checked_calls
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.learning import write_policy
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.scopes import check_scope, check_scopes
from vault_memory.search.calls import SearchCalls

if TYPE_CHECKING:
    from vault_memory.facts.entity_finder import EntityFinder, EntityInfo
    from vault_memory.facts.entity_info import About, FactChange, FactList
    from vault_memory.facts.known import Known
    from vault_memory.rules.facts.fact import Fact

DEFAULT_GROUP = "group:main"
BOT = EditOptions("tool")
PERSON = EditOptions("cli")


class FactEditKeywords(EditKeywords, total=False):
    """The keywords of a call that changes the line of one fact."""

    dry_run: bool


class _FactEdit(NamedTuple):
    """What to do with a fact on its page."""

    do: str
    """add, correct, invalidate, delete or confirm"""
    scope: str
    id: str = ""
    """of the fact on the page; empty to add one"""
    fact: "Fact | None" = None
    """the new fact, to add or correct one"""


@checked_calls
class FactCalls:
    """List, add, correct, end, delete and confirm the facts of one vault. A call of the object lists facts."""

    def __init__(self, edits: EditCalls, searcher: SearchCalls) -> None:
        self.vault = edits.vault
        self._edits = edits
        self._searcher = searcher

    # ---- reading ------------------------------------------------------------------------------

    @rebuild_if_damaged
    def __call__(
        self,
        *,
        scopes: Sequence[str],
        entity: str | None = None,
        on: date | None = None,
        below: float | None = None,
        now: datetime | None = None,
    ) -> "FactList":
        """List the facts of `scopes` that hold now; with `entity` those about it, in both directions.

        With `on` those that held on that day, by today's knowledge. With `below` only those of less
        strength, the weakest first. Raises UsageError for a wrong scope or strength.
        """
        if below is not None and not 0 <= below <= 1:
            raise UsageError(f"a strength is from 0 to 1, not {below:g}")
        facts, names = self._facts_about(scopes, entity)
        if on is None:
            facts = entity_info.holding(facts, aware(now).date(), self._single)
        else:
            facts = entity_info.held_on(facts, on, self._single)
        if entity is not None:
            about = entity_info.about_these(facts, names)
            facts = entity_info.with_inverse(about, self._persons(about, scopes))
        listed = self._listed(facts, scopes)
        if below is None:
            return listed
        return listed.weaker_than(below, aware(now).date())

    @rebuild_if_damaged
    def timeline(
        self, entity: str, *, scopes: Sequence[str], now: datetime | None = None
    ) -> "FactList":
        """List all present and past facts about an entity, oldest first."""
        facts, names = self._facts_about(scopes, entity)
        by_time = entity_info.in_time(facts, aware(now).date(), self._single)
        return self._listed(entity_info.about_these(by_time, names), scopes)

    @rebuild_if_damaged
    def entity(self, name: str, *, scopes: Sequence[str], now: datetime | None = None) -> "About":
        """Resolve a name or an alias in these scopes: its facts, its type, and its mentions."""
        finder = self._finder(scopes)
        facts = self(scopes=scopes, entity=name, now=now)
        for other in finder.other_names(name):
            if not facts:
                facts = self(scopes=scopes, entity=other, now=now)
        return finder.about(name, facts, now)

    @rebuild_if_damaged
    def entities(self, *, scopes: Sequence[str], now: datetime | None = None) -> "list[EntityInfo]":
        """List the people and things of these scopes, sorted by name: subjects of facts, what facts
        relate to them, what a note mentions as `@name` or `#topic`, and notes with aliases.
        """
        with self.vault.lock:
            return self._finder(scopes).list_all(aware(now).date())

    def about(self, name: str, *, scopes: Sequence[str], now: datetime | None = None) -> "Known":
        """Collect what is known of a person or a thing: `entity`, the notes about a person, and what is recent."""
        entity = self.entity(name, scopes=scopes, now=now)
        return known.known_of(self._searcher, entity, name, scopes)

    def _finder(self, scopes: Sequence[str]) -> "EntityFinder":
        check_scopes(scopes)
        self.vault.indexing.refresh()
        return entity_finder.EntityFinder(self.vault, self._searcher, scopes)

    @rebuild_if_damaged
    def relevant(
        self,
        prompt: str,
        *,
        scopes: Sequence[str],
        user: str,
        most: int | None = None,
        now: datetime | None = None,
    ) -> "tuple[Fact, ...]":
        """Select the facts for a prompt: those of the user, and those about entities that the prompt names.

        At most `most` facts, 0 for all; by default `max_knowledge_facts` of `[facts]`.
        """
        check_scopes(scopes)
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        scope_ids = index.scope_ids(scopes)
        with index.reading():
            names = rows.entities_in(index, scope_ids, entity_info.PromptWords(prompt))
            names |= {entity_info.folded(user)}
            found_rows = rows.facts_about(index, scope_ids, names)
            facts = [fact for _, fact in found_rows]
        current = entity_info.holding(facts, aware(now).date(), self._single)
        about = entity_info.about_these(current, names)
        if most is None:
            most = self.vault.config.facts.max_knowledge_facts
        return tuple(entity_info.relevant(about, user, most))

    @rebuild_if_damaged
    def find(self, fact_id: str, *, scopes: Sequence[str]) -> "tuple[str, Fact]":
        """Find the fact of these scopes whose id begins with `fact_id`, and its note. Raises UnclearId."""
        check_scopes(scopes)
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        scope_ids = index.scope_ids(scopes)
        matches = {
            fact.id: (path, fact) for path, fact in rows.facts_with_id(index, scope_ids, fact_id)
        }
        # Fault: an id may be a beginning that several facts share. A guess would end the wrong one.
        if len(matches) == 1:
            return next(iter(matches.values()))
        if matches:
            candidates = [fact for _, fact in matches.values()]
            raise entity_info.UnclearFact(
                fact_id, candidates[: entity_info.MOST_CANDIDATES], is_ambiguous=True
            )
        all_facts = [fact for _, fact in rows.all_facts(index, scope_ids)]
        raise entity_info.unclear(fact_id, all_facts)

    @rebuild_if_damaged
    def scope_for(self, subject: str, scopes: Sequence[str] = ()) -> str:
        """Choose the scope for a new fact about `subject`. Raises UsageError when several fit."""
        check_scopes(scopes)
        if len(scopes) == 1:
            return scopes[0]
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        candidates = scopes or index.scopes()
        name = facts_fact.folded(subject)
        facts = rows.facts_about(index, index.scope_ids(candidates), [name])
        choices = (
            [scope for scope in candidates if facts_fact.folded(scope) == f"user:{name}"],
            sorted({fact.scope for _, fact in facts}),
            [scope for scope in candidates if scope.startswith("user:")],
            [scope for scope in candidates if scope == DEFAULT_GROUP],
        )
        # Fault: a fact in a scope that was guessed could be read by other people.
        for likely in choices:
            if len(likely) == 1:
                return likely[0]
        if not candidates:
            return f"user:{self.vault.config.layout.user}"
        raise UsageError(
            f"several scopes fit a fact about {subject!r}",
            hint="name it with `--user`, `--channel` or `--group`",
            candidates=list(candidates),
        )

    # ---- changing -----------------------------------------------------------------------------

    def add(self, fact: "Fact", options: EditOptions = BOT) -> "FactChange":
        """State a fact of a scope; see `VaultMemory.add_fact`."""
        entity_info.check(fact)
        note = self._note_of(fact.scope)
        return self._change(note, _FactEdit("add", fact.scope, fact=fact), options)

    def correct(
        self,
        fact_id: str,
        scopes: Sequence[str],
        right: Mapping[str, Any],
        options: EditOptions = PERSON,
    ) -> "FactChange":
        """Replace a fact that was wrong from the start; see `VaultMemory.correct_fact`."""
        from dataclasses import replace  # here: each start of a hook would load it

        note, fact = self.find(fact_id, scopes=scopes)
        changes = {name: value for name, value in right.items() if value is not None}
        corrected = entity_info.identified(replace(fact, **changes))
        entity_info.check(corrected)
        edit = _FactEdit("correct", fact.scope, fact.id, corrected)
        return self._change(note, edit, options)

    def invalidate(
        self, fact_id: str, *, scopes: Sequence[str], **keywords: Unpack[FactEditKeywords]
    ) -> "FactChange":
        """End a fact: its line is struck through and stays in the timeline.

        Raises UnclearId, NoteChanged.
        """
        return self._change_line("invalidate", fact_id, scopes, keywords)

    def delete(
        self, fact_id: str, *, scopes: Sequence[str], **keywords: Unpack[FactEditKeywords]
    ) -> "FactChange":
        """Delete the line of a fact that was never true. Raises UnclearId, NoteChanged."""
        return self._change_line("delete", fact_id, scopes, keywords)

    def confirm(
        self, fact_id: str, *, scopes: Sequence[str], **keywords: Unpack[FactEditKeywords]
    ) -> "FactChange":
        """Mark a fact as confirmed by a person, so that it does not fade. Raises UnclearId, NoteChanged."""
        return self._change_line("confirm", fact_id, scopes, keywords)

    # ---- steps --------------------------------------------------------------------------------

    @property
    def _single(self) -> frozenset[str]:
        """The predicates that have one value at a time."""
        return self.vault.config.facts.single

    def _facts_about(
        self, scopes: Sequence[str], entity: str | None
    ) -> "tuple[list[Fact], set[str]]":
        """The facts about an entity, or all, with those that may have ended them; and the entity's names."""
        check_scopes(scopes)
        self.vault.indexing.refresh()
        index = self.vault.indexing.index()
        scope_ids = index.scope_ids(scopes)
        with index.reading():
            if entity is None:
                facts = rows.all_facts(index, scope_ids)
                return [fact for _, fact in facts], set()
            name = facts_fact.folded(entity)
            names = rows.resolve_entity(index, scope_ids, name)
            names |= rows.person_called(index, scope_ids, entity)
            facts = rows.facts_about(index, scope_ids, names)
            return [fact for _, fact in facts], names

    def _persons(self, facts: "Iterable[Fact]", scopes: Sequence[str]) -> frozenset[str]:
        """The persons among the entities that `knows` relates."""
        keys = {
            facts_fact.folded(name)
            for fact in facts
            if fact.predicate == "knows"
            for name in (fact.subject, fact.object)
        }
        index = self.vault.indexing.index()
        scope_ids = index.scope_ids(scopes)
        return rows.persons_among(index, scope_ids, keys)

    def _listed(self, facts: "Iterable[Fact]", scopes: Sequence[str]) -> "FactList":
        """The facts as an answer, which names the scopes that have no note."""
        answer = entity_info.FactList(facts)
        index = self.vault.indexing.index()
        answer.unknown_scopes = self._searcher.unknown_scopes(index, scopes)
        return answer

    def _note_of(self, scope: str) -> str:
        """The note with the facts of a scope, or where it will be."""
        check_scope(scope)
        layout = self.vault.layout
        paths = list(self.vault.folder.listing().entries)
        path = scope_notes.places_of(scope, paths, layout).facts
        place = layout.place(path)
        # Fault: a layout without a place for facts would put the page into another scope.
        if place is None or (place.kind, place.scope) != ("facts", scope):
            raise UsageError(
                f"there is no place for facts of {scope!r} in this vault", hint="see `[layout]`"
            )
        return path

    def _change_line(
        self, do: str, fact_id: str, scopes: Sequence[str], keywords: FactEditKeywords
    ) -> "FactChange":
        """Change the line of a fact as a person's act, unless a keyword names another source."""
        note, fact = self.find(fact_id, scopes=scopes)
        edit = _FactEdit(do, fact.scope, fact.id)
        return self._change(note, edit, PERSON._replace(**keywords))

    def _change(self, note: str, fact_edit: _FactEdit, options: EditOptions) -> "FactChange":
        source = options.source
        commands.check_source(source, "facts")
        moment = aware(options.now)
        settings = self.vault.config.facts
        rules = entity_info.FactRules(
            moment.date(), settings.single, settings.conflicts, settings.modes
        )
        fact = fact_edit.fact
        wish = fact_edits.wish_of(fact_edit.do, fact_edit.scope, rules, id=fact_edit.id, fact=fact)
        edits = self._edits
        # Fault: another process may write the page between the look and the edit.
        with edits.transaction():
            action = commands.ChangeFacts((wish,))
            command = edits.editor.new_command(note, source, moment, action, why=options.why)
            edits.check_owner(command)
            # Fault: a tool may write a standing rule only from the owner's own words.
            words = edits.owner_words(note, source, wish.get("fact"))
            origin = self._origin_of(note, fact_edit, source)
            command = command.with_provenance(origin, words)
            edit = edits.execute(
                command, moment, expected=options.expected, dry_run=options.dry_run
            )
        return entity_info.change_of(edit, note, fact_edit.id)

    def _origin_of(self, note: str, fact_edit: _FactEdit, source: Source) -> str:
        """Whose words a fact has."""
        fact = fact_edit.fact
        origin = fact.origin if fact else "owner"
        # A program that adds a fact knows whose it is. A model corrects what it is talked into.
        if fact is None or fact_edit.do != "correct" or origin != "owner":
            return origin
        if source != "tool":
            return origin
        statement = f"{fact.subject} {fact.object}"
        turns = self._edits.said_by_owner(note, statement)
        triple = (fact.subject, fact.predicate, fact.object)
        candidate = write_policy.Candidate("fact", statement, triple, turns=turns)
        cues = policy_tables.policy_cues(self.vault.state.path)
        decision = write_policy.decide(candidate, cues)
        # Fault: "maybe I move to Oslo" has the words of "lives in Oslo".
        is_sure = decision.policy_class in (write_policy.NOW, write_policy.SESSION_END)
        return "owner" if is_sure else "tool"
