"""Carries out what a person decided in INBOX.md, and asks on a terminal about the rest."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context
from vault_memory.cli.rendering import emit_edit
from vault_memory.cli.terminal import styled
from vault_memory.edits import inbox
from vault_memory.rules.edits import inbox_page

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.edits.audit_record import Proposal

KEYS = ("a", "r", "e", "s", "q")
QUESTION = "[a]pprove, [r]eject, [e]dit, [s]kip or [q]uit"
EDITABLE = "line"
"""The text of an op that a person may rewrite"""


def carry_out_pages(context: Context, memory: "VaultMemory") -> None:
    """Carry out what people decided on INBOX pages; a page that was just saved has to settle."""
    unsettled = memory.edits.apply_all_decisions(now=context.now)
    if unsettled:
        context.say(f"waiting until {', '.join(unsettled)}, which was just saved, settles")
        time.sleep(inbox.SETTLED_SECONDS)
        memory.edits.apply_all_decisions(now=context.now)


def review(context: Context, memory: "VaultMemory", proposals: "Sequence[Proposal]") -> None:
    """Show the proposals one after the other, and do what the person decides."""
    total = len(proposals)
    for number, proposal in enumerate(proposals, start=1):
        head = f"{number} of {total}  {inbox_page.describe(proposal)}"
        context.line(styled(head, bold=True))
        context.line(f"  why: {proposal.why}")
        key = _ask(proposal)
        # The remaining proposals stay in the inbox.
        if key == "q":
            return
        _decide(context, memory, proposal, key)


def _ask(proposal: "Proposal") -> str:
    keys = list(KEYS)
    # Only the text of a new line can be rewritten.
    if EDITABLE not in proposal.op:
        keys.remove("e")
    key: str = click.prompt(
        QUESTION, type=click.Choice(keys), default="s", show_choices=False, err=True
    )
    return key


def _decide(context: Context, memory: "VaultMemory", proposal: "Proposal", key: str) -> None:
    match key:
        case "a":
            emit_edit(context, memory.approve(proposal.id, now=context.now))
        case "r":
            emit_edit(context, memory.reject(proposal.id, now=context.now))
        case "e":
            _apply_edited(context, memory, proposal)
        case _:
            context.say("it waits for you")


def _apply_edited(context: Context, memory: "VaultMemory", proposal: "Proposal") -> None:
    """Write the line in the person's words instead of the proposed one."""
    line = click.prompt("line", default=proposal.op[EDITABLE], err=True)
    op = {**proposal.op, EDITABLE: line}
    edit = memory.apply(proposal.note, [op], source="cli", now=context.now)
    emit_edit(context, edit)
    # Fault: a proposal whose edit was refused, waits, or found nothing must not get lost.
    has_found = any(op.outcome != "noop_no_match" for op in edit.applied)
    if has_found and not edit.pending:
        memory.reject(proposal.id, now=context.now)
