"""Answers for a model, in which text of notes is quoted between tags that it cannot write.

Hosts forward the text of an answer, its structured data, or both, so each is safe by itself. A
quotation has its tags in each field. Every other text passes `plain`, which removes tags and flags
orders.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vault_memory.contract import introductions
from vault_memory.rules.context.prompt_injection import shaped_like_instruction
from vault_memory.rules.context.quoting import CLOSING, INTRO, one_line, opening, plain, quoted

Answer = Mapping[str, Any]
SHORT_REVISION = 12
"""Digits of a shortened revision"""
_HIT_FIELDS = ("note", "lines", "date", "scope", "kind")
"""The fields of a hit beside its text, where they have a value"""
_LABEL = re.compile(r"\*\*[^*\n]*+\*\*: ")


class Answered(NamedTuple):
    """An answer of a tool: as data, and as text with the same quotations."""

    answer: dict[str, Any]
    text: str


class Quoted(str):
    """Text in which all text of notes is quoted. Only this module creates it."""

    __slots__ = ()


def of_search(answer: Answer, longest: int | None = None) -> Answered:
    """Returns the answer with hits, best first: as many as fit into `longest` characters."""
    all_hits = answer["hits"]
    hits = all_hits if longest is None else _hits_that_fit(all_hits, longest)
    stale = answer["freshness"]["stale_files"]
    remarks = []
    if stale:
        names = ", ".join(map(_name, stale))
        remarks.append(f"Changed just now, and not searched yet: {names}")
    if missing := answer["freshness"].get("missing_notes", 0):
        remarks.append(f"{missing:,} notes are not searched: the vault has too many files")
    introduction = introductions(answer)
    message = f"{len(hits)} hits, best first" if hits else "Nothing was found."
    message = " ".join([*introduction, message])
    left_out = len(all_hits) - len(hits)
    if left_out:
        remark = f"{left_out} more hits are left out: narrow the search"
        remarks.append(remark)
        message += f"; {remark}"
    unread = answer.get("not_memory")
    if unread:
        remark = (
            f"{unread['files']} of {unread['of']} Markdown files are no memory, and not searched:"
            " the person can run `vault-memory layout`"
        )
        remarks.append(remark)
        message += f" {remark}"
    text = in_marks(map(_hit, hits)) if hits else "Nothing was found."
    data = _with_notice(hits) | {
        "message": message,
        "hits": [_hit_as_data(hit) for hit in hits],
        "freshness": dict(answer["freshness"]),
    }
    return answered(Quoted("\n\n".join([*introduction, text, *remarks])), data)


def _hits_that_fit(hits: Sequence[Answer], longest: int) -> Sequence[Answer]:
    """Returns the best hits whose quotations fit into an answer, which has at least one hit."""
    remaining = longest
    for index, hit in enumerate(hits):
        remaining -= len(_hit(hit))
        if remaining < 0 and index > 0:
            return hits[:index]
    return hits


def of_context(answer: Answer) -> Answered:
    """Returns the answer with the block for a prompt, which is quoted already."""
    block = Quoted(answer["text"])
    data = {
        "text": block,
        "cut": [dict(left_out) for left_out in answer["cut"]],
        "freshness": dict(answer["freshness"]),
    }
    return answered(block, data)


def of_note(answer: Answer) -> Answered:
    """Returns the answer with a note or some of its lines."""
    revision = answer["revision"][:SHORT_REVISION]
    data = {
        "note": answer["note"],
        "revision": revision,
        "text": "",
        "lines": answer["lines"],
        "total_lines": answer["total_lines"],
    }
    if not answer["text"]:
        return answered("", data)
    first, last = answer["lines"]
    about = {"note": answer["note"], "lines": f"{first}-{last}", "revision": revision}
    text: str = in_marks([quotation("note", about, answer["text"])])
    data["text"] = quotation("note", {}, answer["text"])
    message = _missing_lines(answer)
    if message:
        text += f"\n\n{message}"
        data["message"] = message
    return answered(Quoted(text), _with_notice(answer["text"]) | data)


def _missing_lines(answer: Answer) -> str:
    """Returns a message about the lines of a note that an answer leaves out."""
    last = answer["lines"][1]
    cut = answer.get("cut", 0)
    remaining = answer["total_lines"] - last
    messages: list[str] = []
    if cut:
        messages.append(f"line {last} is longer than an answer: {cut} characters are left out")
    if remaining:
        messages.append(f"{remaining} more lines: call memory_get with first_line {last + 1}")
    return "; ".join(messages)


def of_entity(name: str, answer: Answer) -> Answered:
    """Returns the answer about an entity, by the name that the model used."""
    facts = answer["facts"]
    timeline = answer.get("timeline", ())
    title = f"{answer['name']} ({answer['type']})"
    if answer["aliases"]:
        title += f", also {', '.join(answer['aliases'])}"
    profile_lines = [one_line(line) for line in (title, answer["summary"]) if line]
    profile = "\n".join(profile_lines)
    fact_lines = [f"{fact['id'] or 'follows'}  {_fact(fact)}" for fact in (*facts, *timeline)]
    text = "\n".join([profile, *fact_lines])
    entity = quotation("entity", {"name": answer["name"]}, text)
    data = _with_notice(profile) | {
        "name": name,
        "mentions": answer["mentions"],
        "text": quotation("entity", {}, profile),
        "facts": [_fact_as_data(fact) for fact in facts],
        "hits": [_hit_as_data(hit) for hit in answer["hits"]],
    }
    if "timeline" in answer:
        data["timeline"] = [_fact_as_data(fact) for fact in timeline]
    return answered(Quoted(in_marks([entity, *map(_hit, answer["hits"])])), data)


def answered(text: str, answer: Mapping[str, Any]) -> Answered:
    """Returns an answer that is safe in each of its fields."""
    data = {name: _safe_data(value) for name, value in answer.items()}
    return Answered(data, safe(text))


def safe(text: str) -> str:
    """Returns text for a model; unquoted text loses its tags, and its orders are flagged."""
    # Fault (H123): a text that a caller forgot to quote could close the quotation
    # before it. Only what this module quoted keeps its tags.
    return text if isinstance(text, Quoted) else plain(text)


def _safe_data(value: Any) -> Any:
    if isinstance(value, Quoted):
        return value
    if isinstance(value, str):
        return _name(value)
    if isinstance(value, Mapping):
        return {_name(name): _safe_data(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe_data(item) for item in value]
    return value


def in_marks(quotations: Iterable[str]) -> Quoted:
    """Returns quotations after the sentence that introduces them."""
    return Quoted("\n\n".join([INTRO, *quotations]))


def quotation(kind: str, about: Mapping[str, str], text: str) -> Quoted:
    """Returns lines between tags that name their source."""
    lines = quoted(lines_of(text), label=_label_in(kind, text))
    return Quoted("\n".join([opening(kind, **about), *lines, CLOSING]))


def _label_in(kind: str, text: str) -> str:
    """Returns the name of the speaker with which the index begins what was said, or ""."""
    # Fault: each answer of the bot was flagged for its own label `**assistant**:`. In a note the
    # same letters are somebody's, and pose as a turn.
    label = _LABEL.match(text) if kind == "transcript" else None
    return label[0] if label and not shaped_like_instruction(label[0]) else ""


def lines_of(text: str) -> list[str]:
    """Returns lines without line ends, as chunks count them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def shown_name(note: str) -> str:
    """Returns the name of a note for a model."""
    return _name(note)


def _name(text: str) -> str:
    return plain(one_line(text))


def _with_notice(quoted_text: object) -> dict[str, Any]:
    """Returns the sentence that introduces quotations, for an answer with some."""
    return {"notice": Quoted(INTRO)} if quoted_text else {}


def _hit(hit: Answer) -> Quoted:
    first, last = hit["lines"]
    about = {"note": hit["note"], "lines": f"{first}-{last}"}
    for name in ("date", "heading"):
        if hit[name]:
            about[name] = hit[name]
    if "copies" in hit:
        about["copies"] = str(hit["copies"])
    if "state" in hit:
        about["state"] = hit["state"]
    if "ended" in hit:
        about["state"] = "ended"
    return quotation(hit["kind"], about, hit["text"])


def _hit_as_data(hit: Answer) -> dict[str, Any]:
    """Returns a hit without its score. The heading is text of a note, so it goes into the tag."""
    data = {name: hit[name] for name in _HIT_FIELDS if hit[name]}
    about = {"heading": hit["heading"]} if hit["heading"] else {}
    data["text"] = quotation(hit["kind"], about, hit["text"])
    if "copies" in hit:
        data["copies"] = hit["copies"]
        data["also"] = [dict(copy) for copy in hit["also"]]
    if "state" in hit:
        data["state"] = hit["state"]
    if "ended" in hit:
        data["ended"] = True
    return data


def _fact(fact: Answer) -> str:
    statement = f"{fact['subject']} {fact['predicate']} {fact['object']}"
    return one_line(statement + _days(fact))


def _fact_as_data(fact: Answer) -> dict[str, Any]:
    return {"id": fact["id"], "text": quotation("fact", {}, _fact(fact))}


def _days(fact: Answer) -> str:
    days = ""
    if fact["valid_from"]:
        days += f" from {fact['valid_from']}"
    if fact["valid_until"]:
        days += f" until {fact['valid_until']}"
    if fact["ended"]:
        days += " (ended)"
    return days


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
