"""Answers as prose for a model: what notes say stands between marks that nothing in them can write."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vault_memory.memory.quoting import CLOSING, INTRO, escaped, one_line, opening, quoted

Answer = Mapping[str, Any]


def of_search(answer: Answer) -> str:
    """Hits, best first."""
    hits = answer["hits"]
    stale = answer["freshness"]["stale_files"]
    remark = (
        f"\n\nChanged just now, and not searched yet: {', '.join(escaped(one_line(path)) for path in stale)}"
        if stale
        else ""
    )
    return (in_marks(map(_hit, hits)) if hits else "Nothing was found.") + remark


def of_note(answer: Answer) -> str:
    """A note or some lines of it; no text where there is none."""
    if not answer["text"]:
        return ""
    first, last = answer["lines"]
    about = {"note": answer["note"], "lines": f"{first}-{last}", "revision": answer["revision"]}
    rest = answer["total_lines"] - last
    remark = f"\n\n{rest} more lines: call memory_get with first_line {last + 1}" if rest else ""
    return in_marks([quotation("note", about, answer["text"])]) + remark


def of_entity(answer: Answer) -> str:
    """Somebody or something."""
    known = [f"{one['id'] or 'follows'}  {one['subject']} {one['predicate']} {one['object']}{_days(one)}"
             for one in (*answer["facts"], *answer.get("timeline", ()))]  # fmt: skip
    names = ", ".join(answer["aliases"])
    lines = [f"{answer['name']} ({answer['type']}){f', also {names}' if names else ''}", answer["summary"], *known]
    quotations = [quotation("entity", {"name": answer["name"]}, "\n".join(map(one_line, filter(None, lines))))]
    return in_marks([*quotations, *map(_hit, answer["hits"])])


def in_marks(quotations: Iterable[str]) -> str:
    """Quotations, and what they are."""
    return "\n\n".join([INTRO, *quotations])


def quotation(kind: str, about: Mapping[str, str], text: str) -> str:
    """Some lines between marks that say where they are from."""
    return "\n".join([opening(kind, **about), *quoted(lines_of(text)), CLOSING])


def lines_of(text: str) -> list[str]:
    """Lines as chunks count them, without their ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _hit(hit: Answer) -> str:
    first, last = hit["lines"]
    about = {"note": hit["note"], "lines": f"{first}-{last}"}
    about |= {name: value for name in ("date", "heading") if (value := hit[name])}
    return quotation(hit["kind"], about, hit["text"])


def _days(fact: Answer) -> str:
    days: Sequence[str] = [
        f" {word} {day}" for word, day in (("from", fact["valid_from"]), ("until", fact["valid_until"])) if day
    ]
    return "".join(days) + (" (ended)" if fact["ended"] else "")
