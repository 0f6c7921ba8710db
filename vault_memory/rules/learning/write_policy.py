"""Decides what becomes of a candidate: written now, at the end of its session, later, or never.

The first row of the table that has an entry for the kind of candidate wins. A label of a model
only makes the decision stricter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from vault_memory.rules.claims.carried_words import CARRIED_SHARE, carried_share, stems_of
from vault_memory.rules.learning.policy_cues import PolicyCues
from vault_memory.rules.search import tokens
from vault_memory.rules.sentences.sentence_splitter import split_sentences

CandidateKind = Literal["memory", "fact", "rule", "remember"]
PolicyClass = Literal[
    "commit_now", "commit_at_session_end", "require_repetition", "propose", "drop"
]
Doubtful = Literal["", "pasted", "too_many"]
"""whether a turn has several paragraphs, or more rules than a person says at once"""
NOW: PolicyClass = "commit_now"
SESSION_END: PolicyClass = "commit_at_session_end"
REPETITION: PolicyClass = "require_repetition"
PROPOSE: PolicyClass = "propose"
DROP: PolicyClass = "drop"

STABLE_TYPES = frozenset({"identity", "preference", "relationship"})
STABLE_PREDICATES = frozenset(
    (
        "allergic_to also_known_as born_in born_on child_of dating dislikes friend_of has_pet "
        "has_name has_role is_a knows likes lives_in loves hates married_to owns parent_of "
        "prefers reports_to sibling_of speaks works_as works_at works_for works_with"
    ).split()
)
"""Predicates of what a person is, likes, or is to another"""
LOGGED = frozenset({"crisis", "safety_bypass"})
"""Reasons whose drops go into the safety log"""
UNTOLD = frozenset({"crisis", "secret"})
"""Reasons whose text is shown nowhere"""
UNNAMED = frozenset({"crisis"})
"""Reasons that printed text leaves out"""
TWICE = frozenset({"interpretive", "implicit"})
"""Reasons that need a second support at the end of a session"""
_OWNERS = frozenset({"user", "i", "me", "my"})
LABELS: dict[str, tuple[str, ...]] = {
    "care": ("none", "sensitive", "crisis", "secret"),
    "scope": ("lasting", "session", "turn"),
    "basis": ("said", "inferred"),
}
"""The labels of a memory with their values, from the mildest to the strictest; the first one is
that of a memory without the label"""
_STRICTNESS: dict[PolicyClass, int] = {NOW: 0, SESSION_END: 1, REPETITION: 3, PROPOSE: 4, DROP: 5}


@dataclass(frozen=True, slots=True)
class Labels:
    """How a model describes a candidate. Unknown values count as missing."""

    care: str = "none"
    """none, sensitive, crisis or secret"""
    scope: str = "lasting"
    """turn, session or lasting"""
    basis: str = "said"
    """said or inferred"""

    @classmethod
    def read(cls, care: object, scope: object, basis: object) -> "Labels":
        """Returns the labels of an answer, whatever it contains."""
        return cls(
            # Fault: a model may answer with any value, or with none.
            _choice(care, LABELS["care"]),
            _choice(scope, LABELS["scope"]),
            _choice(basis, LABELS["basis"]),
        )

    def tightened(self, other: "Labels") -> "Labels":
        """Returns the stricter one of each label."""
        return Labels(
            max(self.care, other.care, key=LABELS["care"].index),
            max(self.scope, other.scope, key=LABELS["scope"].index),
            max(self.basis, other.basis, key=LABELS["basis"].index),
        )


NO_LABELS = Labels()


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a turn may teach."""

    kind: CandidateKind
    text: str
    triple: tuple[str, str, str] | None = None
    """subject, predicate and object of a fact"""
    turns: tuple[str, ...] = ()
    """the texts of the person's own turns that it cites"""
    labels: Labels = NO_LABELS
    type: str = ""
    """of a memory, e.g. `identity`"""
    who: str = ""
    """the name of the person"""
    automated: bool = False
    """whether only automated turns say it"""
    doubt: Doubtful = ""
    """why only a person may say that it is kept"""
    is_asked: bool = False
    """whether the person plainly asks for it, as the words of a rule or a request tell"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a candidate, and the row of the table that decided."""

    policy_class: PolicyClass
    reason: str

    @property
    def supports(self) -> int:
        """Number of own turns that must say it before it is written."""
        if self.policy_class == REPETITION or self.reason in TWICE:
            return 2
        return 1

    @property
    def strictness(self) -> int:
        """A number that is greater for a stricter decision."""
        extra = self.policy_class == SESSION_END and self.supports > 1
        return _STRICTNESS[self.policy_class] + extra


def decide(candidate: Candidate, cues: PolicyCues) -> Decision:
    """Returns what becomes of a candidate. Defined for every candidate, and deterministic."""
    plain = _decide(replace(candidate, labels=NO_LABELS), cues)
    if candidate.labels == NO_LABELS:
        return plain
    labelled = _decide(candidate, cues)
    # A label may name an earlier row that is milder, and must never loosen the decision.
    return labelled if labelled.strictness >= plain.strictness else plain


def _decide(candidate: Candidate, cues: PolicyCues) -> Decision:
    # Fault: no own turn says it: a model invented it, or it is the text of others.
    if not candidate.turns:
        is_dropped = candidate.automated or candidate.kind in ("rule", "remember")
        return Decision(DROP if is_dropped else PROPOSE, "not_own")
    reasons = _reasons(candidate, cues)
    for row in _ROWS:
        policy_class = row[_COLUMNS[candidate.kind]]
        if policy_class != "-" and row[0] in reasons:
            return Decision(policy_class, row[0])
    # A request is explicit, however it is worded.
    if candidate.kind == "remember":
        return Decision(NOW, "explicit")
    return Decision(SESSION_END, "other")


_TABLE = """\
crisis          drop                   drop                   drop
safety_bypass   drop                   drop                   drop
memory_control  drop                   drop                   drop
secret          drop                   drop                   drop
turn_scoped     drop                   drop                   drop
hypothetical    drop                   -                      -
joke            drop                   -                      -
hearsay         drop                   -                      -
mood            drop                   -                      -
pasted          propose                propose                -
too_many        -                      propose                -
address         -                      propose                -
self_belief     require_repetition     require_repetition     require_repetition
pattern         require_repetition     require_repetition     require_repetition
hedged          require_repetition     -                      -
explicit        -                      commit_now             commit_now
sensitive       commit_at_session_end  -                      -
interpretive    commit_at_session_end  -                      -
implicit        -                      commit_at_session_end  -
moving          commit_now             -                      -
stable          commit_now             -                      -
"""
"""The class of each reason for a memory or fact, for a rule, and for a request to remember.

`not_own` comes before it and `other` after it. What nobody meant to say of themselves is dropped;
a request to remember it is meant. Where a person lives soon is known in the next conversation.
"""
_ROWS: list[Sequence[Any]] = [row.split() for row in _TABLE.splitlines()]
_COLUMNS: Mapping[CandidateKind, int] = {"memory": 1, "fact": 1, "rule": 2, "remember": 3}


def _reasons(candidate: Candidate, cues: PolicyCues) -> set[str]:
    """Returns the rows that the words and the labels of a candidate belong to."""
    reasons = set(cues.reasons(_in_words(candidate)))
    for turn in candidate.turns:
        for sentence in sentences_about(candidate.text, turn):
            reasons |= cues.reasons(sentence)
        # Fault: "Don't remember this" shares no word with the sentence that it is about.
        reasons |= _reasons_of_whole_turn(turn, cues)
    labels = candidate.labels
    if labels.care in ("crisis", "secret", "sensitive"):
        reasons.add(labels.care)
    if labels.scope in ("turn", "session"):
        reasons.add("turn_scoped")
    # Fault: a model may call its guess a plain statement. So the words of the turn count as well.
    if labels.basis == "inferred" or not _is_grounded(candidate):
        reasons.add("interpretive")
    if _is_stable(candidate):
        reasons.add("stable")
    if candidate.is_asked:
        reasons.add("explicit")
    if candidate.doubt:
        reasons.add(candidate.doubt)
    return reasons


def _in_words(candidate: Candidate) -> str:
    """Returns the text of a candidate as a sentence: "password swordfish" for a fact."""
    if candidate.triple is None:
        return candidate.text
    # Fault: in a fact, the word that shows a secret may be its predicate.
    _, predicate, object_ = candidate.triple
    return f"{predicate.replace('_', ' ')} {object_}"


def _reasons_of_whole_turn(turn: str, cues: PolicyCues) -> set[str]:
    """Returns the reasons of sentences that speak about the others: "Don't remember this." """
    reasons: set[str] = set()
    for sentence in split_sentences(turn):
        for reason in ("memory_control", "turn_scoped"):
            if cues.stands_alone(sentence, reason):
                reasons.add(reason)
    return reasons


def sentences_about(text: str, turn: str) -> list[str]:
    """Returns the sentences of a turn that say a text: those that share most words with it."""
    sentences = split_sentences(turn)
    if len(sentences) < 2:
        return sentences
    words = set(content_words(text))
    shares = [len(words & set(tokens.words(sentence))) for sentence in sentences]
    most = max(shares)
    if not most:
        # A paraphrase may share no word: each sentence may be meant.
        return sentences
    return [sentence for sentence, share in zip(sentences, shares, strict=True) if share * 2 > most]


def _is_stable(candidate: Candidate) -> bool:
    if candidate.kind == "fact" and candidate.triple is not None:
        return candidate.triple[1] in STABLE_PREDICATES
    return candidate.kind == "memory" and candidate.type in STABLE_TYPES


def _is_grounded(candidate: Candidate) -> bool:
    """Returns whether enough content words of a candidate are in one of its turns."""
    text = candidate.triple[2] if candidate.triple else candidate.text
    words = content_words(text, without=(candidate.who,))
    # Numbers are checked before: a calendar day stands for "tomorrow", which the turn has.
    content = [word for word in words if not word.isdecimal()]
    if not content:
        return True
    return any(
        carried_share(content, stems_of(tokens.words(turn))) >= CARRIED_SHARE
        for turn in candidate.turns
    )


def content_words(text: str, *, without: Iterable[str] = ()) -> list[str]:
    """Returns the words of a text that are no stop-words, and not its owner."""
    words = tokens.without_last_letters(tokens.words(text))
    omitted = _OWNERS | {word for name in without for word in tokens.words(name)}
    content = [word for word in dict.fromkeys(words) if word not in omitted]
    stop = tokens.stop_words(content)
    return [word for word in content if word not in stop]


def _choice(value: object, choices: Sequence[str]) -> str:
    text = value.strip().casefold() if isinstance(value, str) else ""
    return text if text in choices else choices[0]


NEVER_STORED = UNTOLD | LOGGED
"""Reasons of the write policy that hold for each text, wherever it is written"""

_ANY_VALUE = "q7x9z4"

ReasonsOf = Callable[[str], frozenset[str]]


def reason_to_keep_out(heading: str, lines: Iterable[str], reasons_of: ReasonsOf) -> str:
    """Returns why lines below a heading are not stored, or an empty string."""
    lines = list(lines)
    # Fault: a sentence may stand in two lines, the word for a secret in the first one.
    texts = [heading, *lines, " ".join(lines)]
    # Fault: the word for a secret may be the heading, with the value in a line below it.
    if "secret" in reasons_of(f"{heading}: {_ANY_VALUE}"):
        texts += [f"{heading}: {line}" for line in lines]
    # Fault: the predicate of a fact has its words joined, as in `wifi_password: quayfish`.
    texts += [text.replace("_", " ") for text in texts]
    reasons = [reasons_of(text) for text in dict.fromkeys(texts) if text]
    return min(NEVER_STORED & frozenset().union(*reasons), default="")
