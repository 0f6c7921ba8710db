"""The step that sums conversations up: one episode for each that is worth it.

An episode names the newest turn that it covers. So a conversation that was summed up before, by
another cycle or by `compact`, is written again only once it goes on.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.config import state_file
from vault_memory.learning.known_items import is_replaceable
from vault_memory.learning.night_deps import EpisodeDeps
from vault_memory.learning.policy.retractions import look_up, undeleted
from vault_memory.learning.unread_turns import day_of, is_own
from vault_memory.markdown.items import parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.models.llm import phrase_rules, policy_tables
from vault_memory.models.llm.own_words import own_words, spoken_sentences
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.edits.ops import as_json
from vault_memory.rules.learning import episodes as rules
from vault_memory.rules.learning.duplicate_filter import ExistingItem
from vault_memory.rules.learning.episodes import (
    GAP,
    TYPE,
    EpisodeRules,
    ExistingEpisode,
    SpokenTurn,
    session_key,
)
from vault_memory.rules.learning.grounding import OwnTurn, OwnTurns
from vault_memory.rules.learning.model_prompt import Excerpt
from vault_memory.rules.learning.policy.held_candidates import (
    HELD_TIME,
    HeldCandidate,
    withdrawn_sentences,
)
from vault_memory.rules.learning.write_policy import STABLE_TYPES

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.markdown.document import SectionedDoc
    from vault_memory.rules.edits.audit_record import Record
    from vault_memory.rules.learning.candidate import Extraction


LOCK = "episodes.lock"
PATIENCE_SECONDS = 10.0
PLANS = frozenset({"plan", "event"})
"""Types of memories that may take the place of a decision"""

_ALLERGY = re.compile(r"al+[eé]rg|аллерг|过敏|過敏", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SessionId:
    """A conversation of one person, in a channel or outside of any."""

    session: str
    user: str
    channel: str

    @classmethod
    def of(cls, turn: Turn) -> "SessionId":
        """Returns the conversation of a turn."""
        return cls(turn.session, turn.user, turn.channel)

    @property
    def key(self) -> str:
        """The digits by which items name it."""
        return rules.session_key(self.session, self.user, self.channel)


@dataclass(frozen=True, slots=True)
class NoteView:
    """The notes about conversations, as they are now."""

    notes: Mapping[date, str]
    """paths of the existing notes by their days"""
    doc: "Callable[[str], SectionedDoc]"
    records: "Callable[[str], Iterable[Record]]"
    """returns the audit of a note"""

    def find(self, key: str, since: date) -> dict[date, ExistingEpisode]:
        """Returns the episodes of a conversation that are not older than a day."""
        found = {
            day: rules.find_episode(note, day, self.doc(note), key)
            for day, note in sorted(self.notes.items())
            if day >= since
        }
        return {day: episode for day, episode in found.items() if episode}

    def is_of_the_bot(self, episode: ExistingEpisode) -> bool:
        """Returns whether no person wrote, edited or confirmed an episode."""
        # Fault: an episode that a person corrected must not be overwritten by the next night.
        doc = self.doc(episode.note)
        records = list(self.records(episode.note))
        return all(
            is_replaceable(ExistingItem(episode.note, episode.heading, text), doc, records)
            for text in episode.texts
        )


def spoken(turns: Iterable[Turn], zone: tzinfo, judge: EpisodeRules) -> list[SpokenTurn]:
    """Returns turns with their sentences, by time, without what the person took back."""
    own = (turn._replace(text=own_words(turn.text).text) for turn in turns)
    ordered = sorted(own, key=lambda turn: turn.at)
    # Fault: the person took a sentence back. Its episode must not have it.
    withdrawn = withdrawn_sentences(ordered, judge.cues)
    return [
        SpokenTurn(
            turn.id,
            day_of(turn, zone),
            turn.text,
            tuple(
                sentence
                for sentence in spoken_sentences(turn.text)
                if sentence not in withdrawn.get(turn.id, ())
            ),
        )
        for turn in ordered
    ]


def deps_of(state: Path) -> EpisodeDeps:
    """Returns the phrases and the lock of a state folder."""
    return EpisodeDeps(lambda: _rules_of(state), lambda: _locked(state))


def for_channel(judge: EpisodeRules) -> EpisodeRules:
    """Returns rules that leave out the attributes of the members of a channel."""
    states_attribute = finder(phrase_rules.extract, STABLE_TYPES)

    def is_personal(sentence: str) -> bool:
        # Fault: no list of phrases has all the words in which people tell an allergy.
        return bool(_ALLERGY.search(sentence)) or states_attribute(sentence)

    return replace(judge, is_personal=is_personal)


def _rules_of(state: Path) -> EpisodeRules:
    cues = policy_tables.policy_cues(state)
    return EpisodeRules(cues, finder(phrase_rules.extract, PLANS))


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    # Two processes that write the same episode at once would write it twice.
    with state_file.lock(state / LOCK, patience=PATIENCE_SECONDS):
        yield


def finder(
    extract: "Callable[[tuple[Excerpt, ...]], Extraction]", types: Collection[str]
) -> Callable[[str], bool]:
    """Returns a function that finds memories of some types by phrases."""

    def is_found(sentence: str) -> bool:
        excerpt = Excerpt("t1", sentence, "user", own=True)
        return any(memory.type in types for memory in extract((excerpt,)).memories)

    return is_found


def episodes(cycle: "LearningCycle") -> None:
    """Writes the episodes of the conversations whose turns the cycle read."""
    deps = cycle.deps.episodes
    # Fault: after a failed question the turns stay unread. Their episode would be written twice.
    if deps is None or cycle.outcome.state == "failed":
        return
    read_turns = _own_turns(cycle, cycle.gathered.turns)
    if not read_turns:
        return
    by_session = _turns_by_session(cycle, read_turns)
    read_ids = {turn.id for turn in read_turns}
    # Fault: `compact` of another process may write the same episode at this moment.
    with deps.lock():
        for session in sorted(by_session, key=lambda session: session.key):
            _write_session(cycle, session, by_session[session], read_ids)


def _own_turns(cycle: "LearningCycle", turns: Iterable[Turn]) -> list[Turn]:
    """Returns the person's own turns; those in channels belong to the night of the channel."""
    is_channel = cycle.kind == "channel"
    user = "" if is_channel else cycle.name
    return [
        turn
        for turn in turns
        # Fault: the words of a person in a channel would come into the private notes of the person.
        if turn.session and is_own(turn, user) and bool(turn.channel) is is_channel
    ]


def _turns_by_session(
    cycle: "LearningCycle", read_turns: Sequence[Turn]
) -> dict[SessionId, list[Turn]]:
    """Returns all turns of the conversations that the cycle read, as far as episodes reach."""
    margin = timedelta(days=rules.MOST_DAYS)
    first = min(day_of(turn, cycle.zone) for turn in read_turns) - margin
    # A transcript is named by a day in another zone, perhaps the day before.
    days = {path: day for day, path in cycle.places.transcripts}
    known = {
        path: signature
        for path, signature in cycle.last.files.items()
        if path in days and days[path] < first - timedelta(days=1)
    }
    logs = cycle.deps.logs(cycle.scope, known)
    all_turns = {turn.id: turn for log in logs.values() for turn in log.turns or ()}
    by_session: dict[SessionId, list[Turn]] = {SessionId.of(turn): [] for turn in read_turns}
    for turn in _own_turns(cycle, all_turns.values()):
        if SessionId.of(turn) in by_session and day_of(turn, cycle.zone) >= first:
            by_session[SessionId.of(turn)].append(turn)
    return by_session


def _write_session(
    cycle: "LearningCycle", session: SessionId, turns: Sequence[Turn], read_ids: set[str]
) -> None:
    deps, places = cycle.deps.episodes, cycle.places
    assert deps is not None, "the step ends without them"
    view = NoteView(dict(places.episodes), cycle.doc, cycle.deps.editor.trail.of)
    judge = for_channel(deps.rules()) if session.channel else deps.rules()
    is_deleted = look_up(cycle.deps.editor, places.profile, turns, cycle.now)
    all_spoken = undeleted(spoken(turns, cycle.zone, judge), is_deleted)
    if not all_spoken:
        return
    existing = view.find(session.key, all_spoken[0].day)
    for day, part in rules.parts_of(all_spoken, existing).items():
        # Fault: the part was summed up in an earlier cycle.
        if read_ids.isdisjoint(turn.id for turn in part):
            continue
        episode = existing.get(day)
        # Fault: a person wrote or edited it.
        if episode is not None and not view.is_of_the_bot(episode):
            continue
        by_id = {turn.id: turn for turn in part}
        rows = [(row.text, row.evidence) for row in cycle.extraction.episodes]
        of_model = rules.by_turn(rows, by_id, judge)
        sentences = summary(part, episode, of_model, judge)
        if not sentences:
            continue
        began = moment_of_first(turns, part, cycle.zone)
        heading = rules.heading_of(session.session, began)
        text = GAP.join(rules.fitting(sentences))
        line = rules.item_line(text, part[-1], session.key)
        note = places.episodes_of(day)
        ops = rules.ops_for(cycle.doc(note), heading, [line], episode)
        # Fault: the step is named after the conversation and its day, so that a killed night finds
        # its edit.
        step = f"episode {session.key} {day}"
        cycle.edit(step, note, list(map(as_json, ops)))


def summary(
    turns: Sequence[SpokenTurn],
    existing: ExistingEpisode | None,
    of_model: Sequence[str],
    judge: EpisodeRules,
) -> tuple[str, ...]:
    """Returns the sentences of an episode; none when there is nothing to write.

    `of_model` are the sentences of a model about these turns. What a model or a host summed up
    before is continued, and words of the person are chosen anew.
    """
    if existing is None:
        if not rules.is_substantive(turns):
            return ()
        return tuple(of_model) or rules.verbatim(turns, judge)
    new_turns = existing.turns_after(turns)
    covered = turns[: len(turns) - len(new_turns)]
    is_verbatim = _is_text_of(existing, rules.verbatim(covered, judge))
    if not new_turns:
        return tuple(of_model) if is_verbatim else ()
    if is_verbatim and not of_model:
        return rules.verbatim(turns, judge)
    new_sentences = tuple(of_model) or rules.verbatim(new_turns, judge)
    return rules.continued(existing.sentences, new_sentences)


def _is_text_of(existing: ExistingEpisode, sentences: Iterable[str]) -> bool:
    return existing.sentences == (GAP.join(rules.fitting(sentences)),)


def moment_of_first(turns: Iterable[Turn], part: Sequence[SpokenTurn], zone: tzinfo) -> datetime:
    """Returns the local time at which a part of a conversation began."""
    return next(turn.at for turn in turns if turn.id == part[0].id).astimezone(zone)


class _Summary(NamedTuple):
    session: str
    """the digits by which the episode names its conversation"""
    text: str
    day: date


class EpisodeSupport:
    """The episodes of the scope, as far as held candidates reach back."""

    def __init__(self, cycle: "LearningCycle") -> None:
        self._cycle = cycle
        self._first = cycle.night - HELD_TIME

    def supports(self, candidate: HeldCandidate) -> bool:
        """Returns whether the episode of a conversation without a support says the candidate."""
        cycle = self._cycle
        channel = cycle.name if cycle.kind == "channel" else ""
        # Fault: the episode of its own conversation repeats the turn that says it.
        own_keys = {
            session_key(support.session, cycle.name, channel) for support in candidate.supports
        }
        statement = dict(candidate.fact).get("object", candidate.text)
        return any(
            OwnTurns({TYPE: OwnTurn(summary.text, cycle.name, summary.day)}).citation(
                statement, (TYPE,)
            )
            for summary in self._summaries
            if summary.session not in own_keys
        )

    @cached_property
    def _summaries(self) -> list[_Summary]:
        return list(self._read_notes())

    def _read_notes(self) -> Iterator[_Summary]:
        for day, note in self._cycle.places.episodes:
            items = items_of(self._cycle.doc(note)) if day >= self._first else ()
            for item in items:
                fields = parse_item(item.text)
                if fields.type == TYPE and fields.session:
                    yield _Summary(fields.session, fields.text, day)
