"""Judges what the bot itself asks to remember: the table of the write policy binds it, too."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from vault_memory.edits.calls import EditOptions
from vault_memory.learning import ledgers
from vault_memory.models.llm.phrase_rules import requests_in
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.ledger_lines import HELD, SAFETY
from vault_memory.rules.learning.policy.held_candidates import HeldCandidate, held_id
from vault_memory.rules.learning.policy_cues import PolicyCues
from vault_memory.rules.learning.relative_days import with_calendar_days
from vault_memory.rules.learning.write_policy import (
    DROP,
    LOGGED,
    NOW,
    REPETITION,
    Candidate,
    Decision,
    decide,
)
from vault_memory.rules.paths.scope_notes import Places
from vault_memory.search.open_vault import OpenVault


class ToolVerdict(NamedTuple):
    """Why a text is not written now."""

    outcome: Literal["refused", "held"]
    id: str
    reason: str


def judge(
    vault: OpenVault,
    places: Places,
    text: str,
    options: EditOptions,
    *,
    is_rule: bool,
    owner_turns: tuple[str, ...] = (),
) -> ToolVerdict | None:
    """Returns why a text is refused or held back; None when the table lets it pass.

    `owner_turns` are the turns in which the person says it.
    """
    candidate = Candidate(
        "rule" if is_rule else "remember",
        text,
        turns=(text, *owner_turns),
        who=places.scope.partition(":")[2],
        is_asked=True,
    )
    decision = _decide(candidate, owner_turns, policy_cues(vault.state.path))
    now = options.now or datetime.now(UTC)
    if decision.policy_class == DROP:
        # Fault: a dry run must not leave a line in the safety log.
        if decision.reason in LOGGED and not options.dry_run:
            record = {"ts": now.isoformat(), "turn": "", "reason": decision.reason}
            log = ledgers.of_vault(vault)
            log.append_by_day(places, SAFETY, now.date(), record)
        return ToolVerdict("refused", "", decision.reason)
    if decision.policy_class != REPETITION:
        return None
    # Fault: a tool that asks many times would fulfil the repetition alone. So the line has no
    # support.
    held = _held(candidate, decision, places.scope, now)
    if not options.dry_run:
        ledgers.of_vault(vault).append(places, HELD, [held.as_record()])
    return ToolVerdict("held", held.id, decision.reason)


def _decide(candidate: Candidate, owner_turns: tuple[str, ...], cues: PolicyCues) -> Decision:
    """Returns what becomes of a candidate: the table of a memory counts where the person did not ask."""
    decision = decide(candidate, cues)
    is_asked = any(map(requests_in, owner_turns))
    if candidate.kind != "remember" or decision.policy_class != NOW or is_asked:
        return decision
    # Fault: a tool leaves out the "maybe" or the "if" with which the person said it.
    plain = decide(replace(candidate, kind="memory", is_asked=False), cues)
    if plain.policy_class == REPETITION or (owner_turns and plain.policy_class == DROP):
        return plain
    return decision


def _held(candidate: Candidate, decision: Decision, scope: str, now: datetime) -> HeldCandidate:
    """Returns the ledger line. It has no support: the words of a tool are no turn of the person."""
    text = candidate.text
    if candidate.kind == "remember":
        text = with_calendar_days(text, now.date())
    day = now.date().isoformat()
    return HeldCandidate(
        id=held_id(scope, candidate.kind, candidate.text),
        ts=now.isoformat(),
        state="held",
        policy_class=decision.policy_class,
        reason=decision.reason,
        kind=candidate.kind,
        text=candidate.text,
        day=day,
        line=f"{text} ({day})",
    )
