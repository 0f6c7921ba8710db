"""Knows the words of a query as the index does: in any form, without accents, in pairs of letters."""

from vault_memory.index.fts_search import Stemmer
from vault_memory.rules.search import tokens


class MatchedWords:
    """The words of one query."""

    def __init__(self, query: str) -> None:
        self._stemmer = Stemmer()
        terms = [term for sentence in tokens.sentences(query) for term in tokens.terms(sentence)]
        terms += tokens.compounds_of(tokens.normalise(query))
        self._stems = set(self._stemmer.stems(terms))
        # A single letter of a script without spaces is the beginning of a pair.
        self._letters = {term for term in terms if len(term) == 1 and tokens.is_run(term)}

    def are_in(self, text: str) -> bool:
        """Returns whether a text has one of the words."""
        words = tokens.without_last_letters(tokens.words(text))
        has_letter = any(word[0] in self._letters for word in words)
        return has_letter or not self._stems.isdisjoint(self._stemmer.stems(words))
