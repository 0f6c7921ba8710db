"""Renders the report of an edit as text: the diff, then a line for each op.

Works on the JSON of the report, and loads no click, so that an op starts fast.
"""

from collections.abc import Callable, Iterator, Mapping

from vault_memory.rules.edits.op_words import did_nothing, explained, in_words

TYPE_CHECKING = False  # as in `typing`, which would cost each op 10 ms
if TYPE_CHECKING:
    from typing import Any

PENDING = 75
LONGEST_OP = 300
"""Characters of an op that a remark shows"""
COLOURS = {"+": "green", "-": "red", "@": "cyan"}

Paint = Callable[[str, str], str]
"""Returns a text in a colour"""


def exit_code_of(answer: "Mapping[str, Any]") -> int:
    """Return 75 for a pending edit, 1 when every op was refused, else 0."""
    if answer["pending"]:
        return PENDING
    has_effect = answer["applied"] or answer["proposed"]
    if answer["rejected"] and not has_effect:
        return 1
    return 0


def exit_code_of_ops(answer: "Mapping[str, Any]") -> int:
    """Return the same for ops by hand; a removal or replacement that did nothing is a failure."""
    idle = [op for op in answer["applied"] if did_nothing(op["op"], op["outcome"])]
    has_effect = answer["proposed"] or answer["pending"]
    if idle and len(idle) == len(answer["applied"]) and not has_effect:
        return 1
    return exit_code_of(answer)


def text_of(answer: "Mapping[str, Any]", paint: Paint) -> str:
    """Render the diff and the outcome of each op."""
    return "\n".join(_lines(answer, paint))


def remark_of(answer: "Mapping[str, Any]", *, dry_run: bool) -> str:
    """Render the id of the audit record, and how to undo it; empty without a record."""
    if dry_run:
        return "nothing was written"
    id_ = answer["audit_id"]
    if not id_:
        return ""
    remark = f"recorded as {id_}"
    if answer["before"] != answer["after"]:
        remark += f"; `vault-memory undo {id_}` takes it back"
    return remark


def diff_text(diff: str, paint: Paint) -> str:
    """Render a unified diff without its two lines of file names, which are the same."""
    lines = diff.removesuffix("\n").split("\n")
    if lines[0].startswith("--- "):
        del lines[:2]
    return "\n".join(_painted(line, paint) for line in lines)


def _painted(line: str, paint: Paint) -> str:
    colour = COLOURS.get(line[:1])
    return paint(line, colour) if colour else line


def _lines(answer: "Mapping[str, Any]", paint: Paint) -> Iterator[str]:
    if answer["diff"]:
        yield diff_text(answer["diff"], paint)
    outcomes = list(_outcomes(answer))
    yield from outcomes or ["no ops, nothing done"]
    if answer.get("from_disk"):
        yield "others wrote meanwhile, and the note keeps:"
        yield diff_text(answer["from_disk"], paint)


def short_op(op: object) -> str:
    """Return an op in words; a long line is cut, so that the reason after it is seen."""
    words = in_words(op)
    if len(words) <= LONGEST_OP:
        return words
    return f"{words[:LONGEST_OP]}…"


def _outcomes(answer: "Mapping[str, Any]") -> Iterator[str]:
    """Yield a line for each op: its outcome, or the reason why it waits or was refused."""
    for op in answer["applied"]:
        remark = op.get("remark")
        detail = f" ({remark})" if remark else ""
        yield f"{op['outcome']}: {short_op(op['op'])}{detail}"
    for op in answer["pending"]:
        detail = f"({op['explanation']}; id {op['id']})"
        yield f"pending: {short_op(op['op'])} {detail}"
    for op in answer["proposed"]:
        detail = f"({op['why']}; id {op['id']})"
        yield f"proposed: {short_op(op['op'])} {detail}"
    for op in answer["rejected"]:
        explanation = explained(op["reason"], op["op"], op.get("headings", ()))
        detail = f" ({explanation})" if explanation else ""
        yield f"rejected: {short_op(op['op'])}: {op['reason']}{detail}"
