"""Search and prompt: the lines that answer a question, and the block that a bot gets for it."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from markupsafe import Markup

from vault_memory.addons.page.note_html.hidden_letters import visible
from vault_memory.addons.page.page_answers import NotHere, PageView, page_path
from vault_memory.addons.page.viewer import Viewer
from vault_memory.addons.page.wording import days_named, note_title, person, whose
from vault_memory.context.calls import PURPOSES, ContextOptions
from vault_memory.contract import Purpose, SearchedKind
from vault_memory.errors import UsageError
from vault_memory.markdown.note_items import short_hash
from vault_memory.rules.context.assemble import GAP
from vault_memory.rules.edits.record_sentences import words_of
from vault_memory.rules.facts.fact import read_fact
from vault_memory.rules.paths.scopes import Caller
from vault_memory.rules.search import tokens
from vault_memory.search.calls import SearchOptions
from vault_memory.search.matched_words import MatchedWords

if TYPE_CHECKING:
    from vault_memory.contract.answers import ContextBlockJson, HitJson, SearchAnswerJson


ANSWERS = "Answers"
EARLIER = "Earlier"
"""Facts that have ended"""
NEAREST = "Nearest in meaning"
MOST_NOTES = 10
"""Of a view"""
LONGEST = 240
"""Letters of a line"""
STEP = " › "
"""Between the headings above a hit"""
_WORD = re.compile(r"""[^\s!"$-&(-*,./:-@\[-`{-~‐-‘“-⁞]+""")
"""Letters, digits, and the signs of `C++`, `C#` and `lock-keeper's`"""
MOST_HITS = 100
MOST_LINES = 3
"""Of a note among others"""
DAYS = {"week": 7, "month": 31}
"""Time of the form → how many days that are"""
TITLES = {
    "user": "Profile",
    "channel": "Channel",
    "memory": "Memory",
    "facts": "Facts",
    "rules": "Rules",
    "dated": "Last days",
    "episode": "Episodes",
    "reflection": "Last days",
    "recalled": "Recalled",
    "transcript": "What was said",
    "note": "Other notes",
    "canvas": "Canvases",
    "document": "Documents",
    "confirmation": "To confirm",
    "all": "Everything",
}
"""Kind of a note, or of a part of a block → what the page calls it"""


class SearchFields(msgspec.Struct):
    """The fields of `/search`."""

    q: str = ""
    whose: str = ""
    """as the page names a scope"""
    kind: str = ""
    time: Literal["", "week", "month", "year"] = ""
    since: str = ""
    until: str = ""
    entity: str = ""
    note: str = ""
    """the only note that is shown, with all of its lines"""
    start: Annotated[int, msgspec.Meta(ge=0)] = 0
    """how many notes are before the first one that is shown"""


def show_search(viewer: Viewer, query: SearchFields) -> PageView:
    fields = msgspec.to_builtins(query)
    data: dict[str, Any] = {
        "query": query,
        "owners": sorted(set(map(whose, viewer.scopes))),
        "kinds": get_args(SearchedKind),
        "titles": TITLES,
        "search_path": partial(page_path, "/search", **fields | {"start": "", "note": ""}),
    }
    if query.q.strip():
        data |= _found(viewer, query)
    return PageView("search.html", "Search", data)


def _found(viewer: Viewer, query: SearchFields) -> dict[str, Any]:
    """Returns what a search found, and which part of it is shown."""
    scopes = [scope for scope in viewer.scopes if query.whose in ("", whose(scope))]
    # Without a scope nothing is found: a name outside of the session is one without notes.
    answer = viewer.search(query.q, _search_options(query), scopes)
    words = MatchedWords(query.q)
    notes = search_cards(answer, words)
    end = query.start + MOST_NOTES
    if query.note:
        notes = [note for note in notes if note.lines[0].hit["note"] == query.note]
    return {
        "answer": answer,
        "mark": partial(marked, words=words),
        "has_answers": any(note.group != NEAREST for note in notes),
        "notes": notes[query.start : end],
        "end": end,
        "total": len(notes),
        "most_lines": None if query.note else MOST_LINES,
    }


def _search_options(query: SearchFields) -> SearchOptions:
    # Fault: each word typed into the page would keep items alive that the bot never reads.
    return SearchOptions(
        limit=MOST_HITS,
        kinds=(query.kind,) if query.kind else (),
        since=query.since or _first_day(query.time) or None,
        until=query.until or None,
        entity=query.entity or None,
        why=True,
        preview=True,
    )


def _first_day(time: str) -> str:
    """Returns the first day of a time, ISO 8601; empty for any time."""
    today = date.today()
    if time in DAYS:
        return str(today - timedelta(DAYS[time]))
    return f"{today.year}-01-01" if time else ""


# --- Cards ---


class MatchedLine(NamedTuple):
    """A line of a note that a search found."""

    hit: "HitJson"
    text: str
    """what it says"""
    below: str
    """the heading above it; empty for a fact, which names its subject"""
    key: str
    """names the line in the view of its note"""
    has_words: bool
    """whether it, its heading or its note has a word, a name or a day of the query"""


class SearchCard(NamedTuple):
    """A note with the lines that a search found, the best first."""

    group: str
    lines: list[MatchedLine]


def search_cards(answer: "SearchAnswerJson", words: MatchedWords) -> list[SearchCard]:
    """Returns the notes in the order of their best lines. Ended facts are a note of their own."""
    by_note: dict[tuple[str, bool], list[MatchedLine]] = {}
    for hit in answer["hits"]:
        by_note.setdefault((hit["note"], "ended" in hit), []).append(_line(hit, words))
    all_lines = chain.from_iterable(by_note.values())
    has_words = "unsure" not in answer and any(line.has_words for line in all_lines)
    notes = (_note(ended, lines, has_words) for (_, ended), lines in by_note.items())
    ranked = enumerate(note for note in notes if note.lines)
    return [note for rank, note in ranked if rank < MOST_NOTES or note.group != NEAREST]


def _note(ended: bool, lines: list[MatchedLine], has_words: bool) -> SearchCard:
    with_words = [line for line in lines if has_words and line.has_words]
    # Beside a line with a word are lines that have neither the word nor its meaning.
    near = [line for line in lines if not has_words or "vector" in line.hit["why"]["arms"]]
    group = EARLIER if ended else ANSWERS if with_words else NEAREST
    return SearchCard(group, with_words or near)


def _line(hit: "HitJson", words: MatchedWords) -> MatchedLine:
    heading = hit["heading"].rpartition(STEP)[2]
    item = " ".join(hit["text"].partition(" ")[2].split())
    fact = read_fact(item, heading) if hit["kind"] == "facts" else None
    if fact:
        text = f"{person(fact.subject)} {fact.predicate.replace('_', ' ')} {fact.object}"
    else:
        text = " ".join(words_of(line.encode(errors="replace")) for line in hit["text"].split("\n"))
    # The heading of a transcript is the id of a conversation.
    below = "" if fact or hit["kind"] == "transcript" else days_named(heading)
    has_words = words.are_in(f"{text} {below} {note_title(hit['note'])}")
    return MatchedLine(
        hit,
        days_named(text),
        below,
        short_hash(hit["note"], heading, item),
        has_words or not {"date", "entity"}.isdisjoint(hit["why"]["arms"]),
    )


def marked(text: str, words: MatchedWords) -> Markup:
    """Returns a text as HTML in which these words are marked, cut around the first of them."""
    text = visible(text)
    flags = _flags(text, words)
    first = flags.find(True)
    start = 0
    if first > LONGEST - LONGEST // 4:
        start = text.rfind(" ", 0, first - LONGEST // 4) + 1 or first
    excerpt = range(start, min(start + LONGEST, len(text)))
    fragments = ["…"] if start else []
    for is_marked, places in groupby(excerpt, flags.__getitem__):
        letters = "".join(map(text.__getitem__, places))
        fragments.append(Markup("<mark>{}</mark>").format(letters) if is_marked else letters)
    if len(text) > excerpt.stop:
        fragments.append("…")
    return Markup().join(fragments)


def _flags(text: str, words: MatchedWords) -> bytearray:
    """Returns for each letter whether it is of one of these words."""
    flags = bytearray(len(text))
    # Most lines have none of the words.
    for word in _WORD.finditer(text) if words.are_in(text) else ():
        start = word.start()
        for is_run, letters in groupby(word[0], tokens.is_run):
            run = "".join(letters)
            for place, token in enumerate(tokens.pairs(run) if is_run else [run], start):
                if words.are_in(token):
                    length = 1 if is_run and words.are_in(token[0]) else len(token)
                    flags[place : place + length] = b"\1" * length
            start += len(run)
    return flags


# --- Prompt ---


class PromptFields(msgspec.Struct):
    """The fields of `/prompt`."""

    prompt: str = ""
    user: str = ""
    channel: str = ""
    purpose: Purpose = "chat"
    budget: str = ""
    session: str = ""
    automatic: bool = False
    """as a hook asks"""


def show_prompt(viewer: Viewer, query: PromptFields) -> PageView:
    people = viewer.people()
    channels = viewer.names("channel")
    user = _chosen(query.user, people) or next(iter(people), "")
    channel = _chosen(query.channel, channels) or ("" if user else next(iter(channels), ""))
    options = _options(query)
    data = {
        "query": query,
        "people": people,
        "channels": channels,
        "user": user,
        "channel": channel,
        "purposes": PURPOSES,
        "titles": TITLES,
        "budget": viewer.block_budget() if options["budget"] is None else options["budget"],
    }
    if user or channel:
        # A channel needs no person: all its members get the same block.
        scopes = viewer.readable_by(Caller(user or channel, channel))
        block = viewer.vault.ask("context", query.prompt, scopes, options)
        data |= {
            "block": block,
            "block_parts": list(_parts(block)),
            "notes": sum(note.scope in scopes for note in viewer.calls.notes()),
        }
    return PageView("prompt.html", "Prompt", data)


def _chosen(name: str, names: list[str]) -> str:
    """Returns a name of the form. Raises NotHere for a name that the session does not see."""
    # Fault: without this check, a channel of others would be left out, and the block
    # would be that of a private talk.
    if name and name not in names:
        raise NotHere(f"there are no notes of {name!r}", hint="choose a name of the list")
    return name


def _options(query: PromptFields) -> ContextOptions:
    return ContextOptions(
        purpose=query.purpose,
        budget=_budget(query.budget.strip()),
        session=query.session.strip() or None,
        automatic=query.automatic,
        preview=True,
    )


def _budget(text: str) -> int | None:
    if not text:
        return None
    # Fault: `isdecimal` alone is true for digits of other scripts, and `int` refuses
    # thousands of digits.
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(
            "a budget is a number of characters",
            hint="write a number such as 8000; 0 sets no limit",
        )
    return int(text)


def _parts(block: "ContextBlockJson") -> Iterator[tuple[str, str]]:
    """Yields the parts that make up a block, each with its title and the blank line behind it."""
    text = block["text"]
    start = text.find(f"{GAP}<vault-memory ") + len(GAP)
    if text:
        yield "Introduction", text[:start]
    for title, group in groupby(block["parts"], lambda quotation: TITLES[quotation["kind"]]):
        end = start + sum(quotation["chars"] + len(GAP) for quotation in group)
        yield title, text[start:end]
        start = end
