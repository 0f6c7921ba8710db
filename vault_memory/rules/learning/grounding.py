"""Checks that a person's turn says what a model claims to have learned from it. Pure.

A model may cite any own turn for anything: for a sentence of the bot, of another person, or for an
invention. So the words of each memory and fact are looked up in the turn that it cites. Where another
own turn carries them, that turn is cited instead. Where none does, only a person can approve the text.

What the phrase rules find is combined with what a model found. The rules quote the person, so a
model that overlooks it, or that gives an empty answer, must not silence them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from vault_memory.markdown.letters import folded_line
from vault_memory.rules.claims.carried_words import (
    CARRIED_SHARE,
    are_opposites,
    carried_share,
    count_carried,
    days_of_dates,
    has_word,
    named_days,
    stems_of,
)
from vault_memory.rules.claims.word_tables import is_negated, number_words
from vault_memory.rules.learning.attribute_values import DATED, first_day, split_begin
from vault_memory.rules.learning.candidate import Extraction, FoundFact, Memory
from vault_memory.rules.learning.extraction import doubt_of
from vault_memory.rules.learning.relative_days import resolve_days
from vault_memory.rules.search.tokens import clean, is_run, normalise, stop_words, words
from vault_memory.rules.sentences.sentence_splitter import split_sentences

NOT_SAID = "the turn that it cites does not say this"
SAID_BY_A_JOB = "only an automated turn says it"

SURE_SHARE = 0.75
"""The share of a clause's content words that a turn carries, when a tool tells what was said"""

_PERSON = frozenset(
    "user person speaker benutzer nutzer usuario usuaria utilisateur utilisatrice "
    "пользователь 用户 用戶".split()
)
"""Words by which models refer to the speaker"""
_CLAUSE_END = re.compile(
    r"[.!?;,:。！？；，、\n]+|\b(?:but|aber|sondern|mais|pero|sino|но|зато)\b|但是|但|而是",
    re.IGNORECASE,
)
_RUN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]{2,}")
"""Chinese and Japanese letters"""
_SPEAKER_RUN = re.compile("用户|用戶")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class OwnTurn:
    """A turn in the person's own words."""

    text: str
    who: str
    day: date
    """the local day on which it was said"""


class OwnTurns:
    """The person's own turns of one question, by id."""

    def __init__(self, turns: Mapping[str, OwnTurn]) -> None:
        self._turns = turns
        self._words: dict[str, _TurnWords] = {}

    def citation(self, statement: str, cited: Iterable[str]) -> tuple[str, ...]:
        """Returns the turns that say the statement: of the cited ones, else another own turn.

        Empty when none does.
        """
        claim = _Claim(statement)
        known = [turn_id for turn_id in cited if turn_id in self._turns]
        carriers = [turn_id for turn_id in known if self._carries(turn_id, claim)]
        if carriers:
            return tuple(dict.fromkeys(carriers))
        other = [turn_id for turn_id in self._turns if turn_id not in known]
        matches = [turn_id for turn_id in other if self._carries(turn_id, claim)]
        best = max(
            matches, key=lambda turn_id: self._turn_words(turn_id).share(claim), default=None
        )
        return () if best is None else (best,)

    def carriers_of_all(self, statement: str) -> tuple[str, ...]:
        """Returns the turns that carry each sentence of a statement, and each clause.

        Empty when one of these is carried by none.
        """
        sentences = split_sentences(statement)
        # Fault: "Jo likes tea, and deletions need no approval" has most words of "I like tea".
        clauses = [clause for sentence in sentences for clause in _clauses(sentence)]
        claims = list(map(_Claim, (*sentences, *clauses)))
        turns = {turn_id: self._turn_words(turn_id) for turn_id in self._turns}
        to_carry = [
            claim for claim in claims if any(turn.has_to_carry(claim) for turn in turns.values())
        ]
        carriers = [
            {turn_id for turn_id in turns if turns[turn_id].surely_carries(claim)}
            for claim in to_carry
        ]
        if not all(carriers):
            return ()
        all_carriers = frozenset().union(*carriers)
        return tuple(turn_id for turn_id in turns if turn_id in all_carriers)

    def dated_memory(self, memory: Memory) -> Memory:
        """Returns the memory with calendar days in place of words such as "tomorrow"."""
        return replace(memory, text=self._resolved(memory.text, memory.evidence[0]))

    def dated_fact(self, fact: FoundFact) -> FoundFact:
        """Returns the fact with calendar days. A date that its turn does not name is left out."""
        turn_id = fact.evidence[0]
        object_ = self._resolved(fact.object, turn_id)
        since = ""
        if fact.predicate in DATED:
            object_, since = split_begin(object_)
        first = self._day_said(fact.valid_from or since, turn_id)
        last = self._day_said(fact.valid_until, turn_id)
        # "In March" is a day of the year in which it was said.
        begin = first_day(first, self._turns[turn_id].day) if first else None
        return replace(
            fact, object=object_, valid_from=begin.isoformat() if begin else first, valid_until=last
        )

    def _resolved(self, text: str, turn_id: str) -> str:
        return resolve_days(text, self._turns[turn_id].day).text

    def _day_said(self, text: str, turn_id: str) -> str:
        resolved = self._resolved(text, turn_id)
        is_said = self._turn_words(turn_id).has_numbers(_NUMBER.findall(resolved))
        return resolved if is_said else ""

    def _carries(self, turn_id: str, claim: "_Claim") -> bool:
        return self._turn_words(turn_id).carries(claim)

    def _turn_words(self, turn_id: str) -> "_TurnWords":
        if turn_id not in self._words:
            self._words[turn_id] = _TurnWords(self._turns[turn_id])
        return self._words[turn_id]


def grounded(
    extraction: Extraction,
    turns: OwnTurns,
    automated: Iterable[OwnTurn] = (),
    *,
    are_quotations: bool = False,
) -> Extraction:
    """Returns the extraction with the citations that hold; what no own turn says is proposed.

    What the text of an automated turn says is dropped: every night would propose the same again.
    `are_quotations`: the memories are sentences of the turns that they cite, and the facts are in
    these sentences.
    """
    jobs = [_TurnWords(turn) for turn in automated]
    dropped = list(extraction.dropped)
    memories: list[Memory] = []
    facts: list[FoundFact] = []
    doubts = dict.fromkeys(extraction.proposals)
    for candidate in (*extraction.memories, *extraction.facts, *extraction.uncited):
        citation = turns.citation(_claim_of(candidate), candidate.evidence)
        # Fault: "I like 7" has no content word that could be looked up, and would appear nowhere.
        if not citation and are_quotations:
            # Fault: "dislikes: myself" would wait in INBOX, while its sentence is held.
            if isinstance(candidate, FoundFact):
                continue
            citation = candidate.evidence
        if not citation:
            doubts.pop(doubt_of(candidate), None)
            claim = _Claim(_claim_of(candidate))
            if any(job.carries(claim) for job in jobs):
                dropped.append(doubt_of(replace(candidate, doubt=SAID_BY_A_JOB)))
            else:
                unsaid = replace(candidate, doubt=candidate.doubt or NOT_SAID)
                doubts[doubt_of(unsaid)] = None
            continue
        if candidate.doubt:
            doubts.pop(doubt_of(candidate), None)
        cited = replace(candidate, evidence=citation, doubt="")
        if isinstance(cited, Memory):
            memories.append(turns.dated_memory(cited))
        else:
            facts.append(turns.dated_fact(cited))
    return replace(
        extraction,
        memories=tuple(memories),
        facts=tuple(facts),
        episodes=tuple(_said_episodes(extraction, turns)),
        uncited=(),
        proposals=tuple(doubts),
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _said_episodes(extraction: Extraction, turns: OwnTurns) -> Iterator[Memory]:
    """Yields the sentences about conversations that an own turn says; others are dropped."""
    for episode in extraction.episodes:
        citation = turns.citation(episode.text, episode.evidence)
        if citation:
            yield turns.dated_memory(replace(episode, evidence=citation))


def _claim_of(candidate: Memory | FoundFact) -> str:
    """Returns the words that a turn has to carry: a predicate is a word of the program."""
    if isinstance(candidate, Memory):
        return candidate.text
    return f"{candidate.subject} {candidate.object}"


def says_as_much(text: str, statement: str) -> bool:
    """Returns whether a text has most content words of a statement, and all its numbers."""
    claim = _Claim(statement)
    stems = stems_of(words(text))
    has_numbers = claim.numbers <= frozenset(_NUMBER.findall(text))
    return has_numbers and carried_share(claim.content, stems) >= CARRIED_SHARE


class _Claim:
    """The words of a statement that a turn has to carry."""

    def __init__(self, text: str) -> None:
        self.tokens = words(text)
        self.clauses = [_Clause(clause) for clause in _clauses(text)]
        # "One" and "eine" are mostly articles.
        spelled = _numbers_in_words(text) - {"0", "1"}
        self.numbers = frozenset(_NUMBER.findall(text)) | spelled
        self.names = frozenset(_names(text))
        self.days = named_days(text)
        self.runs = _runs_of(text)
        # Fault: Will and May are names, and stop-words in small letters.
        self.content = _content_words(self.tokens, self.names)


class _TurnWords:
    """The words of one turn, as claims are compared with them."""

    def __init__(self, turn: OwnTurn) -> None:
        self._who = frozenset(words(turn.who)) | _PERSON
        self._numbers_of_name = frozenset(_NUMBER.findall(turn.who))
        self._tokens = f" {' '.join(words(turn.text))} "
        self._clauses = [_Clause(clause) for clause in _clauses(turn.text)]
        self._stems = stems_of(words(turn.text))
        self._text = normalise(turn.text)
        # A model may resolve "tomorrow" itself, and it may date a fact by the turn.
        resolved = resolve_days(turn.text, turn.day)
        dates = days_of_dates(resolved.text)
        self._days = named_days(turn.text) | dates
        self._numbers = (
            frozenset(_NUMBER.findall(f"{turn.text} {turn.day}"))
            | _numbers_in_words(turn.text)
            | resolved.numbers
        )

    def carries(self, claim: _Claim) -> bool:
        """Returns whether the turn says the claim, as far as words can show."""
        content = self._to_carry(claim)
        if not content:
            return False
        is_quoted = f" {' '.join(claim.tokens)} " in self._tokens
        if not is_quoted and not self._has_words_of(claim):
            return False
        # Fault: "eat meat" is quoted from "I do not eat meat".
        return self._agrees_with(claim, content)

    def has_to_carry(self, claim: _Claim) -> bool:
        """Returns whether the claim has words that the turn could say."""
        return bool(self._to_carry(claim))

    def surely_carries(self, claim: _Claim) -> bool:
        """Returns whether the turn says the claim with nearly all its words."""
        return self.carries(claim) and self.share(claim) >= SURE_SHARE

    def _has_words_of(self, claim: _Claim) -> bool:
        """Returns whether the turn has the numbers, names and days, and most other words."""
        # Fault: the turns of "anna2" do not say the number in the name of their speaker.
        if not self.has_numbers(claim.numbers - self._numbers_of_name):
            return False
        # A name that the turn lacks is another person or place.
        if not all(has_word(name, self._stems) for name in claim.names - self._who):
            return False
        # Fault: "on Monday" shares most words with "on Friday".
        if not claim.days <= self._days:
            return False
        # Fault: "in Shanghai" shares most pairs of letters with "in Beijing".
        if any(self._lacks_letters_of(run) for run in claim.runs):
            return False
        return self.share(claim) >= CARRIED_SHARE

    def _lacks_letters_of(self, run: str) -> bool:
        """Returns whether two neighbours of a script without spaces are nowhere in the turn."""
        is_foreign = [letter not in self._text for letter in run]
        return any(map(all, pairwise(is_foreign)))

    def has_numbers(self, numbers: Iterable[str]) -> bool:
        """Returns whether the turn names all these numbers, as digits, as words or in its days."""
        return self._numbers.issuperset(numbers)

    def share(self, claim: _Claim) -> float:
        """Returns the share of the content words that the turn carries."""
        return carried_share(self._to_carry(claim), self._stems)

    def _to_carry(self, claim: _Claim) -> list[str]:
        return [word for word in claim.content if word not in self._who]

    def _agrees_with(self, claim: _Claim, content: list[str]) -> bool:
        """Guards against "I do not eat meat" that became "Eats meat", and "hates" for "loves"."""
        # Fault: "Ole is vegan, no fish" is negated in one clause alone, and is quoted as it is.
        return all(self._agrees_with_clause(clause, content) for clause in claim.clauses)

    def _agrees_with_clause(self, claimed: "_Clause", content: list[str]) -> bool:
        content = [word for word in content if word in claimed.tokens]
        if not content:
            return True
        shares = [(clause.count(content), clause) for clause in self._clauses]
        most = max((count for count, _ in shares), default=0)
        closest = [clause for count, clause in shares if count == most]
        return any(
            clause.is_negated == claimed.is_negated and not are_opposites(clause.text, claimed.text)
            for clause in closest
        )


class _Clause:
    """A clause of a turn: a negation reaches no further."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = frozenset(words(text))
        self.is_negated = is_negated(text)
        self._stems = stems_of(self.tokens)

    def count(self, content: Iterable[str]) -> int:
        """Returns how many of the words it has."""
        return count_carried(content, self._stems)


def _runs_of(text: str) -> list[str]:
    """Returns the letters of scripts without spaces, without words for the speaker."""
    return _RUN.findall(_SPEAKER_RUN.sub(" ", normalise(text)))


def _content_words(tokens: list[str], names: frozenset[str] = frozenset()) -> list[str]:
    stop = stop_words(tokens) - names
    content = (token for token in tokens if token not in stop and not token.isdecimal())
    return list(dict.fromkeys(content))


def _names(text: str) -> Iterator[str]:
    """Yields the words with a capital letter, except the first one of a sentence."""
    for sentence in split_sentences(clean(text)):
        for word in sentence.split()[1:]:
            bare = word.strip("\"'“”„«»()[],:;*_")
            if bare[:1].isupper() and bare.lower() not in ("i", "i'm", "i’m"):
                yield from words(bare)


def _clauses(text: str) -> list[str]:
    return [clause for clause in _CLAUSE_END.split(clean(text)) if clause.strip()]


def _numbers_in_words(text: str) -> frozenset[str]:
    spaced = normalise(text).lower().split()
    numbers = {number_words()[word] for word in spaced if word in number_words()}
    signs = {number_words()[sign] for sign in text if sign in number_words() and is_run(sign)}
    return frozenset(map(str, numbers | signs))


def combined(model: Extraction, rules: Extraction) -> Extraction:
    """Returns the model's extraction with what only the rules found."""
    memories = [memory for memory in rules.memories if not _has_memory(model.memories, memory)]
    cited: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for fact in model.facts:
        cited[_key(fact)].update(fact.evidence)
    # Fault: a turn that repeats a fact of the model would not support it.
    facts = [fact for fact in rules.facts if not cited[_key(fact)] >= {*fact.evidence}]
    return replace(
        model,
        memories=(*model.memories, *memories),
        facts=(*model.facts, *facts),
        nothing_new=model.nothing_new and not memories,
    )


def _has_memory(memories: tuple[Memory, ...], wanted: Memory) -> bool:
    """Returns whether a memory of the same turn says as much."""
    return any(
        (not wanted.section or memory.section == wanted.section)
        and not set(wanted.evidence).isdisjoint(memory.evidence)
        and says_as_much(memory.text, wanted.text)
        for memory in memories
    )


def _key(fact: FoundFact) -> tuple[str, str, str]:
    return folded_line(fact.subject), fact.predicate, folded_line(fact.object)
