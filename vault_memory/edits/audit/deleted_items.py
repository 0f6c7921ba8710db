"""Finds what people deleted from the notes of a scope: the bot writes it again in no note and no words."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Generic, NamedTuple, TypeVar

from vault_memory.edits.audit_log import AuditLog
from vault_memory.edits.record_cache import note_of
from vault_memory.errors import VaultMemoryError
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import parse_text
from vault_memory.markdown.note_items import items_of
from vault_memory.models.llm import phrase_tables
from vault_memory.rules.claims.carried_words import are_opposites
from vault_memory.rules.claims.word_tables import is_negated
from vault_memory.rules.edits.ownership import Key, replay
from vault_memory.rules.facts.fact import Fact, folded, read_fact
from vault_memory.rules.learning.attribute_values import says_no_more
from vault_memory.rules.learning.candidate import FoundFact
from vault_memory.rules.learning.episodes import sentences_of
from vault_memory.rules.learning.twins import TwinIndex
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.search.tokens import words
from vault_memory.vault.listing import Stat
from vault_memory.vault.reader import Folder

FACTS, EPISODE = "facts", "episode"
_SPEAKER = frozenset("user person speaker benutzer nutzer usuario utilisateur".split())
"""Words by which models refer to the person"""


class DeletedItem(NamedTuple):
    """An item that a person deleted from a note."""

    note: str
    heading: str
    text: str
    """normalised"""
    statement: str
    """what it says: the text, or one of the sentences of an episode"""
    is_fact: bool


FindDeleted = Callable[[str, str], tuple[DeletedItem, ...]]
"""Returns the deleted items that a line below a heading says again"""


Read = TypeVar("Read")


class _Cache(Generic[Read]):
    """What was read of files, until they change: a cycle looks up each of its edits."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[object, Read]] = {}

    def read(self, name: str, stamp: object, read: Callable[[str], Read]) -> Read:
        """Returns what was read of a file with this stamp, or reads it."""
        entry = self._read.get(name)
        if entry is None or entry[0] != stamp:
            self._read[name] = entry = (stamp, read(name))
        return entry[1]


class _Present:
    """The items that the notes of a scope have now."""

    def __init__(self, keys: Iterable[Key]) -> None:
        """The headings of the items are folded."""
        self._keys = frozenset(keys)
        self._headings = {heading for heading, _ in self._keys}
        self._texts = {text for _, text in self._keys}

    def has(self, key: Key, *, is_fact: bool) -> bool:
        """Returns whether an item stands in a note, also where it moved."""
        heading, text = folded(key[0]), key[1]
        # Fault: another person lives where the fact of this one was deleted.
        if is_fact and heading in self._headings:
            return (heading, text) in self._keys
        return text in self._texts

    def says(self, sentence: str) -> bool:
        """Returns whether an item has a normalised sentence."""
        return any(sentence in text for text in self._texts)


class _DeletedStatements:
    """Sentences and facts that people deleted.

    A sentence and a fact may say the same: "Alice lives in Bergen" and "lives_in: Bergen" below Alice.
    """

    def __init__(self, sentences: Iterable[str], facts: Iterable[Key]) -> None:
        """`facts` are subjects with statements such as ``lives_in: bergen``."""
        self._sentences = tuple(sentences)
        self._index = TwinIndex(self._sentences)
        read = (read_fact(text, subject) for subject, text in facts)
        self._facts = tuple(fact for fact in read if fact is not None)

    def say(self, line: str, subject: str) -> bool:
        """Returns whether a line, of a page of facts with its subject, says again what a person deleted."""
        fact = read_fact(line, subject)
        if fact is None:
            twin = self._index.find(line)
            if twin is not None and twin.is_duplicate:
                return True
            statement = parse_text(line).text
            return any(self._says_fact(statement, fact) for fact in self._facts)
        if any(_key_of(fact) == _key_of(deleted) for deleted in self._facts):
            return True
        return any(self._says_fact(sentence, fact) for sentence in self._sentences)

    def _says_fact(self, sentence: str, fact: Fact) -> bool:
        # Most sentences lack a word of the fact, which is quickly seen.
        if not _words_in(fact.object) <= _words_in(sentence):
            return False
        statement = f"{fact.predicate} {fact.object}".replace("_", " ")
        # Fault: "hates tea" would be refused after "likes: tea" was deleted.
        if is_negated(sentence) != is_negated(statement) or are_opposites(sentence, statement):
            return False
        return says_no_more(
            sentence,
            [FoundFact(fact.subject, fact.predicate, fact.object)],
            phrase_tables.predicate_words(fact.predicate),
            _SPEAKER,
        )


class _Recorded(NamedTuple):
    """The items that the audit of a note has and the note has not; other notes may have them."""

    items: Sequence[DeletedItem]
    statements: _DeletedStatements


class DeletedItems:
    """The items that people deleted, by the audits and the present notes of a vault."""

    def __init__(self, folder: Folder, layout: Layout, trail: AuditLog) -> None:
        self._folder = folder
        self._layout = layout
        self._trail = trail
        self._items_now = _Cache[frozenset[Key]]()
        self._recorded = _Cache[_Recorded]()

    def of_scope(self, note: str) -> FindDeleted:
        """Returns a function that finds the deleted items that a line below a heading of a note says again.

        It reads the audits of the scope and their notes when it is first called, and the other
        notes when a line says what an audit has and its note has not.
        """
        place = self._layout.place(note)
        if place is None:
            return lambda heading, line: ()

        @cache
        def recorded() -> list[_Recorded]:
            return [
                self._recorded.read(note, (self._stat_of(note), audits), self._read)
                for note, audits in sorted(self._audits_of(place.scope).items())
            ]

        @cache
        def present() -> _Present:
            return self._present_in(place.scope)

        @cache
        def missing(number: int) -> list[tuple[DeletedItem, _DeletedStatements]]:
            """Returns the deleted items of a recorded note, each with what it states."""
            items = recorded()[number].items
            return [(item, _statements([item])) for item in items if _is_missing(item, present())]

        def find(heading: str, line: str) -> tuple[DeletedItem, ...]:
            # Most lines are new. To read the items of all notes would cost each op as much as
            # the notes are long.
            subject = heading if place.kind == FACTS else ""
            return tuple(
                item
                for number, note in enumerate(recorded())
                if note.items and note.statements.say(line, subject)
                for item, statements in missing(number)
                if statements.say(line, subject)
            )

        return find

    def _audits_of(self, scope: str) -> dict[str, dict[str, Stat]]:
        """Returns the notes of a scope that have audits, with the state of their files."""
        audits: dict[str, dict[str, Stat]] = defaultdict(dict)
        for path, stat in self._folder.listing(suffixes=(".jsonl",)).entries.items():
            audited = note_of(path)
            place = self._layout.place(audited) if audited else None
            if audited and place and place.scope == scope:
                audits[audited][path] = stat
        return audits

    def _present_in(self, scope: str) -> _Present:
        """Returns the items that the notes of a scope have now."""
        notes = self._folder.listing(suffixes=(".md",)).entries.items()
        places = ((self._layout.place(path), path, stat) for path, stat in notes)
        return _Present(
            key
            for place, path, stat in places
            if place is not None and place.scope == scope
            for key in self._items_now.read(path, stat, self._keys_in)
        )

    def _stat_of(self, note: str) -> Stat | None:
        folder, _, name = note.rpartition("/")
        return self._folder.stats(folder, [name]).get(name)

    def _read(self, note: str) -> _Recorded:
        """Reads the audit of a note."""
        place = self._layout.place(note)
        assert place is not None, "notes are chosen by their places"
        is_fact = place.kind == FACTS
        items: list[DeletedItem] = []
        present = self._items_now.read(note, self._stat_of(note), self._keys_in)
        texts = {text for _, text in present}
        for key in sorted(replay(self._trail.of(note)).recorded):
            # Most items stand in the note in which they were written.
            if (folded(key[0]), key[1]) in present or (key[1] in texts and not is_fact):
                continue
            # Fault: a conversation goes on, and its new episode has the old sentences.
            sentences = sentences_of(key[1]) if place.kind == EPISODE else ()
            items += [DeletedItem(note, *key, said, is_fact) for said in (key[1], *sentences)]
        return _Recorded(items, _statements(items))

    def _keys_in(self, path: str) -> frozenset[Key]:
        try:
            doc = parse(self._folder.read(path).raw)
        except VaultMemoryError:
            # Another process removed the note after the listing.
            return frozenset()
        return frozenset((folded(item.heading), item.key[1]) for item in items_of(doc))


def _is_missing(item: DeletedItem, present: _Present) -> bool:
    """Returns whether no note has an item, nor the sentence of it that is asked for."""
    return not present.has((item.heading, item.text), is_fact=item.is_fact) and (
        item.statement == item.text or not present.says(item.statement)
    )


def _statements(items: Sequence[DeletedItem]) -> _DeletedStatements:
    return _DeletedStatements(
        [item.statement for item in items if not item.is_fact],
        [(item.heading, item.statement) for item in items if item.is_fact],
    )


@lru_cache(maxsize=4096)
def _words_in(text: str) -> frozenset[str]:
    return frozenset(words(text))


def _key_of(fact: Fact) -> tuple[str, str, str]:
    return folded(fact.subject), folded(fact.predicate), folded(fact.object)
