"""Answers of `search` and `context`, of the JSON contract, in words. Needs no click."""

from collections.abc import Callable, Iterator, Mapping, Sequence

TYPE_CHECKING = False  # as in `typing`, which would cost each question 10 ms
if TYPE_CHECKING:
    from typing import Any

Paint = Callable[[str, str], str]
"""Gives a text a style, `bold` or `dim`"""


def hits_text(answer: "Mapping[str, Any]", paint: Paint) -> str:
    """The hits, and what the filters left out."""
    blocks = [_block(hit, paint) for hit in answer["hits"]] or ["nothing found"]
    blocks += [
        f"left out by {name}: {count}"
        for name, count in answer.get("left_out", {}).items()
        if count
    ]
    return "\n\n".join(blocks)


def closed_text(name: str) -> str:
    """Say that the own notes of a person were left out of a channel."""
    return f"left out: what is {name}'s own, as others read the answer in a channel; --private includes it"


def cut_texts(answer: "Mapping[str, Any]") -> Iterator[str]:
    """What a prompt is not given."""
    for cut in answer["cut"]:
        yield f"left out ({cut['kind']}): {cut['reason']}"


def freshness_texts(freshness: "Mapping[str, Any]") -> Iterator[str]:
    """How fresh an answer is, when it is not wholly."""
    if freshness["stale_files"]:
        yield f"not up to date: {', '.join(freshness['stale_files'])}"
    if freshness["semantic"] != "ready":
        yield f"semantic: {freshness['semantic']} ({freshness['reason']})"


def belong_to_one_person(scopes: Sequence[str]) -> bool:
    """Whether nobody but one person can be meant, and no channel reads along."""
    persons = sum(scope.startswith("user:") for scope in scopes)
    return persons <= 1 and not any(scope.startswith("channel:") for scope in scopes)


def _block(hit: "Mapping[str, Any]", paint: Paint) -> str:
    first, last = hit["lines"]
    place = f"{hit['note']}:{first}" + (f"-{last}" if last != first else "")
    waits = "waits to be written" if hit.get("pending") else ""
    about = [
        part for part in (hit["heading"], hit["date"], hit["scope"], waits) if part
    ]
    lines = [
        f"{paint(place, 'bold')}  {paint(' · '.join(about), 'dim')}  {hit['score']:.2f}"
    ]
    lines += ["  " + line for line in hit["text"].splitlines()]
    if why := hit.get("why"):
        terms = "  ".join(f"{name} {term:+.2f}" for name, term in why["terms"].items())
        arms = ", ".join(f"{name} #{rank}" for name, rank in why["arms"].items())
        lines.append(paint(f"  why: {terms}  ({arms})", "dim"))
    return "\n".join(lines)
