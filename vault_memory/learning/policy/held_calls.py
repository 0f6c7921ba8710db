"""What waits for more turns: lists it, and carries out a person's decision."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from vault_memory.edits import commands
from vault_memory.edits.calls import EditCalls, EditOptions
from vault_memory.edits.edit_errors import UnclearId
from vault_memory.edits.plans import fact_edits
from vault_memory.learning import ledgers
from vault_memory.learning.learned_rules import rule_ops
from vault_memory.learning.note_lines import LEARNED, ops_for
from vault_memory.learning.policy.committing import REMEMBERED, fact_of_candidate
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import day as parse_day
from vault_memory.markdown.note_items import resolve
from vault_memory.rules.facts.fact_page import FactRules
from vault_memory.rules.learning.ledger_lines import HELD, day_of_record
from vault_memory.rules.learning.policy.held_candidates import (
    HELD_TIME,
    HeldCandidate,
    is_waiting,
    merged,
)
from vault_memory.rules.paths.scope_notes import Places, places_of
from vault_memory.rules.paths.scopes import check_scopes

if TYPE_CHECKING:
    from vault_memory.contract.answers import DecidedJson, HeldJson
    from vault_memory.edits.edit_result import Edit

Verdict = Literal["promote", "drop"]
A_PERSON = "a person decided"


class HeldCalls:
    """Held candidates of one vault."""

    def __init__(self, edits: EditCalls, now: datetime | None = None) -> None:
        self._edits = edits
        self._vault = edits.vault
        self._ledgers = ledgers.of_vault(edits.vault)
        moment = now or datetime.now(UTC)
        self._now = moment.astimezone() if moment.tzinfo is None else moment

    def list(self, scopes: Sequence[str] | None = None) -> "list[HeldJson]":
        """Returns what waits in these scopes, else in all, the oldest first."""
        return [
            self._entry(scope, candidate)
            for scope, places in self._places(scopes).items()
            for candidate in self._waiting(places).values()
        ]

    def decide(
        self, given: str, verdict: Verdict, scopes: Sequence[str] | None = None
    ) -> "DecidedJson":
        """Writes a held candidate, or gives it up for good. Raises UnclearId."""
        by_id = {
            candidate.id: (places, candidate)
            for places in self._places(scopes).values()
            for candidate in self._waiting(places).values()
        }
        match = resolve(given, by_id)
        # Fault: two ids may begin alike. A guess would write a candidate that the person did not
        # mean.
        if not match.id:
            hint = "`vault-memory held` lists what waits"
            raise UnclearId("held candidate", given, match.candidates, hint)
        places, candidate = by_id[match.id]
        if verdict == "drop":
            self._append(places, candidate, state="rejected")
            return {"id": candidate.id, "outcome": "rejected", "note": ""}
        note, edit = self._write(places, candidate)
        # Fault: the edit waits for an editor. The candidate is not promoted until it is written.
        if edit is not None and edit.pending:
            return {"id": candidate.id, "outcome": "pending", "note": note}
        audit = edit.audit_id or "" if edit is not None else ""
        self._append(places, candidate, state="promoted", audit=audit)
        return {"id": candidate.id, "outcome": "promoted", "note": note}

    def reject_undone(self, record_id: str) -> None:
        """Gives up the candidate whose promotion was undone; the id may be a beginning."""
        # Most records promoted no candidate, and need no listing of the vault.
        if not self._ledgers.mentions(HELD, record_id):
            return
        for places in self._places(None).values():
            for candidate in self._all(places).values():
                # Fault: a candidate that was promoted again by a person must remain. Only the
                # undone record counts.
                is_undone = candidate.audit.startswith(record_id)
                if is_undone and candidate.state == "promoted":
                    self._append(places, candidate, state="rejected")

    def _places(self, scopes: Sequence[str] | None) -> dict[str, Places]:
        check_scopes(scopes or ())
        layout = self._vault.layout
        paths = list(self._vault.folder.listing().entries)
        names = list(scopes or ())
        if scopes is None:
            placed = (layout.place(path) for path in paths)
            ledgers_found = (place.scope for place in placed if place and place.kind == "ledger")
            names = sorted(set(ledgers_found))
        return {scope: places_of(scope, paths, layout) for scope in names}

    def _all(self, places: Places) -> dict[str, HeldCandidate]:
        return merged(self._ledgers.records(places, HELD))

    def _waiting(self, places: Places) -> dict[str, HeldCandidate]:
        today = self._now.date()
        return {
            id_: candidate
            for id_, candidate in self._all(places).items()
            if is_waiting(candidate, today)
        }

    def _entry(self, scope: str, candidate: HeldCandidate) -> "HeldJson":
        last = day_of_record(candidate.newest, self._now.date())
        return {
            "id": candidate.id,
            "scope": scope,
            "ts": candidate.ts,
            "kind": candidate.kind,
            "text": candidate.text,
            "class": candidate.policy_class,
            "reason": candidate.reason,
            "needs": candidate.needs,
            "turns": sorted(support.turn for support in candidate.active),
            "expires": (last + HELD_TIME).isoformat(),
        }

    def _append(
        self, places: Places, candidate: HeldCandidate, *, state: str, audit: str = ""
    ) -> None:
        record = candidate.as_record() | {"state": state}
        if audit:
            record["audit"] = audit
        self._ledgers.append(places, HELD, [record])

    def _write(self, places: Places, candidate: HeldCandidate) -> "tuple[str, Edit | None]":
        """Writes a candidate as the person's act. Returns the note and the edit."""
        why = f"{A_PERSON}: held back, {candidate.policy_class}, {candidate.reason}"
        options = EditOptions("cli", why=why, now=self._now)
        if candidate.kind == "fact":
            return places.facts, self._write_fact(places, candidate, why)
        match candidate.kind:
            case "rule":
                note, heading = places.rules, ""
            case "remember":
                note, heading = places.profile, REMEMBERED
            case _:
                day = parse_day(candidate.day) or self._now.date()
                note, heading = places.note_of(day), candidate.section or LEARNED
        current = self._edits.editor.there(note)
        doc = parse(current.raw if current else b"")
        if candidate.kind == "rule":
            ops = rule_ops(doc, [candidate.line])
        else:
            ops = ops_for(doc, heading, [candidate.line])
        return note, self._edits.apply(note, ops, options) if ops else None

    def _write_fact(self, places: Places, candidate: HeldCandidate, why: str) -> "Edit":
        settings = self._vault.config.facts
        single = frozenset(settings.single_valued)
        rules = FactRules(self._now.date(), single, settings.conflicts)
        fact = fact_of_candidate(candidate, places.scope)
        wish = fact_edits.wish_of("add", places.scope, rules, fact=fact)
        action = commands.ChangeFacts((wish,))
        # Fault: another process may write the facts at this moment. The command is made and carried
        # out under the lock.
        with self._edits.transaction():
            command = self._edits.editor.new_command(
                places.facts, "cli", self._now, action, why=why
            )
            return self._edits.execute(command, self._now)
