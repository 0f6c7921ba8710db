"""Finds without a model what a channel decided, agreed on and who shall do what.

Each language lists phrases in its file in `phrases/`: `decided`, `agreed`, `tasks` and `due`, with
which a statement begins or, for `due`, ends. `{name}` in a task is its owner, who may also come
before one of `task_verbs`. The tasks of the speaker are `own_tasks` and `own_task_verbs`. They count
only with a due day: "I'll be late" is no task. A text with a phrase of `project` is about the work that is
done together.
"""

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

from vault_memory.markdown.letters import folded_line
from vault_memory.models.llm.own_words import quotes_another, sentences
from vault_memory.models.llm.phrase_rules import LONGEST
from vault_memory.models.llm.phrase_tables import Phrases, raw_tables
from vault_memory.rules.learning.attribute_values import ATTRIBUTES
from vault_memory.rules.learning.candidate import ACTIONS, AGREEMENTS, DECISIONS, PLAN, Memory
from vault_memory.rules.learning.relative_days import resolve_days, with_named_days
from vault_memory.rules.sentences.sentence_splitter import with_point

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from vault_memory.rules.learning.model_prompt import Excerpt

LISTS = (
    "decided",
    "agreed",
    "project",
    "tasks",
    "task_verbs",
    "own_tasks",
    "own_task_verbs",
    "due",
)
_DAY = r"(?P<day>\d{4}-\d\d-\d\d)"
_EDGES = " \t\r\n.!。！,，;；:："
_IGNORE = re.IGNORECASE


def found_in(
    excerpts: "Iterable[Excerpt]", days: Mapping[str, date], people: "Collection[str]" = ()
) -> tuple[Memory, ...]:
    """Return decisions, agreements and action items in people's own turns.

    `days` are the local days of the turns by id. `people` are names that may own a task; the
    speakers may, too.
    """
    excerpts = tuple(excerpts)
    speakers = {excerpt.who for excerpt in excerpts if excerpt.own}
    members = frozenset(map(folded_line, {*people, *speakers}))
    return tuple(
        memory
        for excerpt in excerpts
        if excerpt.own and excerpt.id in days
        for sentence in sentences(excerpt.text)
        if len(sentence) <= LONGEST
        and not quotes_another(sentence)
        and (memory := _memory_in(sentence, excerpt, days[excerpt.id], members))
    )


def is_shared_matter(text: str) -> bool:
    """Return whether a text is a decision, an agreement, or about the project of a channel."""
    tables = _tables()
    for sentence in sentences(text):
        if any(phrases.outcome_of(sentence) for phrases in tables):
            return True
        is_personal = any(phrases.is_personal(sentence) for phrases in tables)
        about_project = any(phrases.is_about_project(sentence) for phrases in tables)
        if about_project and not is_personal:
            return True
    return False


def _memory_in(
    sentence: str, excerpt: "Excerpt", day: date, members: frozenset[str]
) -> Memory | None:
    for phrases in _tables():
        memory = phrases.memory_in(sentence, excerpt, day, members)
        if memory is not None:
            return memory
    return None


class ChannelPhrases(Phrases):
    """The lists of one language for channels."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__(table)
        self._outcomes = {
            DECISIONS: re.compile(self._any(table["decided"]), _IGNORE),
            AGREEMENTS: re.compile(self._any(table["agreed"]), _IGNORE),
        }
        project = self._any(table["project"], inside=True)
        self._project = re.compile(project, _IGNORE)
        self._tasks = [re.compile(self._phrase(row), _IGNORE) for row in table["tasks"]]
        self._own_tasks = re.compile(self._any(table["own_tasks"]), _IGNORE)
        gap = r"[ \t]+" if self._spaced else ""
        verbs = rf"{self._name}{gap}(?={self._any(table['task_verbs'])})"
        self._tasks.append(re.compile(verbs, _IGNORE))
        self._own_verbs = re.compile(self._any(table["own_task_verbs"]), _IGNORE)
        self._due = [
            re.compile(rf"[\s,，]*{self._edge}{_due_pattern(row)}", _IGNORE) for row in table["due"]
        ]

    def memory_in(
        self, sentence: str, excerpt: "Excerpt", day: date, members: frozenset[str]
    ) -> Memory | None:
        """Return what a sentence says for the channel; None for most sentences."""
        statement = self._without_filler(sentence)
        text = with_point(statement.strip(_EDGES), statement)
        section = self.outcome_of(sentence)
        if section:
            return Memory(text, evidence=(excerpt.id,), section=section)
        return self._task_in(text, excerpt, day, members)

    def outcome_of(self, sentence: str) -> str:
        """Return the section of a decision or an agreement; empty for any other sentence."""
        statement = self._without_filler(sentence)
        for section, pattern in self._outcomes.items():
            match = pattern.match(statement)
            if match and statement[match.end() :].strip(_EDGES):
                return section
        return ""

    def is_personal(self, sentence: str) -> bool:
        """Return whether a sentence says who the speaker is, or what they like."""
        match = self.match(sentence)
        return match is not None and match.type in ATTRIBUTES

    def is_about_project(self, sentence: str) -> bool:
        """Return whether a sentence speaks of a project."""
        return self._project.search(sentence) is not None

    def _task_in(
        self, statement: str, excerpt: "Excerpt", day: date, members: frozenset[str]
    ) -> Memory | None:
        resolved = with_named_days(resolve_days(statement, day).text, day)
        dated, due = self._without_due(resolved)
        if self._doubt.search(dated):
            return None
        own = self._own_tasks.match(dated)
        if own or self._own_verbs.match(dated):
            owner = excerpt.who
            text = dated[own.end() :] if own else dated
            text = text if due else ""
        else:
            owner, text = self._named_task(dated, members, is_dated=bool(due))
        text = with_point(text.strip(_EDGES), text)
        if not text:
            return None
        return Memory(text, PLAN, evidence=(excerpt.id,), section=ACTIONS, owner=owner, due=due)

    def _named_task(
        self, statement: str, members: frozenset[str], *, is_dated: bool
    ) -> tuple[str, str]:
        """Return the owner and the task. A stranger's is the statement, if it has a due day."""
        for pattern in self._tasks:
            match = pattern.match(statement)
            if match is None:
                continue
            name = match["name"].lstrip("@")
            if folded_line(name) in members:
                return name, statement[match.end() :]
            if is_dated and self._is_name(name):
                return "", statement
        return "", ""

    def _is_name(self, text: str) -> bool:
        """Return whether each word has a capital letter: "the weather will" names nobody."""
        return not self._spaced or all(word[:1].isupper() for word in text.split())

    def _without_due(self, statement: str) -> tuple[str, str]:
        """Return the statement without its due day, and that day."""
        for pattern in self._due:
            match = pattern.search(statement)
            if match:
                text = f"{statement[: match.start()]}{statement[match.end() :]}"
                return text.strip(_EDGES), match["day"]
        return statement, ""


def _due_pattern(phrase: str) -> str:
    return _DAY.join(re.escape(part) for part in phrase.split("{day}"))


@cache
def _tables() -> tuple[ChannelPhrases, ...]:
    return tuple(map(ChannelPhrases, raw_tables()))
