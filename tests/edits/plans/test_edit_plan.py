"""What each action makes of a note, and which questions and decisions a plan has."""

from typing import Any

from vault_memory.edits.audit.deleted_items import DeletedItem
from vault_memory.edits.commands import (
    ApplyOps,
    DecideProposals,
    EditCommand,
    OpForPerson,
    ProposalDecision,
    RecordDuplicates,
    RedactText,
    RestoreVersion,
    RetireNote,
)
from vault_memory.edits.plans.edit_plan import plan_command
from vault_memory.edits.plans.plan import EditPlan, PlanInputs, RedactionPlan
from vault_memory.rules.edits.audit_record import Proposal, Record, propose, record_run
from vault_memory.rules.edits.ops import Append, Op, Remove
from vault_memory.rules.edits.ownership import DELETED
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate
from vault_memory.vault.snapshots import revision_of

NOTE = "USER.md"
OLD = b"## Tea\n\n- green\n- white\n"
GONE = b"## Tea\n\n- green\n"


def of(*records: Record, **more: Any) -> PlanInputs:
    return PlanInputs(lambda note: records, {revision_of(GONE): GONE}.get, **more)


def planned(
    action: Any,
    before: bytes | None = OLD,
    inputs: PlanInputs | None = None,
    *,
    base: bytes | None = None,
    **more: Any,
) -> EditPlan:
    given: dict[str, Any] = {"kind": "user", "source": "cli", "action": action} | more
    command = EditCommand("c", "2026-11-29T12:00:00+00:00", NOTE, **given)
    return plan_command(command, before, inputs or of(), base=base)


def asked(*ops: Op, state: str = "open") -> Record:
    """A record with proposals about these ops."""
    proposals = [propose(NOTE, op, "why") for op in ops]
    head = Record("p", "2026-11-21T03:00:00+01:00", "main", "nightly", NOTE)
    changed = [Proposal(each.id, each.note, each.op, each.why, state) for each in proposals]
    return record_run(head, before=OLD, after=OLD, proposed=changed)


def append(line: str, heading: str = "Tea") -> dict[str, object]:
    return {"op": "append", "heading": heading, "line": line}


def test_an_earlier_version_is_written_again() -> None:
    plan = planned(RestoreVersion(revision_of(GONE)))

    assert plan.after == GONE
    assert [op.outcome for op in plan.applied] == ["applied"]
    assert [op.outcome for op in planned(RestoreVersion(revision_of(GONE)), GONE).applied] == [
        "noop_dup"
    ]


def test_a_redaction_is_counted_and_its_record_tells_nothing_of_the_text() -> None:
    plan = planned(RedactText(2))
    assert isinstance(plan, RedactionPlan)
    command = EditCommand("c", "t", NOTE, "user", "forget", RedactText(2), user_id="main")
    done, nothing = plan.record(command, GONE), plan.record(command, OLD)

    assert len(plan.applied) == 2
    assert (done.redacted, done.diff, done.before, done.after) == (True, b"", "", revision_of(GONE))
    assert len(done.applied) == 2
    assert nothing.applied == ()
    assert plan.record(command, None).after == ""


def test_duplicates_are_recorded_and_a_note_is_retired() -> None:
    skip = SkippedDuplicate("Tea", "green tea", "k7", "t1")
    duplicates = planned(RecordDuplicates((skip.as_op(),)))
    assert (duplicates.after, [op.outcome for op in duplicates.applied]) == (OLD, ["noop_dup"])

    retired = planned(RetireNote(), source="retention")
    assert (retired.before, retired.after, len(retired.applied)) == (OLD, None, 1)
    assert planned(RetireNote(), None, source="retention") == EditPlan(None, None)


def test_ops_are_rebased_where_the_note_has_another_text_than_they_were_made_for() -> None:
    newer = OLD.replace(b"## Tea", b"## Drinks")

    assert planned(ApplyOps((append("black"),)), newer, base=OLD).after == newer + b"- black\n"
    assert planned(ApplyOps((append("black"),)), newer).rejected
    same = planned(ApplyOps((append("black"),)), OLD, base=OLD)
    assert same.after == OLD + b"- black\n"


def test_a_question_for_a_person_is_asked_once() -> None:
    question = OpForPerson(Remove("Tea", "white"), "is it so?")
    action = ApplyOps((append("black"),), (question,))

    plan = planned(action)
    assert [proposal.why for proposal in plan.proposed] == ["is it so?"]
    assert plan.after == OLD + b"- black\n"
    for state in ("open", "rejected", "approved"):
        assert planned(action, inputs=of(asked(question.op, state=state))).proposed == ()


def test_two_questions_about_the_end_of_a_line_are_one() -> None:
    action = ApplyOps(
        (),
        (
            OpForPerson(Remove("Tea", "white"), "first"),
            OpForPerson(Remove("Tea", "white", exact=True), "second"),
            OpForPerson(Append("Tea", "red"), "third"),
        ),
    )

    assert [proposal.why for proposal in planned(action).proposed] == ["first", "third"]


def finds(*texts: str) -> PlanInputs:
    """Look-ups by which a person deleted these lines from another note."""

    def find(heading: str, line: str) -> tuple[DeletedItem, ...]:
        item = DeletedItem("memory/x.md", heading, line, line, False)
        return (item,) if line in texts else ()

    return of(deleted=lambda note: find)


def test_what_a_person_deleted_is_refused_and_the_rest_of_its_section_is_written() -> None:
    ops = ({"op": "add_heading", "heading": "New", "lines": ["gone"]}, append("kept", "New"))
    action = ApplyOps((*ops, append("gone"), append("more")))

    plan = planned(action, inputs=finds("gone"), source="nightly", spoken={})
    assert [refused.reason for refused in plan.rejected] == [DELETED, DELETED]
    assert plan.after == OLD + b"- more\n\n## New\n\n- kept\n"
    by_person = planned(action, inputs=finds("gone"))
    assert by_person.rejected == ()
    assert b"- gone" in (by_person.after or b"")


def test_what_the_person_said_after_the_deletion_is_written_again() -> None:
    later = finds("gone (ref:t2)", "gone (ref:t1)")
    inputs = PlanInputs(
        later.records,
        later.bytes_of,
        deleted=later.deleted,
        said_later=lambda command, note, text, turn: turn == "t2",
    )
    spoken = {"t1": "2026-01-01", "t2": "2026-02-01"}

    plan = planned(
        ApplyOps((append("gone (ref:t1)"), append("gone (ref:t2)"))),
        inputs=inputs,
        source="nightly",
        spoken=spoken,
    )

    assert len(plan.rejected) == 1
    assert plan.after == OLD + b"- gone (ref:t2)\n"


def decide(*decisions: tuple[str, str]) -> DecideProposals:
    return DecideProposals(tuple(ProposalDecision(id, state, "so") for id, state in decisions))


def test_an_approved_proposal_is_applied_once_and_each_decision_recorded() -> None:
    remove, add = (
        propose(NOTE, op, "why") for op in (Remove("Tea", "white"), Append("Tea", "red"))
    )
    known = of(asked(Remove("Tea", "white"), Append("Tea", "red")))

    plan = planned(decide((remove.id, "approved"), (add.id, "rejected")), inputs=known)
    assert plan.after == GONE
    assert [(each.id, each.state, each.reason) for each in plan.proposed] == [
        (remove.id, "approved", "so"),
        (add.id, "rejected", "so"),
    ]
    twice = planned(decide((remove.id, "approved"), (remove.id, "approved")), inputs=known)
    assert len(twice.proposed) == 1
    assert planned(decide(("unknown", "approved")), inputs=known) == EditPlan(OLD, OLD)
    closed = of(asked(Remove("Tea", "white"), state="rejected"))
    assert planned(decide((remove.id, "approved")), inputs=closed) == EditPlan(OLD, OLD)


def test_a_decision_about_a_line_that_is_gone_is_stale_and_a_change_by_hand_is_done() -> None:
    remove, add = (
        propose(NOTE, op, "why") for op in (Remove("Tea", "white"), Append("Tea", "white"))
    )
    gone = planned(decide((remove.id, "approved")), GONE, of(asked(Remove("Tea", "white"))))
    there = planned(decide((add.id, "approved")), OLD, of(asked(Append("Tea", "white"))))

    [stale], [done] = gone.proposed, there.proposed
    assert (gone.after, stale.state) == (GONE, "stale")
    assert stale.reason != "so"
    assert (there.after, done.state) == (OLD, "approved")
