"""Answers with what was said for a model: it is quoted between tags. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vault_memory.rules.context.quotations import Answered, Quoted, answered, in_marks, quotation
from vault_memory.rules.context.quoting import INTRO, one_line

Answer = Mapping[str, Any]
LONGEST = 2_000
"""Characters of one turn; a model reads the transcript for more"""


def of_source(answer: Answer) -> Answered:
    """Returns the answer with the line, and the turns behind it."""
    turns = [_turn_as_data(turn) for turn in answer["turns"]]
    message = _message(answer)
    about = {"note": answer["note"]} if answer["note"] else {}
    quotations = [quotation("source", about, answer["text"])] if answer["text"] else []
    quotations += [turn["text"] for turn in turns if turn["text"]]
    data = {
        "message": message,
        "kind": answer["kind"],
        "id": answer["id"],
        "note": answer["note"],
        "text": quotation("source", {}, answer["text"]) if answer["text"] else "",
        "turns": turns,
    }
    if not quotations:
        return answered(message, data)
    data["notice"] = Quoted(INTRO)
    return answered(Quoted(f"{in_marks(quotations)}\n\n{message}"), data)


def of_summary(id_: str, note: str, preview: str) -> Answered:
    """Returns the answer about a conversation that was summed up."""
    message = f"summed up in {note}" if note else "there is nothing to sum up"
    text = quotation("episode", {"note": note}, preview) if preview else ""
    data = {"message": message, "id": id_, "note": note, "preview": text}
    if not text:
        return answered(message, data)
    data["notice"] = Quoted(INTRO)
    return answered(Quoted(f"{in_marks([text])}\n\n{message}"), data)


def _message(answer: Answer) -> str:
    """Says what was found, in words that are no text of a note."""
    remarks = [answer["reason"]] if answer["reason"] else []
    for turn in answer["turns"]:
        if turn["gone"]:
            remarks.append(f"turn {turn['id']} is gone: {turn['gone']}")
        elif turn["closed"]:
            remarks.append(turn["closed"])
    count = sum(1 for turn in answer["turns"] if turn["turn"])
    return "; ".join([f"{count} turns", *remarks])


def _turn_as_data(turn: Answer) -> dict[str, Any]:
    text: str = ""
    if turn["turn"]:
        lines = [*turn["before"], turn["turn"], *turn["after"]]
        said = "\n".join(_lines(lines, turn["id"]))
        text = quotation("transcript", {"note": turn["note"]}, said)
    return {"id": turn["id"], "gone": turn["gone"] or "", "note": turn["note"], "text": text}


def _lines(turns: Iterable[Answer], turn_id: str) -> Iterator[str]:
    """Yields a line for each turn; an arrow shows the one that was asked for."""
    for turn in turns:
        arrow = "→ " if turn["id"] == turn_id else "  "
        speaker = turn["user"] if turn["role"] == "user" else turn["role"]
        text = one_line(turn["text"])
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]} …"
        yield f"{arrow}{turn['ts']} {speaker}: {text}"
