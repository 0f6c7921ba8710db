"""`search`: asks the daemon with its warm model, or searches in this process."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli import screen as screens
from vault_memory.cli import search_text
from vault_memory.cli.daemon_or_local import answer_search
from vault_memory.cli.options import Context, NamedScopes, common, named_scopes, private, scoped
from vault_memory.cli.rendering import print_freshness, print_unknown_scopes, print_unsearched
from vault_memory.cli.search_text import (
    BETWEEN_DETAILS,
    details_of,
    left_out_texts,
    place_of,
    score_text,
)
from vault_memory.cli.terminal import escaped, styled
from vault_memory.contract import MOST_HITS, introductions
from vault_memory.errors import UsageError
from vault_memory.rules.search.tokens import folded, is_run, terms
from vault_memory.search import filter_values

if TYPE_CHECKING:
    from vault_memory.cli.screen import Screen
    from vault_memory.contract.answers import HitJson, SearchAnswerJson
    from vault_memory.search.calls import SearchOptions


def _not_empty(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    # Fault: an empty variable of a script would search all text.
    if value is not None and not value.strip():
        option = parameter.opts[0]
        raise UsageError(f"`{option}` needs a name", hint=f"leave `{option}` out for all notes")
    return value


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--topic",
    metavar="WORD",
    callback=_not_empty,
    help="Only chunks of this topic, or without a topic.",
)
@click.option(
    "--entity",
    metavar="NAME",
    callback=_not_empty,
    help="Only chunks that name this person or thing.",
)
@click.option(
    "--since",
    metavar="DATE",
    help="Only chunks of this day or later: 2026-01-31, 2026-01, `yesterday`, `last week`.",
)
@click.option("--until", metavar="DATE", help="Only chunks of this day or earlier.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only notes of this kind, such as `dated` or `facts` (repeatable).",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Only notes with this tag or a nested one, such as `TAG/sub` (repeatable).",
)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only notes with this field of front matter; KEY alone: any value (repeatable).",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="GLOB",
    help="Only notes below this path; `*` and `**` are globs (repeatable: any of them).",
)
@click.option(
    "--mode",
    metavar="MODE",
    help="How to rank: balanced, keyword, semantic or rrf; or recent, important, historical, "
    "comprehensive or general.",
)
@click.option(
    "--limit", type=click.IntRange(1, MOST_HITS), metavar="N", help="Maximum number of hits."
)
@click.option("--session", metavar="ID", help="Leave out the turns of this conversation.")
@click.option(
    "--why",
    is_flag=True,
    help="Show how each score is made up, and how many hits each filter removed.",
)
@click.option(
    "--archived",
    is_flag=True,
    help="Include items that have faded, and show the state of each hit.",
)
@click.option("--copies", is_flag=True, help="Show lines that say the same as hits of their own.")
@private
@scoped
@common
@click.pass_obj
def search(
    context: Context, /, query: tuple[str, ...], scopes: NamedScopes, private: bool, **filters: Any
) -> None:
    """Find the lines that answer QUERY, best first.

    QUERY is some words, a question or a complete prompt, in any language. Without a daemon
    the command first reads the changed notes, and then searches by keywords.

    With --channel the answer is for all in the channel: it has a person's own notes only
    with --user and --private.

    \b
    Examples:
      vault-memory search "where is the spare key of the lighthouse?"
      vault-memory search allergy --user mira --kind facts
    """
    chosen = {name: value for name, value in filters.items() if value}
    # The daemon may get the request after midnight, or know no words for days.
    if "since" in chosen:
        chosen["since"] = filter_values.first_day(chosen["since"], "--since", context.now)
    if "until" in chosen:
        chosen["until"] = filter_values.last_day(chosen["until"], "--until", context.now)
    options: SearchOptions = {"now": context.now, **chosen}  # type: ignore[typeddict-item]
    # Others read the answer in a channel, so a name alone does not open a person's own notes.
    is_closed = bool(scopes.channels) and not private
    users = () if is_closed else scopes.users
    names = named_scopes(users, scopes.channels, scopes.groups)
    text = " ".join(query)
    if not text.strip():
        raise UsageError(
            "the query is empty",
            hint='write what you look for, such as `vault-memory search "spare key"`',
        )
    answer = answer_search(context, text, names, options)
    context.emit(
        answer,
        lambda: search_text.hits_text(answer, _unpainted),
        view=lambda screen: hits_view(answer, text, screen),
    )
    if not (context.json or answer["hits"] or search_text.has_words(text)):
        context.say("the query has no words: write what you look for in letters")
    if is_closed:
        for name in scopes.users:
            context.say(search_text.closed_text(name))
    print_unknown_scopes(context, answer)
    print_unsearched(context, answer)
    print_freshness(context, answer["freshness"])


def _unpainted(text: str, style: str) -> str:
    return text


GAP = "  "
_BLOCK = re.compile(r"\s*([-*+>#]|\d+[.)]\s|$)")
_KEPT_LINES = ("```", "~~~", "|")
_LIST_MARKS = ("- ", "* ", "+ ")
_WORD = re.compile(r"\w+")
_NOTHING = re.compile(r"(?!)")
SHORTEST_BEGINNING = 4
"""Letters that two words must share from the first on, to be forms of one word"""
LONGEST_ENDING = 3
"""Letters that one form of a word may have more than another"""


def hits_view(answer: "SearchAnswerJson", query: str, screen: "Screen") -> str:
    """Return the hits, and the number of hits that each filter removed."""
    mark = marker(query, lambda word: styled(word, bold=True))
    blocks = ["\n".join(_hit_lines(hit, mark, screen)) for hit in answer["hits"]]
    blocks = [*introductions(answer), *(blocks or ["nothing found"]), *left_out_texts(answer)]
    # A remark on stderr must not look like a line of the last hit.
    end = "\n" if answer["hits"] else ""
    return "\n\n".join(blocks) + end


def _hit_lines(hit: "HitJson", mark: Callable[[str], str], screen: "Screen") -> Iterator[str]:
    place = escaped(place_of(hit))
    details = escaped(details_of(hit, screens.time_text(hit["date"], screen)))
    painted_place = styled(place, fg="cyan")
    # The place stays on a line of its own where both do not fit.
    if screens.cells(place) + len(GAP) + screens.cells(details) <= screen.prose:
        yield painted_place + GAP + styled(details, dim=True)
    else:
        yield painted_place
        texts = details.split(BETWEEN_DETAILS)
        lines = screens.wrapped_cells(texts, screen.prose, gap=BETWEEN_DETAILS, first=GAP)
        for line in lines:
            yield styled(line, dim=True)
    # The lines are marked when they are broken: marks have no width.
    for line in _paragraphs(hit["text"]):
        yield from map(mark, text_lines(line, screen))
    why = hit.get("why")
    if why:
        reasons = escaped(f"why: {score_text(hit['score'], why)}")
        # A term stays beside its number.
        for line in screens.wrapped_cells(reasons.split(GAP), screen.prose, first=GAP):
            yield styled(line, dim=True)


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a note; a line that continues an item or a paragraph is joined to it."""
    lines = text.splitlines()
    # The line ends of a code block and of a table are part of its meaning.
    if any(line.lstrip().startswith(_KEPT_LINES) for line in lines):
        return lines
    joined: list[str] = []
    for line in lines:
        before = joined[-1] if joined else ""
        begins_block = _BLOCK.match(line) is not None
        if begins_block or not before.strip() or before.startswith("#"):
            joined.append(line)
        else:
            joined[-1] = f"{before.rstrip()} {line.strip()}"
    return joined


def text_lines(line: str, screen: "Screen") -> list[str]:
    """Return a line of a note in lines that fit; those of a list item hang under its text."""
    plain = escaped(line).replace("\t", GAP)
    text = plain.lstrip(" ")
    depth = len(plain) - len(text)
    if text.startswith(_LIST_MARKS):
        depth += len(GAP)
    following = GAP + " " * min(depth, screen.prose // 4)
    return screens.wrapped(plain, screen.prose, first=GAP, indent=following)


# --- Matched words ---


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that marks the words of the query, and their other forms, in a text."""
    query_terms = terms(query)
    plain_terms = [folded(term).strip() for term in query_terms]
    pairs = _pairs_pattern(query_terms)

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        # A script without blanks: only some letters of such a run match.
        if is_run(word):
            return pairs.sub(lambda letters: mark(letters[0]), word)
        plain = folded(word).strip()
        is_match = any(_is_form(plain, term) for term in plain_terms)
        return mark(word) if is_match else word

    return lambda text: _WORD.sub(marked, text)


def _is_form(word: str, term: str) -> bool:
    """Return whether two words differ at most in their ending, as `lamp` and `lamps`."""
    longest = max(len(word), len(term))
    # Fault: short words that begin alike, as `key` and `keel`, are different words.
    beginning = max(SHORTEST_BEGINNING, longest - LONGEST_ENDING)
    return word[:beginning] == term[:beginning]


def _pairs_pattern(query_terms: list[str]) -> re.Pattern[str]:
    """Return a pattern of the letters in a run that belong to a pair of the query."""
    pairs = [term for term in query_terms if is_run(term)]
    if not pairs:
        return _NOTHING
    choices = "|".join(map(_pair_pattern, pairs))
    return re.compile(f"(?:{choices})+")


def _pair_pattern(pair: str) -> str:
    # Pairs overlap, so each of the two letters is matched by itself.
    first, last = re.escape(pair[:1]), re.escape(pair[1:])
    if not last:
        return first
    return f"{first}(?={last})|(?<={first}){last}"
