"""The tools that change something: as the bot's act, which policy binds, the audit tells, and a person can undo."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from vault_memory.errors import UsageError
from vault_memory.mcp import arguments
from vault_memory.mcp.serving import Serving

if TYPE_CHECKING:
    from vault_memory.app.known import FactChange

Answered = tuple[dict[str, Any], str]
WAITS = "it waits for the person's decision in INBOX"


def remember(serving: Serving, asked: arguments.Remember) -> Answered:
    kept = serving.memory.remember(
        asked.text, scope=serving.own, source="tool", expected=_given(asked.expected_revision)
    )
    answer = asdict(kept)
    reason = WAITS if kept.outcome == "proposed" and not kept.reason else kept.reason
    return answer, f"{kept.outcome}: {kept.note}" + (f" ({reason})" if reason else "")


def correct(serving: Serving, asked: arguments.Correct) -> Answered:
    right = {
        name: _given(getattr(asked, name)) for name in ("subject", "predicate", "object", "valid_from", "valid_until")
    }
    if all(value is None for value in right.values()):
        raise UsageError("nothing says what is right", hint="give `object`, or another part of the fact")
    return _told(
        serving.memory.correct_fact(
            asked.fact, scopes=serving.scopes, source="tool", expected=_given(asked.expected_revision), **right
        )
    )


def confirm(serving: Serving, asked: arguments.Confirm) -> Answered:
    return _told(
        serving.memory.confirm_fact(
            asked.fact, scopes=serving.scopes, source="tool", expected=_given(asked.expected_revision)
        )
    )


def forget(serving: Serving, asked: arguments.Forget) -> Answered:
    if (asked.text is UNSET) == (asked.fact is UNSET):
        raise UsageError("either `text` or `fact` says what to forget", hint="give one of them")
    expected, note = _given(asked.expected_revision), _given(asked.note)
    if not isinstance(asked.fact, UnsetType):
        if note is not None:
            raise UsageError("a fact is known by its id alone", hint="leave `note` out")
        change = serving.memory.delete_fact(asked.fact, scopes=serving.scopes, source="tool", expected=expected)
        return _fact_gone(serving, change)
    done = serving.memory.take_back(str(asked.text), scopes=serving.scopes, note=note, expected=expected)
    return done.as_json(), _counted(done.as_json())


def _told(change: "FactChange") -> Answered:
    from vault_memory.app import telling

    answer = telling.of_change(change)
    reasons = [one.reason for one in change.edit.rejected] + [one.why for one in change.edit.proposed]
    return answer, f"{change.outcome}: {change.id} in {change.note}" + (f" ({'; '.join(reasons)})" if reasons else "")


def _fact_gone(serving: Serving, change: "FactChange") -> Answered:
    """In the shape that a text has."""
    edit, gone = change.edit, change.outcome == "deleted"
    page = serving.memory.curator.inbox.page_of(change.note) if edit.proposed else ""
    why = edit.rejected[0].reason if edit.rejected else edit.pending[0].explanation if edit.pending else WAITS
    answer: dict[str, Any] = {
        "matches": 1,
        "removed": [{"place": change.note, "count": 1, "audit_id": edit.audit_id}] if gone else [],
        "proposed": [{"place": change.note, "count": 1, "inbox": page}] if edit.proposed else [],
        "remaining": 0 if gone else [{"place": change.note, "why": why}],
    }
    return answer, _counted(answer)


def _counted(answer: dict[str, Any]) -> str:
    if not answer["matches"] and not answer["remaining"]:
        return "nothing says that"
    lines = [f"removed {one['count']} from {one['place']}" for one in answer["removed"]]
    lines += [
        f"proposed to remove {one['count']} from {one['place']}: the person decides in {one['inbox'] or 'INBOX'}"
        for one in answer["proposed"]
    ]
    lines += [f"still in {one['place']}: {one['why']}" for one in answer["remaining"] or ()]
    return "\n".join(lines)


def _given(value: Any) -> Any:
    """What was said; None when nothing was."""
    return None if value is UNSET else value
