"""Answers for a model: what notes say stands between marks that nothing in them can write.

Hosts forward the text of an answer, its structured part, or both. Each part is safe by itself: a quotation carries its
marks in each field, and each other text passes `plain`, which takes the marks out and flags orders.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from vault_memory.rules.context.quoting import (
    CLOSING,
    INTRO,
    one_line,
    opening,
    plain,
    quoted,
)

Answer = Mapping[str, Any]
SHORT_REVISION = 12
"""Digits of a revision that tell two of them apart"""


class Answered(NamedTuple):
    """What a tool answers a model: as data, and as text with the same quotations."""

    answer: dict[str, Any]
    text: str


class Quoted(str):
    """Text in which all that notes say stands between marks. Only this module makes it."""

    __slots__ = ()


def of_search(answer: Answer) -> Answered:
    """Hits, best first."""
    hits = answer["hits"]
    stale = answer["freshness"]["stale_files"]
    names = ", ".join(map(_name, stale))
    remark = f"\n\nChanged just now, and not searched yet: {names}" if stale else ""
    text = in_marks(map(_hit, hits)) if hits else "Nothing was found."
    data = _with_notice(hits) | {
        "message": f"{len(hits)} hits, best first" if hits else "Nothing was found.",
        "hits": [_hit_as_data(hit) for hit in hits],
        "freshness": dict(answer["freshness"]),
    }
    return answered(Quoted(text + remark), data)


def of_context(answer: Answer) -> Answered:
    """The block for a prompt, which is quoted already where it is made."""
    block = Quoted(answer["text"])
    cut = [dict(left_out) for left_out in answer["cut"]]
    return answered(
        block, {"text": block, "cut": cut, "freshness": dict(answer["freshness"])}
    )


def of_note(answer: Answer) -> Answered:
    """A note or some lines of it; no text where there is none."""
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
    message = _what_is_missing(answer)
    text = in_marks([quotation("note", about, answer["text"])]) + (
        f"\n\n{message}" if message else ""
    )
    data |= {"text": quotation("note", {}, answer["text"])} | (
        {"message": message} if message else {}
    )
    return answered(Quoted(text), _with_notice(answer["text"]) | data)


def _what_is_missing(answer: Answer) -> str:
    """What of a note does not stand in an answer."""
    last, cut = answer["lines"][1], answer.get("cut", 0)
    rest = answer["total_lines"] - last
    missing = (
        [f"line {last} is longer than an answer: {cut} characters are left out"]
        if cut
        else []
    )
    missing += (
        [f"{rest} more lines: call memory_get with first_line {last + 1}"]
        if rest
        else []
    )
    return "; ".join(missing)


def of_entity(asked: str, answer: Answer) -> Answered:
    """Somebody or something, by the name under which a model asked."""
    facts, timeline = answer["facts"], answer.get("timeline", ())
    names = ", ".join(answer["aliases"])
    about = f"{answer['name']} ({answer['type']}){f', also {names}' if names else ''}"
    profile = "\n".join(map(one_line, filter(None, (about, answer["summary"]))))
    lines = [
        f"{fact['id'] or 'follows'}  {_fact(fact)}" for fact in (*facts, *timeline)
    ]
    whole = quotation("entity", {"name": answer["name"]}, "\n".join([profile, *lines]))
    data = _with_notice(profile) | {
        "name": asked,
        "mentions": answer["mentions"],
        "text": quotation("entity", {}, profile),
        "facts": [_fact_as_data(fact) for fact in facts],
        "hits": [_hit_as_data(hit) for hit in answer["hits"]],
    }
    if "timeline" in answer:
        data["timeline"] = [_fact_as_data(fact) for fact in timeline]
    return answered(Quoted(in_marks([whole, *map(_hit, answer["hits"])])), data)


def answered(text: str, answer: Mapping[str, Any]) -> Answered:
    """An answer that is safe in each of its fields."""
    return Answered(
        {name: _safe_data(value) for name, value in answer.items()}, safe(text)
    )


def safe(text: str) -> str:
    """Text for a model. What is not quoted by this module loses its marks, and its orders are flagged."""
    return text if isinstance(text, Quoted) else plain(text)


def _safe_data(value: Any) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, Quoted) else _name(value)
    if isinstance(value, Mapping):
        return {_name(name): _safe_data(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_safe_data(part) for part in value]
    return value


def in_marks(quotations: Iterable[str]) -> Quoted:
    """Quotations, and what they are."""
    return Quoted("\n\n".join([INTRO, *quotations]))


def quotation(kind: str, about: Mapping[str, str], text: str) -> Quoted:
    """Some lines between marks that say where they are from."""
    return Quoted("\n".join([opening(kind, **about), *quoted(lines_of(text)), CLOSING]))


def lines_of(text: str) -> list[str]:
    """Lines as chunks count them, without their ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def shown_name(note: str) -> str:
    """The name of a note as a model reads it."""
    return _name(note)


def _name(text: str) -> str:
    return plain(one_line(text))


def _with_notice(quoted_text: object) -> dict[str, Any]:
    """The sentence that says what quotations are, for an answer that has some."""
    return {"notice": Quoted(INTRO)} if quoted_text else {}


def _hit(hit: Answer) -> Quoted:
    first, last = hit["lines"]
    about = {"note": hit["note"], "lines": f"{first}-{last}"}
    about |= {name: value for name in ("date", "heading") if (value := hit[name])}
    return quotation(hit["kind"], about, hit["text"])


def _hit_as_data(hit: Answer) -> dict[str, Any]:
    """A hit without its score. The heading is text of a note, so it stands in the mark."""
    data = {
        name: hit[name]
        for name in ("note", "lines", "date", "scope", "kind")
        if hit[name]
    }
    heading = {"heading": hit["heading"]} if hit["heading"] else {}
    return data | {"text": quotation(hit["kind"], heading, hit["text"])}


def _fact(fact: Answer) -> str:
    return one_line(
        f"{fact['subject']} {fact['predicate']} {fact['object']}{_days(fact)}"
    )


def _fact_as_data(fact: Answer) -> dict[str, Any]:
    return {"id": fact["id"], "text": quotation("fact", {}, _fact(fact))}


def _days(fact: Answer) -> str:
    days: Sequence[str] = [
        f" {word} {day}"
        for word, day in (("from", fact["valid_from"]), ("until", fact["valid_until"]))
        if day
    ]
    return "".join(days) + (" (ended)" if fact["ended"] else "")
