"""What a prompt gets of a vault: the notes that always go in, the facts, and the lines that have to do with it.

The index says which notes there are and which lines may answer; what goes in is read from the files themselves, as they
stand at this moment.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

from vault_memory.context.live_notes import LiveLines, LiveNotes
from vault_memory.index import fact_queries as rows
from vault_memory.index.filters import listed
from vault_memory.index.store import Index
from vault_memory.lazy import lazy_module
from vault_memory.rules.context import assemble as rules
from vault_memory.rules.context.assemble import (
    Assembled,
    Piece,
    Quotation,
    RecalledLine,
)
from vault_memory.rules.context.quoting import one_line, quoted
from vault_memory.rules.context.rule_archive import is_archive, without_archive

if TYPE_CHECKING:
    from vault_memory.rules.conversations import statements
    from vault_memory.rules.facts import fact as facts_fact
    from vault_memory.rules.facts import relevance
    from vault_memory.search.results import Answer, Hit
else:
    statements = lazy_module("vault_memory.rules.conversations.statements")
    facts_fact = lazy_module("vault_memory.rules.facts.fact")
    relevance = lazy_module("vault_memory.rules.facts.relevance")

MORE = 30
"""Hits that are asked for beside those wanted, since some are left out"""
MOST = 240
HEADING_STEP = " › "
MAIN = "group:main"
"""The group of the workspace at the root"""
ALWAYS = ("user", "channel", "memory", "rules", "dated", "reflection")
PERSONAL_IN_MAIN = frozenset({"dated", "reflection", "transcript", "user", "rules"})
"""What in the group of the workspace at the root is its owner's own"""

OTHERS_READ = (
    "what is {name}'s own: others read the answer in a channel; `private` includes it"
)


class Ask(Protocol):
    """A search for what has to do with a text."""

    def __call__(
        self, text: str, scopes: Sequence[str], limit: int, kinds: Sequence[str] = ()
    ) -> "Answer":
        """So many hits at most in these scopes; only these kinds of notes when any is named."""
        ...


class ContextRequest(NamedTuple):
    """What a prompt is to be given."""

    prompt: str
    scopes: tuple[str, ...]
    today: date
    owner: str
    """the person of the workspace at the root"""
    briefing: bool = False
    session: str = ""
    """the conversation whose own turns are left out"""
    confirmation: str = ""
    budget: int = 0
    """characters of the whole block; 0: as long as it is"""
    dated_days: int = 3
    most_facts: int = 0
    """0: all that have to do with the prompt"""
    single: tuple[str, ...] = ()
    """predicates that have one value at a time, in any spelling"""
    most_lines: int = 10
    """recalled lines; 0: none"""
    recall_budget: int = 4_000
    whole_memory: int = 6_000
    """characters up to which a MEMORY.md goes in whole; 0: always"""
    only_excerpts: bool = False
    """of each MEMORY.md only the lines that answer the prompt, however short it is"""
    private: bool = False
    """whether the person's own memory goes in although a channel is among the scopes"""

    @property
    def people(self) -> tuple[str, ...]:
        """Whose memory this is."""
        return tuple(
            scope.partition(":")[2]
            for scope in self.scopes
            if scope.startswith("user:")
        )

    @property
    def in_shared_room(self) -> bool:
        """Whether the answer goes to a channel, whose members all read it."""
        return not self.private and any(
            scope.startswith("channel:") for scope in self.scopes
        )

    @property
    def closed_people(self) -> tuple[str, ...]:
        """Persons whose own memory is left out, because they are named beside a channel."""
        return self.people if self.in_shared_room and not self.briefing else ()

    @property
    def open(self) -> tuple[str, ...]:
        """The scopes that may go in: others read a briefing, and an answer in a channel."""
        others_read = self.briefing or self.in_shared_room
        return tuple(
            scope
            for scope in self.scopes
            if not (others_read and scope.startswith("user:"))
        )

    @property
    def fact_scopes(self) -> tuple[str, ...]:
        """The scopes whose facts may go in. In a channel, those of the workspace are its owner's own."""
        return tuple(
            scope for scope in self.open if scope != MAIN or not self.in_shared_room
        )

    def is_personal(self, kind: str, scope: str) -> bool:
        """Whether a note is one person's own, and others would read it; a page of facts may be about anybody."""
        own = scope.startswith("user:") or (scope == MAIN and kind in PERSONAL_IN_MAIN)
        if self.briefing:
            return own or kind == "facts"
        return self.in_shared_room and (own or (scope == MAIN and kind == "facts"))


def build(
    index: Index, notes: LiveNotes, wanted: ContextRequest, ask: Ask | None
) -> Assembled:
    """The block for a prompt. `ask` None: nothing is recalled."""
    cut = [("user", OTHERS_READ.format(name=name)) for name in wanted.closed_people]
    text = rules.asked(wanted.prompt)
    if not wanted.most_lines or not text.strip():
        ask = None
    quotations = list(_always(index, notes, wanted, text, ask, cut))
    quotations += _facts(index, notes, wanted, cut)
    if wanted.confirmation.strip():
        given = rules.whole_note(
            "confirmation", "", wanted.confirmation.replace("\r\n", "\n")
        )
        quotations += [given] if given else []
    if ask is not None:
        quotations += _recalled(notes, wanted, text, ask, _shown(quotations), cut)
    block = rules.assemble(quotations, wanted.budget)
    is_memory_cut = any(kind == "memory" for kind, _ in block.cut)
    if (
        is_memory_cut
        and ask is not None
        and wanted.whole_memory
        and not wanted.only_excerpts
    ):
        # cut from its end, MEMORY.md could lose just the line that was asked for
        shorter = build(index, notes, wanted._replace(only_excerpts=True), ask)
        if any(kind == "memory" for kind, _, _ in shorter.parts):
            return shorter
    cut += [(_kind_of(index, path), reason) for path, reason in notes.trouble.items()]
    return Assembled(block.text, block.parts, (*cut, *block.cut))


def _shown(quotations: Iterable[Quotation]) -> set[tuple[str, int]]:
    """What recall leaves out: notes that have their part, with line 0, and lines of pages of facts.

    The part of a long MEMORY.md has its best lines; those that rank behind them have no place among recalled lines.
    """
    return {
        (one.note, int(piece.text.partition(":")[0]) if one.kind == "facts" else 0)
        for one in quotations
        for piece in one.pieces
    }


def _kind_of(index: Index, path: str) -> str:
    row = index.connection.execute(
        "SELECT kind FROM note WHERE path = ?", (path,)
    ).fetchone()
    return str(row[0]) if row else "recalled"


def _always(
    index: Index,
    notes: LiveNotes,
    wanted: ContextRequest,
    prompt: str,
    ask: Ask | None,
    cut: list[tuple[str, str]],
) -> Iterable[Quotation]:
    """The notes that go in whatever the prompt is about."""
    in_channel = any(scope.startswith("channel:") for scope in wanted.open)
    reflected = False
    for kind, scope, day, path in _there(index, wanted):
        if (
            wanted.is_personal(kind, scope)
            or (kind == "memory" and in_channel)
            or (kind == "reflection" and reflected)
        ):
            continue
        about = {"date": day} if day else {}
        worth = float(date.fromisoformat(day).toordinal()) if day else 0.0
        text = (
            without_archive(notes.text(path)) if kind == "rules" else notes.text(path)
        )
        if kind == "memory" and (
            wanted.only_excerpts or 0 < wanted.whole_memory < len(text)
        ):
            yield from _excerpt(notes, wanted, path, prompt, ask, cut)
            continue
        if quotation := rules.whole_note(kind, path, text, worth=worth, **about):
            reflected |= kind == "reflection"
            yield quotation


def _excerpt(
    notes: LiveNotes,
    wanted: ContextRequest,
    path: str,
    prompt: str,
    ask: Ask | None,
    cut: list[tuple[str, str]],
) -> Iterable[Quotation]:
    """What of a long MEMORY.md goes in: the lines that answer the prompt; its beginning when nothing can be asked."""
    limit, page = wanted.whole_memory, notes.text(path)
    quotations: list[Quotation] = []
    if ask is None:
        whole = rules.whole_note("memory", path, page, excerpt="beginning")
        quotations = [rules.beginning(whole, limit)] if whole else []
        what = "its beginning is given"
    else:
        hits = (
            hit
            for hit in ask(prompt, wanted.open, MOST, ("memory",)).hits
            if hit.note == path
        )
        standing = ((hit, notes.standing(hit)) for hit in hits)
        lines = [_line(hit, now) for hit, now in standing if now is not None][
            : wanted.most_lines
        ]
        quotations, _ = rules.recalled(
            lines, limit, kind="memory", excerpt=rules.ANSWERING
        )
        what = (
            "the lines that answer the prompt are given"
            if quotations
            else "no line of it answers the prompt"
        )
    why = f"`[recall] whole_memory_chars` is {wanted.whole_memory:,}"
    if len(page) <= wanted.whole_memory:
        why = f"the block has room for {wanted.budget:,}"
    cut.append(("memory", f"`{path}` has {len(page):,} characters, and {why}: {what}"))
    return quotations


def _there(
    index: Index, wanted: ContextRequest
) -> list[tuple[str, str, str | None, str]]:
    """Kind, scope, day and path of the notes that may go in, the newest first."""
    ids = index.scope_ids(wanted.open)
    if not ids:
        return []
    since = (
        (wanted.today - timedelta(days=wanted.dated_days)).isoformat()
        if wanted.dated_days
        else "9999"
    )
    until = (wanted.today + timedelta(days=1)).isoformat()
    kinds = ", ".join(f"'{kind}'" for kind in ALWAYS)
    found = index.connection.execute(
        f"SELECT n.kind, s.name, n.date, n.path FROM note n JOIN scope s ON s.id = n.scope"
        f" WHERE n.scope IN {listed(ids)} AND n.kind IN ({kinds}) AND (n.kind <> 'dated' OR n.date BETWEEN ? AND ?)",
        (since, until),
    )
    order = {scope: at for at, scope in enumerate(wanted.open)}
    by_scope = sorted(found, key=lambda row: (order[row[1]], row[3]))
    return sorted(by_scope, key=lambda row: row[2] or "", reverse=True)


def _facts(
    index: Index, notes: LiveNotes, wanted: ContextRequest, cut: list[tuple[str, str]]
) -> Iterable[Quotation]:
    """The person's own facts, and those about whom or what the prompt names."""
    ids = index.scope_ids(wanted.fact_scopes)
    if not rows.has_facts(index.connection, ids):
        return []
    people = {facts_fact.folded(name) for name in wanted.people}
    if wanted.briefing:
        people = _by_all_names(
            index, wanted, {*people, facts_fact.folded(wanted.owner)}
        )
    keys = rows.entities_in(
        index.connection, ids, relevance.Prompt(rules.asked(wanted.prompt))
    )
    if wanted.briefing:
        keys -= people
    elif not wanted.in_shared_room:
        keys |= people
    by_scope: dict[str, list[tuple[str, facts_fact.Fact]]] = {}
    for path, fact in rows.facts_about(index.connection, ids, keys):
        by_scope.setdefault(fact.scope, []).append((path, fact))
    paths = {fact: path for found in by_scope.values() for path, fact in found}
    single = frozenset(map(facts_fact.snake_case, wanted.single))
    holding = [
        fact
        for found in by_scope.values()
        for fact in facts_fact.current([one for _, one in found], wanted.today, single)
    ]
    about = [
        fact
        for fact in holding
        if not keys.isdisjoint(
            (facts_fact.folded(fact.subject), facts_fact.folded(fact.object))
        )
    ]
    if wanted.briefing:
        about = [
            fact
            for fact in about
            if people.isdisjoint(
                (facts_fact.folded(fact.subject), facts_fact.folded(fact.object))
            )
        ]
    ranked = sorted(
        relevance.relevant(about, ""),
        key=lambda fact: facts_fact.folded(fact.subject) not in people,
    )
    standing = [
        (fact, paths[fact], line)
        for fact in ranked
        if (line := notes.line_of(paths[fact], fact.subject, fact.text))
    ]
    if wanted.most_facts and len(standing) > wanted.most_facts:
        cut.append(
            (
                "facts",
                f"{len(standing) - wanted.most_facts} more: `max_knowledge_facts` is {wanted.most_facts}",
            )
        )
        standing = standing[: wanted.most_facts]
    pages: dict[str, list[Piece]] = {}
    for rank, (fact, path, line) in enumerate(standing):
        [text] = quoted([one_line(f"{fact.subject} · {fact.line()}")])
        pages.setdefault(path, []).append(Piece(f"{line}: {text}", -float(rank)))
    return [Quotation("facts", path, tuple(pieces)) for path, pieces in pages.items()]


def _by_all_names(index: Index, wanted: ContextRequest, people: set[str]) -> set[str]:
    """The folded names of people, with those that they are also known by."""
    pairs = rows.aliases(index.connection, index.scope_ids(wanted.scopes))
    meant = {
        entity for pair in pairs if not people.isdisjoint(pair) for entity in pair[1:]
    }
    return people | meant | {alias for alias, entity in pairs if entity in meant}


def _recalled(
    notes: LiveNotes,
    wanted: ContextRequest,
    text: str,
    ask: Ask,
    shown: set[tuple[str, int]],
    cut: list[tuple[str, str]],
) -> Iterable[Quotation]:
    """The lines that have to do with the prompt, as far as they still stand where they were found."""
    lines: list[RecalledLine] = []
    limit = wanted.most_lines + MORE
    while True:
        hits, gone = ask(text, wanted.open, limit).hits, 0
        lines.clear()
        for hit in hits:
            is_shown = not shown.isdisjoint(((hit.note, 0), (hit.note, hit.lines[0])))
            if is_shown or wanted.is_personal(hit.kind, hit.scope) or _is_archived(hit):
                continue
            standing = notes.standing(hit)
            if standing is None:
                gone += 1
            elif _is_news(hit, standing, wanted, text):
                lines.append(_line(hit, standing))
            if len(lines) == wanted.most_lines:
                break
        if len(lines) == wanted.most_lines or len(hits) < limit or limit >= MOST:
            break
        limit *= 2
    quotations, left_out = rules.recalled(lines, wanted.recall_budget)
    if gone:
        cut.append(("recalled", f"{gone} of them no longer stand in their notes"))
    if left_out:
        cut.append(
            (
                "recalled",
                f"{left_out} more: `[recall] budget` is {wanted.recall_budget:,} characters",
            )
        )
    return quotations


def _is_archived(hit: "Hit") -> bool:
    """Whether a line is a rule that holds no more: a model would follow it."""
    return hit.kind == "rules" and any(map(is_archive, hit.heading))


def _is_news(
    hit: "Hit", standing: LiveLines, wanted: ContextRequest, text: str
) -> bool:
    """Whether a line is not of the conversation itself, nor the prompt once more, nor an empty answer."""
    if hit.kind != "transcript":
        return True
    if statements.is_empty_answer(hit.text):
        return False
    own = wanted.session and standing.session == wanted.session
    return not own and " ".join(standing.text.split()) not in (
        " ".join(text.split()),
        " ".join(wanted.prompt.split()),
    )


def _line(hit: "Hit", standing: LiveLines) -> RecalledLine:
    heading = HEADING_STEP.join(hit.heading) if hit.kind != "transcript" else ""
    place = (hit.note, standing.first, standing.last, hit.date or "")
    return RecalledLine(*place, standing.origin, heading, standing.text, hit.score)
