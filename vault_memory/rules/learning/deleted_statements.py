"""What people deleted from the notes of one scope, and whether a new text says it again. Pure.

A sentence and a fact may say the same: "Alice lives in Bergen" and "lives_in: Bergen" below Alice.
"""

from collections.abc import Callable, Iterable

from vault_memory.markdown.items import parse_text
from vault_memory.rules.claims.carried_words import are_opposites
from vault_memory.rules.claims.word_tables import is_negated
from vault_memory.rules.edits.ownership import Key
from vault_memory.rules.facts.fact import Fact, folded, read_fact
from vault_memory.rules.learning.attribute_values import says_no_more
from vault_memory.rules.learning.candidate import FoundFact
from vault_memory.rules.learning.twins import TwinIndex
from vault_memory.rules.search.tokens import words

_SPEAKER = frozenset("user person speaker benutzer nutzer usuario utilisateur".split())
"""Words by which models refer to the person"""

PhraseWords = Callable[[str], frozenset[str]]
"""Returns the words by which people say a predicate"""


class DeletedStatements:
    """Sentences and facts that people deleted."""

    def __init__(
        self, sentences: Iterable[str], facts: Iterable[Key], phrase_words: PhraseWords
    ) -> None:
        """`facts` are subjects with statements such as ``lives_in: bergen``."""
        self._sentences = tuple(sentences)
        self._index = TwinIndex(self._sentences)
        read = (read_fact(text, subject) for subject, text in facts)
        self._facts = tuple(fact for fact in read if fact is not None)
        self._phrase_words = phrase_words

    def has_sentence(self, line: str) -> bool:
        """Returns whether a line says again what a person deleted."""
        twin = self._index.find(line)
        if twin is not None and twin.is_duplicate:
            return True
        statement = parse_text(line).text
        return any(self._says_fact(statement, fact) for fact in self._facts)

    def has_fact(self, subject: str, line: str) -> bool:
        """Returns whether a line of a page of facts says again what a person deleted."""
        fact = read_fact(line, subject)
        if fact is None:
            return self.has_sentence(line)
        if any(_key_of(fact) == _key_of(deleted) for deleted in self._facts):
            return True
        return any(self._says_fact(sentence, fact) for sentence in self._sentences)

    def _says_fact(self, sentence: str, fact: Fact) -> bool:
        statement = f"{fact.predicate} {fact.object}".replace("_", " ")
        # Fault: "hates tea" would be refused after "likes: tea" was deleted.
        if is_negated(sentence) != is_negated(statement):
            return False
        if are_opposites(sentence, statement):
            return False
        if not set(words(fact.object)) <= set(words(sentence)):
            return False
        of_phrases = self._phrase_words(fact.predicate)
        attribute = FoundFact(fact.subject, fact.predicate, fact.object)
        return says_no_more(sentence, [attribute], of_phrases, _SPEAKER)


def _key_of(fact: Fact) -> tuple[str, str, str]:
    return folded(fact.subject), folded(fact.predicate), folded(fact.object)
