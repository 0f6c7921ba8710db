"""The calls of VaultMemory about facts: what is known of whom, and how that changes. FACTS.md is where they stand."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from vault_memory.edits.calls import SOURCES, NoteEditCalls
from vault_memory.edits.calls import aware as moment
from vault_memory.errors import UsageError
from vault_memory.index import fact_queries as rows
from vault_memory.index.filters import Filters
from vault_memory.index.retry_on_corruption import rebuild_if_damaged
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.edits import commands
    from vault_memory.edits.plans import fact_edits
    from vault_memory.facts import entity_info
    from vault_memory.facts.entity_info import About, FactChange
    from vault_memory.index import fts_search
    from vault_memory.rules.facts import fact as facts_fact
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.paths import scope_notes
    from vault_memory.search.freshness import SearchAnswer
    from vault_memory.search.results import Hit
else:
    commands = lazy_module("vault_memory.edits.commands")
    fact_edits = lazy_module("vault_memory.edits.plans.fact_edits")
    entity_info = lazy_module("vault_memory.facts.entity_info")
    fts_search = lazy_module("vault_memory.index.fts_search")
    facts_fact = lazy_module("vault_memory.rules.facts.fact")
    scope_notes = lazy_module("vault_memory.rules.paths.scope_notes")

MOST_HITS = 5
"""Hits shown with an entity"""


class FactCalls(NoteEditCalls):
    """What VaultMemory is made of besides."""

    @rebuild_if_damaged
    def facts(
        self,
        *,
        scopes: Sequence[str],
        entity: str | None = None,
        on: date | None = None,
        now: datetime | None = None,
    ) -> "tuple[Fact, ...]":
        """The facts of these scopes that hold now; with `entity` those about it, read in both directions.

        With `on` those that held on that day, by what is known now.
        """
        found, keys = self._known(scopes, entity)
        if on is None:
            facts = entity_info.holding(found, moment(now).date(), self._single)
        else:
            facts = entity_info.held_on(found, on, self._single)
        return (
            tuple(facts)
            if entity is None
            else tuple(entity_info.with_inverse(entity_info.about_these(facts, keys)))
        )

    @rebuild_if_damaged
    def timeline(
        self, entity: str, *, scopes: Sequence[str], now: datetime | None = None
    ) -> "tuple[Fact, ...]":
        """All that is or was known about somebody or something, the oldest first."""
        found, keys = self._known(scopes, entity)
        return tuple(
            entity_info.about_these(
                entity_info.in_time(found, moment(now).date(), self._single), keys
            )
        )

    def entity(
        self, name: str, *, scopes: Sequence[str], now: datetime | None = None
    ) -> "About":
        """Who or what a name means in these scopes, by its name or an alias, and where it is mentioned."""
        from dataclasses import replace

        facts = self.facts(scopes=scopes, entity=name, now=now)
        stated = [fact for fact in facts if fact.text]
        entity = entity_info.Entities.of(stated).resolve(name)
        names = (entity.name, *entity.aliases)
        if not stated:
            entity = replace(
                entity, type=self._type_by_mentions(name, scopes) or entity.type
            )
        mentions, hits = self._mentions(names, scopes, now)
        return entity_info.about(entity, facts, mentions, hits, moment(now).date())

    @rebuild_if_damaged
    def relevant_facts(
        self,
        prompt: str,
        *,
        scopes: Sequence[str],
        user: str,
        most: int | None = None,
        now: datetime | None = None,
    ) -> "tuple[Fact, ...]":
        """The facts that a prompt is given: those of the user, and those about whom or what the prompt names.

        `most` is at most so many, 0 for all; by default `max_knowledge_facts` of `[facts]`.
        """
        self.indexing.refresh()
        index = self.indexing.index()
        scope_ids = index.scope_ids(_checked(scopes))
        with index.reading():
            keys = rows.entities_in(
                index.connection, scope_ids, entity_info.Prompt(prompt)
            ) | {entity_info.folded(user)}
            found = [
                fact for _, fact in rows.facts_about(index.connection, scope_ids, keys)
            ]
        kept = entity_info.about_these(
            entity_info.holding(found, moment(now).date(), self._single), keys
        )
        return tuple(
            entity_info.relevant(
                kept,
                user,
                self.config.facts.max_knowledge_facts if most is None else most,
            )
        )

    def add_fact(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        scope: str,
        valid_from: date | None = None,
        valid_until: date | None = None,
        temporary: bool = False,
        confidence: float = 1.0,
        ref: str = "",
        origin: str = "owner",
        source: str = "tool",
        why: str = "",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "FactChange":
        """State a fact on the page of a scope: it is added, refines or ends another, or stands there already.

        What `tool` and `nightly` state is bound by policy. Raises UsageError, BadPath, NoteUnreadable, NotRecorded.
        """
        said = entity_info.Fact(
            "",
            subject,
            predicate,
            object,
            valid_from,
            valid_until,
            temporary,
            confidence,
            ref,
            origin,
            scope=scope,
        )
        entity_info.check(said)
        return self._change(
            self._page_of(scope),
            "add",
            said.scope,
            source,
            now,
            dry_run,
            fact=said,
            why=why,
        )

    def correct_fact(
        self,
        fact_id: str,
        *,
        scopes: Sequence[str],
        source: str = "cli",
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
        **right: Any,
    ) -> "FactChange":
        """Put what is right in the place of what was wrong from the start; `right` are parts of the fact.

        `expected` is the revision of its page that this was thought of for. Raises UnclearId, NoteChanged.
        """
        from dataclasses import replace

        note, fact = self.find_fact(fact_id, scopes=scopes)
        new = entity_info.identified(
            replace(
                fact,
                **{name: value for name, value in right.items() if value is not None},
            )
        )
        entity_info.check(new)
        return self._change(
            note,
            "correct",
            fact.scope,
            source,
            now,
            dry_run,
            fact=new,
            id=fact.id,
            expected=expected,
        )

    def invalidate_fact(
        self,
        fact_id: str,
        *,
        scopes: Sequence[str],
        source: str = "cli",
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "FactChange":
        """It does not hold any more: its line is struck through and stays for the timeline. Raises UnclearId."""
        note, fact = self.find_fact(fact_id, scopes=scopes)
        return self._change(
            note, "invalidate", fact.scope, source, now, dry_run, id=fact.id
        )

    def delete_fact(
        self,
        fact_id: str,
        *,
        scopes: Sequence[str],
        source: str = "cli",
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "FactChange":
        """It was never so: its line goes. Raises UnclearId, NoteChanged."""
        note, fact = self.find_fact(fact_id, scopes=scopes)
        return self._change(
            note,
            "delete",
            fact.scope,
            source,
            now,
            dry_run,
            id=fact.id,
            expected=expected,
        )

    def confirm_fact(
        self,
        fact_id: str,
        *,
        scopes: Sequence[str],
        source: str = "cli",
        expected: str | None = None,
        dry_run: bool = False,
        now: datetime | None = None,
    ) -> "FactChange":
        """A person says that it is so: it does not fade. Raises UnclearId, NoteChanged."""
        note, fact = self.find_fact(fact_id, scopes=scopes)
        return self._change(
            note,
            "confirm",
            fact.scope,
            source,
            now,
            dry_run,
            id=fact.id,
            expected=expected,
        )

    @rebuild_if_damaged
    def find_fact(self, fact_id: str, *, scopes: Sequence[str]) -> "tuple[str, Fact]":
        """The one fact of these scopes whose id begins so, and the note it stands in. Raises UnclearId."""
        self.indexing.refresh()
        index = self.indexing.index()
        scope_ids = index.scope_ids(_checked(scopes))
        found = {
            fact.id: (path, fact)
            for path, fact in rows.facts_with_id(index.connection, scope_ids, fact_id)
        }
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            several = [fact for _, fact in found.values()]
            raise entity_info.UnclearFact(
                fact_id, several[: entity_info.MOST_CANDIDATES], several=True
            )
        raise entity_info.unclear(
            fact_id, [fact for _, fact in rows.all_facts(index.connection, scope_ids)]
        )

    @rebuild_if_damaged
    def scope_for(self, subject: str, scopes: Sequence[str] = ()) -> str:
        """On whose page a fact about `subject` goes when that is not said. Raises UsageError when it is not clear."""
        if len(scopes) == 1:
            return scopes[0]
        self.indexing.refresh()
        index = self.indexing.index()
        known = scopes or index.scopes()
        own = [
            scope
            for scope in known
            if facts_fact.folded(scope) == f"user:{facts_fact.folded(subject)}"
        ]
        about = {
            fact.scope
            for _, fact in rows.facts_about(
                index.connection, index.scope_ids(known), [facts_fact.folded(subject)]
            )
        }
        people = [scope for scope in known if scope.startswith("user:")]
        for likely in (
            own,
            sorted(about),
            people,
            [scope for scope in known if scope == "group:main"],
        ):
            if len(likely) == 1:
                return likely[0]
        if not known:
            return f"user:{self.config.layout.user}"
        raise UsageError(
            f"it is not clear on whose page a fact about {subject!r} goes",
            hint="name it with `--user`, `--channel` or `--group`",
            candidates=list(known),
        )

    # ---- what these are made of -------------------------------------------------------------------------------------

    @property
    def _single(self) -> frozenset[str]:
        return frozenset(map(facts_fact.snake_case, self.config.facts.single_valued))

    def _known(
        self, scopes: Sequence[str], entity: str | None
    ) -> "tuple[list[Fact], set[str]]":
        """The facts about an entity, or all, with those that may have ended them; and the names it has."""
        self.indexing.refresh()
        index = self.indexing.index()
        scope_ids = index.scope_ids(_checked(scopes))
        with index.reading():
            if entity is None:
                return [
                    fact for _, fact in rows.all_facts(index.connection, scope_ids)
                ], set()
            keys = rows.resolve_entity(
                index.connection, scope_ids, facts_fact.folded(entity)
            )
            return [
                fact for _, fact in rows.facts_about(index.connection, scope_ids, keys)
            ], keys

    def _page_of(self, scope: str) -> str:
        """Where the facts of a scope stand, or will."""
        kind, _, name = scope.partition(":")
        if kind not in ("user", "channel", "group") or not name:
            raise UsageError(
                f"{scope!r} is no scope",
                hint="a scope is such as `user:alice` or `channel:harbour`",
            )
        path = scope_notes.places_of(
            scope, list(self.folder.listing().entries), self.layout
        ).facts
        place = self.layout.place(path)
        if place is None or (place.kind, place.scope) != ("facts", scope):
            raise UsageError(
                f"there is no place for facts of {scope!r} in this vault",
                hint="see `[layout]`",
            )
        return path

    def _change(
        self,
        note: str,
        do: str,
        scope: str,
        source: str,
        now: datetime | None,
        dry_run: bool,
        *,
        fact: "Fact | None" = None,
        id: str = "",
        why: str = "",
        expected: str | None = None,
    ) -> "FactChange":
        if source not in SOURCES:
            raise UsageError(
                f"{source!r} is no source of facts",
                hint=f"known are {', '.join(SOURCES)}",
            )
        at = moment(now)
        rules = entity_info.FactRules(
            at.date(), self._single, self.config.facts.conflicts
        )
        wish = fact_edits.wish_of(do, scope, rules, id=id, fact=fact)
        with self._there():
            self._check_owner(note)
            run = self.curator.new_command(
                note,
                source,
                at,
                commands.ChangeFacts((wish,)),
                why=why,
            )
            owner_words = self._said_by_owner(note, source, wish.get("fact"))
            origin = fact.origin if fact else "owner"
            run = run.with_provenance(origin, owner_words)
            edit = self._run(run, at, expected=expected, dry_run=dry_run)
        return entity_info.told(edit, note, id)

    def _type_by_mentions(self, name: str, scopes: Sequence[str]) -> str:
        with self._lock:
            index = self.indexing.index()
            counts = rows.mention_counts(
                index.connection,
                index.scope_ids(scopes),
                facts_fact.folded(name.removeprefix("@")),
            )
        return max(counts, key=lambda kind: (counts[kind], kind), default="")

    def _mentions(
        self, names: Iterable[str], scopes: Sequence[str], now: datetime | None
    ) -> "tuple[int, tuple[Hit, ...]]":
        """In how many chunks one of the names stands, and the best hits for them."""
        names = tuple(names)
        with self._lock:
            index = self.indexing.index()
            scope_ids = index.scope_ids(scopes)
            filters = [Filters(entity=name) for name in names]
            for one in filters:
                one.prepare(index.connection)
            places = {
                place
                for one in filters
                for place in fts_search.passing(index.connection, scope_ids, one)
            }
        answer: SearchAnswer = self.search(  # type: ignore[attr-defined]
            " ".join(names),
            scopes=scopes,
            entity=names[0],
            limit=MOST_HITS,
            mode="keyword",
            now=now,
            refresh=False,
        )
        return len(places), answer.hits


def _checked(scopes: Sequence[str]) -> Sequence[str]:
    if isinstance(scopes, str):
        raise UsageError(
            f"`scopes` is a list of scopes, not {scopes!r}",
            hint="name at least one, such as `user:alice`",
        )
    return scopes
