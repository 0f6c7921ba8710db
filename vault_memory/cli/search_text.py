"""Renders answers of `search` and `context` as text. Loads no click, so that both start fast."""

from collections.abc import Callable, Iterator, Mapping, Sequence

TYPE_CHECKING = False  # as in `typing`, which would cost each question 10 ms
if TYPE_CHECKING:
    from typing import Any

Paint = Callable[[str, str], str]
"""Returns a text in a style, `bold` or `dim`"""


def hits_text(answer: "Mapping[str, Any]", paint: Paint) -> str:
    """Render the hits, and the number of hits that each filter removed."""
    blocks = [_hit_text(hit, paint) for hit in answer["hits"]]
    if not blocks:
        blocks.append("nothing found")
    for name, count in answer.get("left_out", {}).items():
        if count:
            blocks.append(f"left out by {name}: {count}")
    return "\n\n".join(blocks)


def closed_text(name: str) -> str:
    """Render the remark that a person's own notes are left out in a channel."""
    return (
        f"left out: the notes of {name}, because others read the answer in a channel; "
        "--private includes them"
    )


def cut_texts(answer: "Mapping[str, Any]") -> Iterator[str]:
    """Yield a remark for each part that a prompt does not get."""
    for cut in answer["cut"]:
        yield f"left out ({cut['kind']}): {cut['reason']}"


def unknown_scope_texts(answer: "Mapping[str, Any]") -> Iterator[str]:
    """Yield a remark about the scopes of a question that have no note."""
    scopes = answer.get("unknown_scopes")
    if not scopes:
        return
    names = "name" if len(scopes) == 1 else "names"
    yield (
        f"no note belongs to {', '.join(scopes)}; "
        f"check the {names}: `vault-memory stats` lists all"
    )


def freshness_texts(freshness: "Mapping[str, Any]") -> Iterator[str]:
    """Yield a remark for each way in which an answer may be out of date."""
    if freshness["stale_files"]:
        yield f"not up to date: {', '.join(freshness['stale_files'])}"
    if freshness["semantic"] != "ready":
        yield f"semantic: {freshness['semantic']} ({freshness['reason']})"


def belong_to_one_person(scopes: Sequence[str]) -> bool:
    """Return whether the scopes are those of at most one person, without a channel."""
    persons = sum(scope.startswith("user:") for scope in scopes)
    has_channel = any(scope.startswith("channel:") for scope in scopes)
    return persons <= 1 and not has_channel


def _hit_text(hit: "Mapping[str, Any]", paint: Paint) -> str:
    first, last = hit["lines"]
    place = f"{hit['note']}:{first}"
    if last != first:
        place += f"-{last}"
    details = [hit["heading"], hit["date"], hit["scope"]]
    if hit.get("pending"):
        details.append("waits to be written")
    about = " · ".join(filter(None, details))
    score = f"{hit['score']:.2f}"
    lines = [f"{paint(place, 'bold')}  {paint(about, 'dim')}  {score}"]
    lines += [f"  {line}" for line in hit["text"].splitlines()]
    why = hit.get("why")
    if why:
        lines.append(paint(f"  why: {_score_text(why)}", "dim"))
    return "\n".join(lines)


def _score_text(why: "Mapping[str, Any]") -> str:
    """Render the terms of a score, and the rank of the hit in each arm of the search."""
    terms = [f"{name} {value:+.2f}" for name, value in why["terms"].items()]
    arms = [f"{name} #{rank}" for name, rank in why["arms"].items()]
    return f"{'  '.join(terms)}  ({', '.join(arms)})"
