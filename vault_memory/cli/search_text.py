"""Renders answers of `search` and `context` as text. Loads no click, so that both start fast."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from vault_memory import contract

TYPE_CHECKING = False  # as in `typing`, which would cost each question 10 ms
if TYPE_CHECKING:
    from typing import Any

    from vault_memory.contract import FreshnessJson
    from vault_memory.contract.answers import ContextBlockJson, HitJson, SearchAnswerJson, WhyJson

BETWEEN_DETAILS = " · "
Paint = Callable[[str, str], str]
"""Returns a text in a style, `bold` or `dim`"""
TOO_MANY_FILES = "not searched: {:,} notes; the vault has more files than one listing can have"
_UNKNOWN = {
    "topic": "no text has the topic `{}`, so only text without a topic was searched",
    "entity": "no text names `{}`",
    "tag": "no note has the tag `{}`",
    "where": "no note has the field `{}`",
    "kind": "no searched note is of the kind `{}`",
    "path": "no note is below the path `{}`",
}


def hits_text(answer: "SearchAnswerJson", paint: Paint) -> str:
    """Render the hits, and the number of hits that each filter removed."""
    blocks = [_hit_text(hit, paint) for hit in answer["hits"]] or ["nothing found"]
    # Most answers have no introduction, and need not load what has its words.
    if "unsure" in answer or "words_missing" in answer:
        blocks = [*contract.introductions(answer), *blocks]
    return "\n\n".join([*blocks, *left_out_texts(answer)])


def left_out_texts(answer: "SearchAnswerJson") -> Iterator[str]:
    """Yield a line for each filter that removed hits."""
    left_out = answer.get("left_out", {})
    for filter_name, count in left_out.items():
        if count:
            yield f"left out by {filter_name}: {count}"


def has_words(query: str) -> bool:
    """Return whether a query has a letter or a digit."""
    return any(map(str.isalnum, query))


def closed_text(name: str) -> str:
    """Render the remark that a person's own notes are left out in a channel."""
    return (
        f"left out: the notes of {name}, because others read the answer in a channel; "
        "--private includes them"
    )


def cut_texts(answer: "ContextBlockJson") -> Iterator[str]:
    """Yield a remark for each part that a prompt does not get."""
    for cut in answer["cut"]:
        kind = cut["kind"]
        reason = cut["reason"]
        yield f"left out ({kind}): {reason}"


def unknown_scope_texts(answer: Mapping[str, object]) -> Iterator[str]:
    """Yield a remark about the scopes of a question that have no note."""
    scopes = answer.get("unknown_scopes")
    if not isinstance(scopes, list) or not scopes:
        return
    listed = ", ".join(scopes)
    names = "name" if len(scopes) == 1 else "names"
    yield (f"no note belongs to {listed}; check the {names}: `vault-memory stats` lists all")


def unsearched_texts(answer: "SearchAnswerJson") -> Iterator[str]:
    """Yield why a search may find less than the person expects: its filters, and the layout."""
    yield from _unknown_filter_texts(answer)
    yield from _not_memory_texts(answer)


def _unknown_filter_texts(answer: "Mapping[str, Any]") -> Iterator[str]:
    """Yield a remark about each filter with a value that no searched note has."""
    for unknown in answer.get("unknown_filters", ()):
        remark = _UNKNOWN[unknown["filter"]].format(unknown["value"])
        if unknown["near"]:
            near = ", ".join(f"`{name}`" for name in unknown["near"])
            label = "there are" if unknown["filter"] == "kind" else "similar"
            remark += f"; {label}: {near}"
        yield remark


def _not_memory_texts(answer: "SearchAnswerJson") -> Iterator[str]:
    """Yield a remark when nothing is found, and files of the vault are no memory."""
    count = answer.get("not_memory")
    if count is None:
        return
    files, total = count["files"], count["of"]
    if files == total:
        text = f"none of {total:,} Markdown files is memory"
    else:
        verb = "is" if files == 1 else "are"
        text = f"{files:,} of {total:,} Markdown files {verb} no memory"
    yield f"{text}: `vault-memory layout` shows layouts that claim them"


def freshness_texts(freshness: "FreshnessJson") -> Iterator[str]:
    """Yield a remark for each way in which an answer may be out of date."""
    stale_files = freshness["stale_files"]
    if stale_files:
        listed = ", ".join(stale_files)
        yield f"not up to date: {listed}"
    if missing := freshness.get("missing_notes", 0):
        yield TOO_MANY_FILES.format(missing)
    semantic = freshness["semantic"]
    reason = freshness["reason"]
    if semantic != "ready":
        yield f"semantic: {semantic} ({reason})"


def belong_to_one_person(scopes: Sequence[str]) -> bool:
    """Return whether the scopes are those of at most one person, without a channel."""
    persons = 0
    for scope in scopes:
        kind = scope.partition(":")[0]
        if kind == "channel":
            return False
        if kind == "user":
            persons += 1
    return persons <= 1


def _hit_text(hit: "HitJson", paint: Paint) -> str:
    """Render a hit: a line with its place, then its text, then how its score came about."""
    place = paint(place_of(hit), "bold")
    about = paint(details_of(hit, hit["date"]), "dim")
    lines = [f"{place}  {about}"]
    lines += [f"  {line}" for line in hit["text"].splitlines()]
    why = hit.get("why")
    if why:
        reasons = f"  why: {score_text(hit['score'], why)}"
        lines.append(paint(reasons, "dim"))
    return "\n".join(lines)


def place_of(hit: "HitJson") -> str:
    """Render the note and the line numbers of a hit."""
    note = hit["note"]
    first, last = hit["lines"]
    if first == last:
        return f"{note}:{first}"
    return f"{note}:{first}-{last}"


def details_of(hit: "HitJson", day: str | None) -> str:
    """Render heading, day and scope of a hit, without those that it lacks."""
    details = [hit["heading"], day, hit["scope"]]
    state = hit.get("state", "active")
    if state != "active":
        details.append(state)
    if hit.get("ended"):
        details.append("ended")
    copies = hit.get("copies")
    if copies:
        details.append(f"{copies} copies")
    if hit.get("pending"):
        details.append("waits to be written")
    return BETWEEN_DETAILS.join(filter(None, details))


def score_text(score: float, why: "WhyJson") -> str:
    """Render a score, its terms, and the rank of the hit in each arm of the search."""
    scores = why["terms"]
    ranks = why["arms"]
    terms = "  ".join(f"{name} {score:+.2f}" for name, score in scores.items())
    arms = ", ".join(f"{name} #{rank}" for name, rank in ranks.items())
    return f"{score:.2f} = {terms}  ({arms})"
