"""The step that finds contradictions in the notes of a scope, settles them, or asks a person."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, assert_never

from vault_memory.edits.commands import ApplyOps, OpForPerson
from vault_memory.errors import VaultMemoryError
from vault_memory.learning.enrichment.authorship import TOLD, AuthorLookup
from vault_memory.learning.known_items import items_in, memory_notes
from vault_memory.learning.outcomes import EditCause
from vault_memory.markdown.document import SectionedDoc
from vault_memory.markdown.items import parse_item, parse_text
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.conflicts.contradictions import (
    ConflictRules,
    Contradiction,
    MergedValues,
    Settlement,
    Statement,
    Unsettled,
    find_conflicts,
    learned_on,
    likely_pairs,
    ordered,
    pair_id,
    settle,
)
from vault_memory.rules.conflicts.settling import (
    losing_ops,
    marking_op,
    merging_ops,
    retiring_op,
    winning_ops,
    with_mark,
)
from vault_memory.rules.context.standing_rules import active_rules
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import propose
from vault_memory.rules.edits.ops import Op, as_json, new_text
from vault_memory.rules.facts.fact import folded_facts, has_ended, read_facts
from vault_memory.rules.facts.found_entities import read_verdicts
from vault_memory.rules.learning.model_prompt import Prompt, filled
from vault_memory.rules.learning.twins import LOST

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

MOST_PAIRS = 20
"""Pairs of a night about which a model is asked"""
MOST_ROUNDS = 20
"""Each round settles all conflicts that share no line; the next night goes on"""
NIGHTLY = "nightly"
WHY = "the notes contradict each other"
WITHOUT_VERDICTS = ("rules", "labels")
"""Ways of answering in which no pair is judged"""


def conflicts(cycle: "LearningCycle") -> None:
    """Settles the contradictions among all that holds, or marks both lines and asks."""
    # Fault: notes that no edit changed would cost a question to the model each night.
    if cycle.outcome.state == "failed" or not cycle.has_new_notes:
        return
    settler = _Settler(cycle)
    settler.settle_all()
    # Marks on a person's words are written before the questions about these lines.
    for (note, source), plan in sorted(settler.plans.items(), reverse=True):
        action = ApplyOps(tuple(map(as_json, plan.ops)), tuple(plan.asks))
        step = f"conflicts {note} {source}"
        cycle.edit(step, note, action=action, cause=EditCause(source, WHY))
    _close_old_questions(cycle, {note for note, _ in settler.plans})
    cycle.outcome.conflicts = settler.count
    # A night that is killed asks again, and uses the answer that it saved.
    cycle.keep_asked("pairs", settler.verdicts.asked)
    cycle.has_open_pairs = settler.verdicts.has_more


def _close_old_questions(cycle: "LearningCycle", changed: Iterable[str]) -> None:
    """Closes the questions in INBOX that a person or this step has settled."""
    if cycle.request.dry_run:
        return
    places = cycle.places
    # Without a daemon nothing else compares these questions with what people wrote by hand.
    notes = {places.facts, places.profile, places.rules, *changed}
    for note in sorted(filter(None, notes)):
        cycle.deps.editor.inbox.review(note, cycle.now)


@dataclass(slots=True)
class _NotePlan:
    """What the step does to one note."""

    ops: list[Op] = field(default_factory=list)
    asks: list[OpForPerson] = field(default_factory=list)


class _Settler:
    """Plans the edits of one night on copies of the notes."""

    def __init__(self, cycle: "LearningCycle") -> None:
        self._cycle = cycle
        facts = cycle.deps.fact_rules(cycle.night)
        self._rules = ConflictRules(cycle.night, facts.single, facts.conflicts, facts.modes)
        self._authors = AuthorLookup(cycle)
        places = cycle.places
        notes = [places.facts, *memory_notes(places), places.rules]
        self._docs = {note: cycle.compared_doc(note) for note in notes if note}
        self._statements = {note: self._read(note) for note in self._docs}
        self._edited: set[str] = set()
        """notes whose statements are no longer those of their copies"""
        self._decided: set[frozenset[str]] = set()
        self.plans: dict[tuple[str, str], _NotePlan] = defaultdict(_NotePlan)
        self.verdicts = ModelVerdicts()
        """what a model said about pairs of statements"""
        self.count = 0
        """conflicts that were settled, or about which a person is asked"""

    def settle_all(self) -> None:
        """Settles conflicts until none is left that was not decided."""
        self._remove_old_marks()
        self.verdicts = contradictions_by_model(self._cycle, self._all())
        # Fault: two statements may contradict each other again and again. The next night goes on.
        for _ in range(MOST_ROUNDS):
            touched: set[str] = set()
            conflicts = find_conflicts(self._all(), self._rules)
            for conflict in (*conflicts, *self._current()):
                is_new = conflict.ids not in self._decided
                # Fault: two conflicts that share a line would plan edits for a text that is gone.
                if is_new and touched.isdisjoint(conflict.ids):
                    touched |= conflict.ids
                    self._decided.add(conflict.ids)
                    self._settle(conflict)
            if not touched:
                return

    def _current(self) -> Iterator[Contradiction]:
        """Yields what a model found, with the statements as they are by now."""
        by_id = {statement.id: statement for statement in self._all()}
        for conflict in self.verdicts.contradictions:
            first = by_id.get(conflict.first.id)
            second = by_id.get(conflict.second.id)
            # Fault: an earlier conflict of this night has removed one of both.
            if first and second:
                yield ordered(conflict.kind, first, second)

    # ---- statements --------------------------------------------------------------------------

    def _all(self) -> Iterator[Statement]:
        # A note is read once after many edits: each would read all its items again.
        for note in self._edited:
            self._statements[note] = self._read(note)
        self._edited.clear()
        for statements in self._statements.values():
            yield from statements

    def _read(self, note: str) -> list[Statement]:
        """Returns the statements of a note that hold."""
        scope = self._cycle.deps.editor.place(note).scope
        doc = self._docs[note]
        places = self._cycle.places
        if note == places.facts:
            return list(self._facts(note, doc, scope))
        if note == places.rules:
            return [
                _item(note, rule.heading, rule.text, scope, is_rule=True)
                for rule in active_rules(doc)
                # The archive keeps one line for each rule.
                if rule.own_end == rule.end
            ]
        items = (
            _item(note, item.heading, item.text, scope)
            for item in items_in(note, doc)
            # No op can address an item above the first section.
            if item.heading
        )
        return [item for item in items if self._holds(item)]

    def _facts(self, note: str, doc: SectionedDoc, scope: str) -> Iterator[Statement]:
        for fact in read_facts(doc, scope):
            if not has_ended(fact, self._rules.day):
                yield Statement(
                    id=fact.id,
                    note=note,
                    heading=fact.subject,
                    text=fact.text,
                    words=f"{fact.subject} {fact.predicate}: {fact.object}",
                    ref=fact.ref,
                    unclear=fact.unclear,
                    fact=fact,
                )

    def _holds(self, statement: Statement) -> bool:
        # Fault: a statement that has ended contradicts nothing.
        fields = parse_item(statement.text)
        has_passed = fields.until is not None and fields.until < self._rules.day
        return fields.conf > LOST and not has_passed

    # ---- settling ----------------------------------------------------------------------------

    def _settle(self, conflict: Contradiction) -> None:
        pair = (conflict.first, conflict.second)
        authors = {statement.id: self._authors.of(statement) for statement in pair}
        by_hand = self._settled_by_hand(conflict)
        if by_hand is not None:
            # Fault: each value that a person wrote by hand below another would be asked about.
            if authors[by_hand.loser.id].is_bots:
                self._retire(by_hand, learned_on(by_hand.winner, authors))
            return
        verdict = settle(conflict, self._rules.mode_of(conflict), authors)
        match verdict:
            case Settlement(winner=winner):
                learned = learned_on(winner, authors)
                self._retire(verdict, learned)
            case MergedValues(older=older, newer=newer):
                # Fault: a person's own line must not be merged by the bot.
                if authors[older.id].is_bots and authors[newer.id].is_bots:
                    self._apply(older.note, merging_ops(verdict))
                    self.count += 1
                else:
                    self._ask(conflict)
            case Unsettled():
                self._ask(conflict)
            case _:
                assert_never(verdict)

    def _settled_by_hand(self, conflict: Contradiction) -> Settlement | None:
        """Returns how `facts` settles two values, if a person wrote the one that holds by hand."""
        if conflict.kind != "value" or self._rules.mode_of(conflict) != "temporal":
            return None
        # In the order of the page.
        facts = [
            statement.fact
            for statement in self._statements[conflict.first.note]
            if statement.fact and statement.id in conflict.ids
        ]
        current = folded_facts(facts, self._rules.day, self._rules.single)
        holding = {fact.id for fact in current if not fact.struck}
        pair = (conflict.first, conflict.second)
        winners = [statement for statement in pair if statement.id in holding]
        if len(winners) != 1 or self._may_mark(winners[0]):
            return None
        [loser] = [statement for statement in pair if statement.id not in holding]
        return Settlement(winners[0], loser)

    def _retire(self, settlement: Settlement, learned: str) -> None:
        """Lets one statement lose. If a person wrote it, the person decides."""
        loser, winner = settlement.loser, settlement.winner
        author = self._authors.of(loser)
        ops = losing_ops(settlement, self._rules.day, learned)
        # A person's later words replace the person's earlier rule.
        is_told_rule = loser.is_rule and author.is_told
        if not (author.is_bots or is_told_rule):
            self._propose(loser.note, ops)
            return
        self.count += 1
        source = NIGHTLY if author.is_bots else TOLD
        if self._authors.of(winner).is_bots:
            self._apply(winner.note, winning_ops(settlement))
        self._apply(loser.note, ops, source)

    def _propose(self, note: str, ops: list[Op]) -> None:
        """Leaves ops to policy, which asks the person, unless the person was asked before."""
        first_id = propose(note, ops[0], "").id
        # Fault: a killed night, or the night after, would ask the same question again.
        if first_id not in self._authors.note(note).proposed:
            self.plans[note, NIGHTLY].ops += ops
            self.count += 1

    def _ask(self, conflict: Contradiction) -> None:
        """Marks both lines, and asks which one is right. A killed night may have marked one."""
        pairs = ((conflict.first, conflict.second), (conflict.second, conflict.first))
        for statement, rival in pairs:
            # A line has one mark: the next conflict waits until this one is settled.
            if statement.unclear not in ("", rival.id):
                return
            # A person removed the mark: both lines hold.
            if self._was_marked(statement, rival) and not statement.unclear:
                return
        new_pairs = [pair for pair in pairs if not self._was_asked(*pair)]
        self.count += bool(new_pairs)
        for statement, rival in new_pairs:
            marked = statement
            if self._may_mark(statement):
                marked = with_mark(statement, rival.id)
                self._mark(statement, rival.id)
            question = OpForPerson(retiring_op(marked), f"it contradicts: {rival.words}")
            self.plans[statement.note, NIGHTLY].asks.append(question)

    def _may_mark(self, statement: Statement) -> bool:
        """Returns whether a person did not write the line by hand."""
        author = self._authors.of(statement)
        return author.is_bots or author.is_told

    def _mark(self, statement: Statement, rival: str) -> None:
        is_bots = self._authors.of(statement).is_bots
        source = NIGHTLY if is_bots else TOLD
        self._apply(statement.note, [marking_op(statement, rival)], source)

    def _was_marked(self, statement: Statement, rival: Statement) -> bool:
        asked = self._authors.note(statement.note).asked
        return (statement.id, rival.id) in asked

    def _was_asked(self, statement: Statement, rival: Statement) -> bool:
        if self._was_marked(statement, rival):
            return True
        op = retiring_op(statement)
        proposal = propose(statement.note, op, "").id
        return proposal in self._authors.note(statement.note).proposed

    def _remove_old_marks(self) -> None:
        """Removes the bot's marks of conflicts that a person has settled."""
        by_id = {statement.id: statement for statement in self._all()}
        for statement in by_id.values():
            if not statement.unclear or not self._is_settled(statement, by_id):
                continue
            # Fault: a person wrote the line by hand. The bot must not touch it.
            if self._may_mark(statement):
                self._mark(statement, "")

    def _is_settled(self, statement: Statement, by_id: dict[str, Statement]) -> bool:
        """Returns whether the rival is gone, or a person removed the mark from it."""
        rival = by_id.get(statement.unclear)
        if rival is None:
            return True
        was_marked = self._was_marked(rival, statement)
        return was_marked and rival.unclear != statement.id

    # ---- edits -------------------------------------------------------------------------------

    def _apply(self, note: str, ops: Iterable[Op], source: str = NIGHTLY) -> None:
        """Plans ops, and applies them to the copy of the note."""
        ops = list(ops)
        self.plans[note, source].ops += ops
        outcome = apply_ops(self._docs[note], map(as_json, ops))
        self._docs[note] = outcome.doc
        if source == NIGHTLY:
            for op in ops:
                text = new_text(op)
                for line in text.lines:
                    self._authors.rewritten(note, text.heading, line)
        self._edited.add(note)


def _item(note: str, heading: str, text: str, scope: str, *, is_rule: bool = False) -> Statement:
    fields = parse_text(text)
    return Statement(
        id=content_key(scope, text),
        note=note,
        heading=heading,
        text=text,
        words=fields.text,
        type=fields.type,
        day=fields.date,
        ref=fields.ref,
        unclear=fields.unclear,
        is_rule=is_rule,
    )


# --- Verdicts of a model ---

# Asks a model which statements contradict each other: one question a night.


class ModelVerdicts(NamedTuple):
    """What a model said about pairs of statements."""

    contradictions: tuple[Contradiction, ...] = ()
    asked: tuple[str, ...] = ()
    """the pairs about which it answered, and the night; noted when they are settled"""
    has_more: bool = False
    """whether pairs may wait for the next night, even if no note changes until then"""


NOTHING = ModelVerdicts()
NEXT_NIGHT = ModelVerdicts(has_more=True)


def contradictions_by_model(
    cycle: "LearningCycle", statements: Iterable[Statement]
) -> ModelVerdicts:
    """Asks a model once a night, whether it read turns tonight or not; nothing without a model."""
    request, outcome = cycle.request, cycle.outcome
    if not request.has_model:
        return NOTHING
    earlier = cycle.deps.store.keys(cycle.scope, "pairs")
    night = f"night:{cycle.checkpoint.night}"
    # Fault: a round that is not finished asks too early, and would ask a second time in its night.
    # Where the rules answered, the model is not there.
    if outcome.more or outcome.reason or outcome.rung == "rules" or night in earlier:
        return NEXT_NIGHT
    chosen = likely_pairs(statements, earlier, MOST_PAIRS)
    # Fault: a model answers with ids of its own. Only those of the asked pairs count.
    pairs = {pair_id(first.id, second.id): (first, second) for first, second in chosen}
    if not pairs:
        return NOTHING
    lines = [
        f"[{id_}] 1. {first.words}\n    2. {second.words}" for id_, (first, second) in pairs.items()
    ]
    try:
        template = cycle.deps.instructions("conflicts")
        system = filled(template, {"who": cycle.name})
        prompt = Prompt("conflicts", system, (("pairs", "\n".join(lines)),))
        answer = cycle.ask("conflicts", prompt.fitted(cycle.request.room))
    except VaultMemoryError as error:
        # Fault: the model is out of reach. The other conflicts are settled without it.
        outcome.reason = outcome.reason or error.message
        return NEXT_NIGHT
    # Fault: neither the rules nor one word for each turn tell what a sentence means. The pairs wait
    # for a model.
    if cycle.checkpoint.answers["conflicts"]["rung"] in WITHOUT_VERDICTS:
        return NEXT_NIGHT
    verdicts = sorted(read_verdicts(answer, pairs))
    return ModelVerdicts(
        tuple(ordered("meaning", *pairs[id_]) for id_ in verdicts),
        (*pairs, night),
        has_more=len(pairs) == MOST_PAIRS,
    )
