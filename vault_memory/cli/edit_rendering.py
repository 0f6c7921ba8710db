"""An edit, as an answer of the JSON contract, in words: the diff, then a line for each op. Needs no click."""

from collections.abc import Callable, Iterator, Mapping

TYPE_CHECKING = False  # as in `typing`, which would cost each op 10 ms
if TYPE_CHECKING:
    from typing import Any

PENDING = 75
COLOURS = {"+": "green", "-": "red", "@": "cyan"}

Paint = Callable[[str, str], str]
"""Gives a text in a colour"""


def exit_code_of(answer: "Mapping[str, Any]") -> int:
    """75 while it waits, 1 when every op was refused, else 0."""
    if answer["pending"]:
        return PENDING
    return (
        1 if answer["rejected"] and not (answer["applied"] or answer["proposed"]) else 0
    )


def text_of(answer: "Mapping[str, Any]", paint: Paint) -> str:
    """What an edit did."""
    return "\n".join(_lines(answer, paint))


def remark_of(answer: "Mapping[str, Any]", *, dry_run: bool) -> str:
    """Whether it was recorded, and how it is taken back; empty when there is nothing to say."""
    if dry_run:
        return "nothing was written"
    id_ = answer["audit_id"]
    if not id_:
        return ""
    changed = answer["before"] != answer["after"]
    return f"recorded as {id_}" + (f"; `undo {id_}` takes it back" if changed else "")


def diff_text(diff: str, paint: Paint) -> str:
    """A unified diff without its two lines of names, which would be the same."""
    lines = diff.removesuffix("\n").split("\n")
    shown = lines[2:] if lines[0].startswith("--- ") else lines
    return "\n".join(
        paint(line, COLOURS[line[:1]]) if line[:1] in COLOURS else line
        for line in shown
    )


def _lines(answer: "Mapping[str, Any]", paint: Paint) -> Iterator[str]:
    if answer["diff"]:
        yield diff_text(answer["diff"], paint)
    for done in answer["applied"]:
        remark = done.get("remark")
        yield f"{done['outcome']}: {in_words(done['op'])}" + (
            f" ({remark})" if remark else ""
        )
    for waiting in answer["pending"]:
        about = f"({waiting['explanation']}; id {waiting['id']})"
        yield f"pending: {in_words(waiting['op'])} {about}"
    for proposal in answer["proposed"]:
        yield f"proposed: {in_words(proposal['op'])} ({proposal['why']}; id {proposal['id']})"
    for refused in answer["rejected"]:
        headings = refused.get("headings")
        about = f" (the headings are: {', '.join(headings)})" if headings else ""
        yield f"rejected: {in_words(refused['op'])}: {refused['reason']}{about}"
    if not (
        answer["applied"]
        or answer["pending"]
        or answer["proposed"]
        or answer["rejected"]
    ):
        yield "no ops, nothing done"


def in_words(op: object) -> str:
    """An op on one line."""
    if not isinstance(op, Mapping):
        return repr(op)
    name = op.get("op")
    match name:
        case "append":
            return f"append to {op.get('heading')}: {op.get('line')}"
        case "add_heading":
            return f"add the section {op.get('heading')}"
        case "remove":
            return f"remove from {op.get('heading')}: {op.get('match')}"
        case "replace":
            return f"replace in {op.get('heading')}: {op.get('match')} with {op.get('line')}"
        case "undo":
            return f"undo {in_words(op.get('of'))}"
        case "restore":
            return f"restore {str(op.get('revision'))[:12]}"
        case "move":
            return f"move the section {op.get('heading')} from {op.get('from')} to {op.get('to')}"
        case "merge":
            return f"merge {op.get('copy') or 'what was saved'}"
        case "rename":
            return (
                f"rename to {op['to']}"
                if "to" in op
                else f"rename from {op.get('from')}"
            )
    return str(name)
