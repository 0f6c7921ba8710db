"""The stems of words, as the full text has them: without endings and accents."""

import shlex
from collections.abc import Iterable

import apsw

from vault_memory.index.schema import TOKENIZER


class Stemmer:
    """The tokenizer of the full text. A thread needs its own."""

    def __init__(self) -> None:
        name, *arguments = shlex.split(TOKENIZER)
        self._connection = apsw.Connection(":memory:")
        self._tokenizer = self._connection.fts5_tokenizer(name, arguments)

    def stems(self, words: Iterable[str]) -> set[str]:
        """Returns the stems of these words."""
        raw = " ".join(words).encode()
        stemmed = self._tokenizer(raw, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        return {str(token[-1]) for token in stemmed}
