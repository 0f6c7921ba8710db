"""The step that lets a model edit a person's profile, as policy allows."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from vault_memory.errors import VaultMemoryError
from vault_memory.learning import prompts
from vault_memory.learning.enrichment.note_evidence import NoteEvidence
from vault_memory.learning.policy.allowed_ops import allowed_ops
from vault_memory.learning.policy.edit_cause import EditCause
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.search.tokens import stop_words, words

if TYPE_CHECKING:
    from vault_memory.learning.cycle import LearningCycle

RECENT_DAYS = 3
"""Dated notes that curation reads"""
MOST_PROPOSALS = 10
"""In one night"""
LONGEST_HEADING = 2
"""Content words of a new heading that names a subject and states nothing"""
NO_NOTE_SAYS_THIS = "no note says this"


def curate(cycle: "LearningCycle") -> None:
    """Lets the brain edit USER.md, as policy allows, after all turns of the night are read."""
    if not _may_curate(cycle):
        return
    places = cycle.places
    since = cycle.night - timedelta(days=RECENT_DAYS)
    try:
        prompt = prompts.curation_prompt(
            cycle.question("curation", places.profile.rpartition("/")[2]),
            text=cycle.text(places.profile),
            days=cycle.days(since, cycle.night),
            facts=cycle.text(places.facts),
        )
        answer = cycle.ask("curation", prompt)
    except VaultMemoryError as error:
        # Fault: the model is out of reach. What the cycle wrote before must not be lost with the
        # curation.
        cycle.outcome.reason = cycle.outcome.reason or error.message
        return
    # Fault: a model may write a secret into its ops. The policy judges these as well.
    ops = allowed_ops(cycle, read_answer(answer, ()).ops)
    evidence = NoteEvidence(cycle, since)
    grounded = [op for op in ops if all(map(evidence.says, _new_lines(op)))]
    result = cycle.edit("curation", places.profile, grounded)
    cycle.outcome.curated = len(result.applied)
    _propose(cycle, [op for op in ops if op not in grounded])


def _propose(cycle: "LearningCycle", ops: list[Mapping[str, Any]]) -> None:
    """Proposes edits whose text no note says."""
    # A model that invents much must not fill INBOX.md; the audit names the others.
    surplus = [
        {"op": "memory", "line": " ".join(_new_lines(op)), "reason": "too many proposals"}
        for op in ops[MOST_PROPOSALS:]
    ]
    why = f"night of {cycle.checkpoint.night}: {NO_NOTE_SAYS_THIS}"
    cycle.edit(
        "curation doubts",
        cycle.places.profile,
        [*ops[:MOST_PROPOSALS], *surplus],
        cause=EditCause(why=why, origin="document"),
    )


def _new_lines(op: Mapping[str, Any]) -> list[str]:
    """Returns the lines that an op would write, and the heading of a new section."""
    lines = [op["line"]] if "line" in op else []
    if isinstance(op.get("lines"), list):
        lines += op["lines"]
    heading = str(op.get("heading", ""))
    heading_words = words(heading)
    content_words = set(heading_words) - stop_words(heading_words)
    # Fault: a model writes an invention as the heading of a section.
    if op.get("op") == "add_heading" and len(content_words) > LONGEST_HEADING:
        lines.append(heading)
    return list(map(str, lines))


def _may_curate(cycle: "LearningCycle") -> bool:
    # Fault: curation of a channel would let its members change a person's profile.
    if not cycle.request.curate or cycle.kind != "user":
        return False
    # Fault: with turns left to read, or after a failure, the model would curate from half a day.
    if cycle.outcome.more or cycle.outcome.state == "failed":
        return False
    return bool(cycle.gathered.turns or cycle.last.heard)
