"""What a prompt asks of a vault, and the memory block that it gets: frozen values.

The names of the block are those of the JSON contract.
"""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from vault_memory.search.freshness import Freshness
    from vault_memory.search.results import Answer

MAIN = "group:main"
"""The group of the workspace at the root"""
MOST_LINES = 16
"""Recalled lines of a prompt that asks for them itself"""
PERSONAL_IN_MAIN = frozenset({"dated", "episode", "reflection", "transcript", "user", "rules"})
"""Kinds of notes in the workspace at the root that belong to its owner alone"""


class Ask(Protocol):
    """A search for lines related to a text."""

    def __call__(
        self, text: str, scopes: Sequence[str], limit: int, kinds: Sequence[str] = ()
    ) -> "Answer":
        """Returns at most `limit` hits of these scopes. `kinds`: only notes of these kinds."""
        ...


class ContextRequest(NamedTuple):
    """What a prompt asks of the vault, and the limits of the block."""

    prompt: str
    scopes: tuple[str, ...]
    today: date
    owner: str
    """the person of the workspace at the root"""
    briefing: bool = False
    session: str = ""
    """the conversation whose own turns are left out"""
    confirmation: str = ""
    budget: int = 0
    """characters of the whole block; 0: no limit"""
    dated_days: int = 3
    most_facts: int = 0
    """0: all facts related to the prompt"""
    single: frozenset[str] = frozenset()
    """predicates that have one value at a time, in any spelling"""
    most_lines: int = MOST_LINES
    """recalled lines; 0: none"""
    memory_budget: int = 6_000
    """longest MEMORY.md, in characters, that goes in complete; 0: no limit"""
    only_excerpts: bool = False
    """of each MEMORY.md only the lines that answer the prompt, however short it is"""
    episode: bool = False
    """whether the first turn of a conversation gets the summary of the one before"""
    private: bool = False
    """whether the person's own memory goes in although a channel is among the scopes"""

    @property
    def people(self) -> tuple[str, ...]:
        """The names of the persons among the scopes."""
        return tuple(scope.partition(":")[2] for scope in self.scopes if scope.startswith("user:"))

    @property
    def in_shared_room(self) -> bool:
        """Whether the answer goes to a channel, whose members all read it."""
        if self.private:
            return False
        # Fault: all members of the channel read the answer. A person's own notes must not be in it.
        return any(scope.startswith("channel:") for scope in self.scopes)

    @property
    def closed_people(self) -> tuple[str, ...]:
        """Persons whose own memory is left out, because a channel is among the scopes."""
        # Fault: the members of a channel would read what is a person's own.
        if self.in_shared_room and not self.briefing:
            return self.people
        return ()

    @property
    def open(self) -> tuple[str, ...]:
        """The scopes that may go in. Other people read a briefing, and an answer in a channel."""
        if not (self.briefing or self.in_shared_room):
            return self.scopes
        # Fault: other people read the block. Scopes must not mix.
        return tuple(scope for scope in self.scopes if not scope.startswith("user:"))

    @property
    def fact_scopes(self) -> tuple[str, ...]:
        """The scopes whose facts may go in. In a channel, those of MAIN are its owner's own."""
        if not self.in_shared_room:
            return self.open
        # Fault: the facts of the root are about its owner, and members of a channel read the block.
        return tuple(scope for scope in self.open if scope != MAIN)

    def is_personal(self, kind: str, scope: str) -> bool:
        """Whether a note is personal, and other people would read it in this block."""
        if not self.briefing and not self.in_shared_room:
            return False
        if scope.startswith("user:"):
            return True
        if scope == MAIN and kind in PERSONAL_IN_MAIN:
            return True
        # A page of facts may be about any person.
        return kind == "facts" and (self.briefing or scope == MAIN)


class Part(NamedTuple):
    """One part of a block."""

    kind: str
    """user, facts, channel, memory, rules, dated, reflection, episode, recalled or confirmation"""
    note: str
    """path of the note; empty for text from the caller"""
    chars: int
    """of `text`, with its marks"""


class Cut(NamedTuple):
    """Text that was left out of a block."""

    kind: str
    reason: str


class ContextBlock(NamedTuple):
    """The block that a bot puts into its prompt. Text of people is in it as quoted data."""

    text: str
    """empty when the vault has nothing for the prompt"""
    parts: tuple[Part, ...]
    """in the order of `text`"""
    cut: tuple[Cut, ...]
    freshness: "Freshness"
    unknown_scopes: tuple[str, ...] = ()
    """scopes of the request that have no note: perhaps misspelt names"""
