"""The step that judges candidates: written now, held back, proposed or dropped, each with a reason.

Memories and facts come from the brain. Rules and requests come word for word from the person's
turns. When the policy fails, nothing is written and the turns stay unread.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from vault_memory.errors import VaultMemoryError
from vault_memory.learning.enrichment.episode_notes import EpisodeSupport
from vault_memory.learning.learned_rules import count_of_orders, spoken_rules
from vault_memory.learning.note_lines import line_of
from vault_memory.learning.policy.judged import Judged, SpokenLine, WrittenForm
from vault_memory.learning.policy.retractions import find_withdrawn, leave_out_deleted
from vault_memory.learning.unread_turns import day_of, moment_of
from vault_memory.models.llm.own_words import own_words
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import Doubt, Extraction, FoundFact, Memory
from vault_memory.rules.learning.extraction import NO_CITATION
from vault_memory.rules.learning.ledger_lines import HELD, SAFETY
from vault_memory.rules.learning.policy.held_candidates import (
    WITHDRAWN,
    HeldCandidate,
    Support,
    held_id,
    is_due,
    is_waiting,
    is_withdrawn,
    merged,
    union,
    with_form_of,
)
from vault_memory.rules.learning.policy.secret_signs import MASK
from vault_memory.rules.learning.relative_days import with_calendar_days
from vault_memory.rules.learning.twins import TwinIndex
from vault_memory.rules.learning.write_policy import (
    DROP,
    LOGGED,
    NOW,
    PROPOSE,
    SESSION_END,
    TWICE,
    UNTOLD,
    Candidate,
    CandidateKind,
    Decision,
    Doubtful,
    decide,
)

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle
    from vault_memory.learning.night_deps import PolicyDeps
    from vault_memory.rules.learning.policy_cues import PolicyCues

logger = logging.getLogger(__name__)

MOST_RULES = 2
"""Rules of one turn that are written; a person decides about the others"""
TOO_LONG = "too_long"
"""The reason of a request that is longer than a line"""
SECRET = "secret"
"""The reason of words that their transcript leaves out"""
NOT_SHOWN = "…"
"""In place of a text that must not be stored anywhere"""


def judge(cycle: "LearningCycle") -> None:
    """Decides about each candidate. The extraction keeps what is written now."""
    policy = cycle.deps.policy
    # Fault: after a failed question there is no answer. A judgement of nothing would look like a
    # quiet night.
    if policy is None or cycle.outcome.state == "failed":
        return
    try:
        _Judge(cycle, policy).run()
        leave_out_deleted(cycle)
    except VaultMemoryError as error:
        _fail(cycle, error.message)
    except Exception as error:
        # A fault in the policy must not let through what it should hold back.
        logger.exception("the write policy failed")
        _fail(cycle, f"the write policy failed: {error}")


def _fail(cycle: "LearningCycle", reason: str) -> None:
    cycle.outcome.state = "failed"
    cycle.outcome.reason = reason
    # Fault: a part that was judged before the failure would be written without the rest of the
    # table.
    cycle.extraction = Extraction()
    cycle.judged = Judged()


class _Judge:
    """Judges the candidates of one cycle."""

    def __init__(self, cycle: "LearningCycle", policy: "PolicyDeps") -> None:
        self._cycle = cycle
        self._policy = policy
        self._cues: PolicyCues = policy.cues()
        self._turns = cycle.gathered.evidence
        self._whole_turns = {turn.id: turn for turn in cycle.gathered.turns}
        self._judged = Judged(dropped=list(cycle.personal))
        self._doubts: list[Doubt] = []
        self._ledger: dict[str, HeldCandidate] = {}
        # Fault: a pass at once writes nothing to the ledger, so an old line must not decide for it.
        if not cycle.request.at_once:
            records = policy.ledgers.records(cycle.places, HELD)
            self._ledger = merged(records)
        self._twins = HeldTwins(self._ledger)

    def run(self) -> None:
        """Judges all candidates, and those that wait since earlier cycles."""
        find_withdrawn(self._cycle, self._judged, self._cues)
        # Fault: the members of a channel must not make rules for its bot by a plain sentence.
        spoken = self._judge_spoken() if self._cycle.kind == "user" else frozenset()
        self._judge_extraction(spoken)
        if not self._cycle.request.at_once:
            self._find_due()
        self._cycle.judged = self._judged
        self._tell()

    # ---- rules and requests ------------------------------------------------------------------

    def _judge_spoken(self) -> frozenset[str]:
        """Judges rules and requests. Returns their keys."""
        keys = set()
        for turn in self._turns.values():
            # What a channel asks to remember is in the notes of the channel.
            for text in () if turn.channel else self._policy.requests(turn.text):
                day = day_of(turn, self._cycle.zone)
                keys.add(self._key(with_calendar_days(text, day)))
                self._judge_line("remember", text, turn, is_asked=True)
            # Fault: what the person asked for would be lost without a word.
            if not turn.channel and self._policy.has_long_request(turn.text):
                self._judged.drop((turn.id,), TOO_LONG)
            # The length of the whole turn tells whether a person typed it.
            text_of_turn = self._whole_turns[turn.id].text
            if MASK in text_of_turn:
                self._judged.drop((turn.id,), SECRET)
            rules = spoken_rules(text_of_turn, self._cues, self._policy.sentences)
            count = 0
            for text, is_asked in rules.items():
                keys.add(self._key(text))
                count += count_of_orders(text, self._cues)
                doubt: Doubtful = "too_many" if count > MOST_RULES else ""
                doubt = "pasted" if own_words(text_of_turn).is_pasted else doubt
                self._judge_line("rule", text, turn, is_asked=is_asked, doubt=doubt)
        return frozenset(keys)

    def _judge_line(
        self, kind: CandidateKind, text: str, turn: Turn, *, is_asked: bool, doubt: Doubtful = ""
    ) -> None:
        candidate = Candidate(
            kind, text, turns=(turn.text,), who=self._cycle.name, doubt=doubt, is_asked=is_asked
        )
        # Fault: the person took the sentence back in a later turn. It must not become a rule.
        if is_withdrawn(text, turn, self._judged.withdrawn):
            self._judged.drop((turn.id,), WITHDRAWN)
            return
        day = day_of(turn, self._cycle.zone)
        # Fault: "tomorrow" would be wrong when the line is read on another day.
        written = with_calendar_days(text, day) if kind == "remember" else text
        spoken = SpokenLine(written, turn, day)
        decision = decide(candidate, self._cues)
        if decision.policy_class == PROPOSE:
            proposed = self._judged.proposed_rules
            proposed.setdefault(decision.reason, []).append(spoken)
            return
        form = WrittenForm(spoken.line)
        if self._is_written(decision, candidate, (turn,), form):
            lines = self._judged.rules if kind == "rule" else self._judged.requests
            lines.append(spoken)

    # ---- memories and facts ------------------------------------------------------------------

    def _judge_extraction(self, requested: frozenset[str]) -> None:
        extraction = self._cycle.extraction
        is_explicit_only = self._cycle.request.explicit_only
        memories = [
            memory
            for memory in extraction.memories
            # Fault: the model repeats what the person asked to remember. The profile, or
            # RULES.md, has the person's own words.
            if self._key(memory.text) not in requested
            and not is_explicit_only
            and self._judge_memory(memory)
        ]
        facts = [
            fact for fact in extraction.facts if not is_explicit_only and self._judge_fact(fact)
        ]
        doubts = [*extraction.proposals, *self._doubts]
        self._cycle.extraction = replace(
            extraction,
            memories=tuple(memories),
            facts=tuple(facts),
            proposals=tuple(filter(self._may_show, doubts)),
            # Fault: a secret in a dropped line would appear in the report.
            dropped=tuple(map(self._without_secret, extraction.dropped)),
        )

    def _judge_memory(self, memory: Memory) -> bool:
        turns = self._evidence(memory)
        candidate = Candidate(
            "memory",
            memory.text,
            turns=tuple(turn.text for turn in turns),
            labels=memory.labels,
            type=memory.type,
            who=self._cycle.name,
        )
        form = WrittenForm()
        if turns:
            day = day_of(turns[0], self._cycle.zone)
            is_channel = self._cycle.kind == "channel"
            line = line_of(memory, turns[0], day, attributed=is_channel)
            form = WrittenForm(line, memory.section if is_channel else "")
        return self._judge_candidate(candidate, turns, form)

    def _judge_fact(self, fact: FoundFact) -> bool:
        turns = self._evidence(fact)
        candidate = Candidate(
            "fact",
            f"{fact.subject} {fact.predicate}: {fact.object}",
            triple=(fact.subject, fact.predicate, fact.object),
            turns=tuple(turn.text for turn in turns),
            labels=fact.labels,
            who=self._cycle.name,
            doubt="pasted" if self._is_pasted(fact, turns) else "",
        )
        return self._judge_candidate(candidate, turns, WrittenForm(fact=fact))

    def _is_pasted(self, fact: FoundFact, turns: tuple[Turn, ...]) -> bool:
        """Returns whether a fact would end another one, and only doubtful turns say it."""
        single = self._cycle.deps.fact_rules(self._cycle.night).single
        return fact.predicate in single and all(
            own_words(self._whole_turns[turn.id].text).is_pasted for turn in turns
        )

    def _evidence(self, candidate: Memory | FoundFact) -> tuple[Turn, ...]:
        # Fault: a model names turns that it never read. They prove nothing.
        ids = (turn_id for turn_id in candidate.evidence if turn_id in self._turns)
        return tuple(self._turns[turn_id] for turn_id in ids)

    def _judge_candidate(
        self, candidate: Candidate, turns: tuple[Turn, ...], form: WrittenForm
    ) -> bool:
        text = candidate.triple[2] if candidate.triple else candidate.text
        standing = tuple(
            turn for turn in turns if not is_withdrawn(text, turn, self._judged.withdrawn)
        )
        # Fault: the person took back each turn that says it.
        if turns and not standing:
            self._judged.drop(tuple(turn.id for turn in turns), WITHDRAWN)
            return False
        texts = tuple(turn.text for turn in standing)
        candidate = replace(candidate, turns=texts)
        decision = decide(candidate, self._cues)
        # Fault: no turn says it. A model that invents must not write, so a person decides.
        if decision.policy_class == PROPOSE:
            if form.fact is not None and standing:
                self._judged.proposed_facts.append(form.fact)
            else:
                self._doubts.append(Doubt(candidate.text, NO_CITATION))
            return False
        return self._is_written(decision, candidate, standing, form)

    # ---- decisions ---------------------------------------------------------------------------

    def _is_written(
        self, decision: Decision, candidate: Candidate, turns: tuple[Turn, ...], form: WrittenForm
    ) -> bool:
        """Returns whether this cycle writes a candidate; else it is held or dropped."""
        if decision.policy_class == DROP:
            self._drop(decision, turns)
            return False
        if decision.policy_class == NOW:
            return True
        # A pass over an open session leaves all others to its end.
        if self._cycle.request.at_once:
            return False
        held = self._held(decision, candidate, turns, form)
        earlier = self._twins.find(held)
        if earlier is not None and earlier.state != "held":
            return self._was_promoted(earlier, turns)
        if earlier is None:
            if self._has_ended(decision, turns):
                return True
            self._ledger[held.id] = held
            self._twins.add(held)
        else:
            # Fault: other words would make a candidate of their own, and wait for ever.
            held = with_form_of(earlier, held)
            self._ledger[held.id] = union(earlier, held)
        self._judged.held.append(held)
        return False

    def _was_promoted(self, earlier: HeldCandidate, turns: tuple[Turn, ...]) -> bool:
        """Returns whether a decided candidate was promoted; drops one that was rejected."""
        # Fault: a person rejected it. A model that says it again each night must not bring it back.
        if earlier.state == "rejected":
            self._judged.drop(tuple(turn.id for turn in turns), "rejected")
        return earlier.state == "promoted"

    def _has_ended(self, decision: Decision, turns: tuple[Turn, ...]) -> bool:
        """Returns whether a candidate needs the end of a session alone, and one has ended."""
        needs_end_alone = decision.policy_class == SESSION_END and decision.supports < 2
        # Fault: the session goes on, and the person may take it back before its end.
        return needs_end_alone and not all(map(self._is_open, turns))

    def _held(
        self, decision: Decision, candidate: Candidate, turns: tuple[Turn, ...], form: WrittenForm
    ) -> HeldCandidate:
        fields = form.fact.as_json() if form.fact else {}
        fields.pop("evidence", None)
        # Fault: a cycle that runs again must store the same line. So the time is that of the turn.
        ts = max(turn.ts for turn in turns)
        return HeldCandidate(
            id=held_id(self._cycle.scope, candidate.kind, candidate.text),
            ts=ts,
            state="held",
            policy_class=decision.policy_class,
            reason=decision.reason,
            kind=candidate.kind,
            text=candidate.text,
            day=day_of(turns[0], self._cycle.zone).isoformat(),
            line=form.line,
            section=form.section,
            fact=tuple(sorted(fields.items())),
            supports=frozenset(Support(turn.id, turn.session) for turn in turns),
            newest=ts,
        )

    def _drop(self, decision: Decision, turns: tuple[Turn, ...]) -> None:
        # Fault: a safety log with the text would store what the policy keeps out.
        refs = tuple(turn.id for turn in turns)
        count = len(self._judged.dropped)
        self._judged.drop(refs, decision.reason)
        is_known = len(self._judged.dropped) == count
        is_logged = decision.reason in LOGGED and not is_known
        if not is_logged or self._cycle.request.at_once or self._cycle.request.dry_run:
            return
        # The time of the turn: a cycle that runs again writes the same line.
        record = {"ts": turns[0].ts, "turn": refs[0], "reason": decision.reason}
        ledgers, places = self._policy.ledgers, self._cycle.places
        # A cycle that was killed has logged it, perhaps on the day before.
        if record in ledgers.daily_records(places, SAFETY):
            return
        day = self._cycle.now.astimezone(self._cycle.zone).date()
        ledgers.append_by_day(places, SAFETY, day, record)

    def _is_open(self, turn: Turn) -> bool:
        # Fault: the session of this cycle has ended, even if its file was not renamed yet.
        if self._cycle.checkpoint.session == turn.session:
            return False
        return self._policy.is_open(turn.session, turn.at)

    def _find_due(self) -> None:
        """Finds held candidates that enough turns say by now."""
        today = self._cycle.now.astimezone(self._cycle.zone).date()
        withdrawn = frozenset(
            turn.id for turn in self._judged.withdrawn_turns if turn.id not in self._turns
        )
        episodes = EpisodeSupport(self._cycle)
        for candidate in self._ledger.values():
            turns = {support.turn for support in candidate.supports}
            # Fault: a turn that was taken back must not count as a support of what waits.
            taken_back = withdrawn & turns - candidate.withdrawn
            if taken_back:
                candidate = replace(candidate, withdrawn=candidate.withdrawn | taken_back)
                self._judged.held.append(candidate)
            # Fault: a candidate that is too old must not surprise the person months later.
            if not is_waiting(candidate, today):
                continue
            # Episodes are read only for candidates that one of them may make due.
            has_episode = candidate.reason in TWICE and episodes.supports(candidate)
            is_ended = self._is_ended(candidate)
            if not is_due(candidate, is_ended, has_episode=has_episode):
                continue
            kind = cast(CandidateKind, candidate.kind)
            rejudged = Candidate(kind, candidate.text, turns=(candidate.text,))
            decision = decide(rejudged, self._cues)
            # Fault: a phrase that came into the tables since must bind what waits, too.
            if decision.policy_class == DROP:
                self._judged.drop(tuple(turns), decision.reason)
            else:
                self._judged.due.append(candidate)

    def _is_ended(self, candidate: HeldCandidate) -> Callable[[str], bool]:
        last = moment_of(candidate.newest)

        def is_ended(session: str) -> bool:
            if session == self._cycle.checkpoint.session:
                return True
            return not self._policy.is_open(session, last)

        return is_ended

    # ---- what is told ------------------------------------------------------------------------

    def _tell(self) -> None:
        outcome = self._cycle.outcome
        due = {candidate.id for candidate in self._judged.due}
        waiting = {
            candidate.id: candidate
            for candidate in self._judged.held
            # Fault: a line that is written now would be reported as waiting.
            if candidate.id not in due and not candidate.withdrawn
        }
        outcome.dropped = list(self._judged.dropped)
        outcome.held = [
            {"id": candidate.id, "reason": candidate.reason, "needs": candidate.needs}
            for candidate in waiting.values()
        ]

    def _may_show(self, doubt: Doubt) -> bool:
        """Returns whether a text may wait in INBOX for a person."""
        # Fault: INBOX.md is a note as well. A secret must not wait in it.
        reasons = self._cues.reasons(doubt.text) & {*UNTOLD, *LOGGED}
        for reason in sorted(reasons):
            self._judged.drop((), reason)
        return not reasons

    def _without_secret(self, doubt: Doubt) -> Doubt:
        # Fault: the dropped text goes into the audit log, which must not hold a secret.
        if self._cues.reasons(doubt.text) & UNTOLD:
            return replace(doubt, text=NOT_SHOWN)
        return doubt

    def _key(self, text: str) -> str:
        return content_key(self._cycle.scope, text)


# --- Held twins ---

# Finds the held candidate that a new one repeats, in the same words or nearly so.


class HeldTwins:
    """The candidates of a ledger, indexed by kind at the first look."""

    def __init__(self, ledger: Mapping[str, HeldCandidate]) -> None:
        self._ledger = ledger
        self._indexes: dict[str, TwinIndex] = {}
        self._ids: dict[str, list[str]] = {}

    def find(self, candidate: HeldCandidate) -> HeldCandidate | None:
        """Returns the held candidate with the same id, else one that says the same."""
        if candidate.id in self._ledger:
            return self._ledger[candidate.id]
        index = self._index_of(candidate.kind)
        twin = index.find(candidate.text)
        # Fault: a rival, such as another number, is no repetition.
        if twin is None or not twin.is_duplicate:
            return None
        return self._ledger[self._ids[candidate.kind][twin.position]]

    def add(self, candidate: HeldCandidate) -> None:
        """Adds a candidate that is new in the ledger."""
        self._index_of(candidate.kind).add(candidate.text)
        self._ids[candidate.kind].append(candidate.id)

    def _index_of(self, kind: str) -> TwinIndex:
        if kind not in self._indexes:
            candidates = [
                candidate for candidate in self._ledger.values() if candidate.kind == kind
            ]
            texts = [candidate.text for candidate in candidates]
            # Fault: "I hate myself and rain" would be a repetition of "I hate myself".
            self._indexes[kind] = TwinIndex(texts, contained=False)
            self._ids[kind] = [candidate.id for candidate in candidates]
        return self._indexes[kind]
