"""Gathers the memory block of a prompt: notes that always go in, facts, and recalled lines.

The index says which notes exist and which lines may answer the prompt. The quoted text comes
from the files, as they are at this moment.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from vault_memory.context import last_episode, memory_notes
from vault_memory.context.blocks import Ask, ContextRequest
from vault_memory.context.live_notes import LiveLines, LiveNotes
from vault_memory.index import fact_queries, note_queries
from vault_memory.index.note_queries import DatedNote
from vault_memory.index.store import Index
from vault_memory.rules.context import assemble
from vault_memory.rules.context.assemble import Assembled, LineGroup, Quotation, RecalledLine
from vault_memory.rules.context.quoting import one_line, quoted
from vault_memory.rules.context.rule_archive import is_archive, without_archive
from vault_memory.rules.conversations import statements
from vault_memory.rules.facts import fact as facts_fact
from vault_memory.rules.facts import relevance

if TYPE_CHECKING:
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.search.results import Hit

RECALLED_CHARS = 4_000
"""Longest recalled lines, together"""
EXTRA_HITS = 30
"""Hits to request beyond the lines that go in, because some hits are left out"""

ALWAYS = ("user", "channel", "memory", "rules", "dated", "reflection")
NO_DAY = "9999"
"""Sorts after every date"""

OTHERS_READ = "what is {name}'s own: others read the answer in a channel; `private` includes it"


def build(
    index: Index,
    notes: LiveNotes,
    request: ContextRequest,
    ask: Ask | None,
    read: "list[Hit] | None" = None,
) -> Assembled:
    """Builds the block for a prompt. With `ask` None nothing is recalled.

    Adds to `read` the recalled hits of the block that fade.
    """
    gatherer = _Gatherer(index, notes, request, ask)
    block = assemble.assemble(gatherer.quotations(), request.budget)
    cut_kinds = {kind for kind, _ in block.cut}
    if "memory" in cut_kinds and gatherer.may_shorten_memory:
        # The budget cuts MEMORY.md from its end, where the line that answers may be.
        excerpts = request._replace(only_excerpts=True)
        shorter = build(index, notes, excerpts, gatherer.ask, read)
        if any(kind == "memory" for kind, _, _ in shorter.lengths):
            return shorter
    if read is not None:
        read += [hit for text, hit in gatherer.fading if text in block.text]
    unreadable = [(_kind_of(index, path), reason) for path, reason in notes.unreadable.items()]
    omitted = (*gatherer.omitted, *unreadable, *block.cut)
    return Assembled(block.text, block.lengths, omitted)


def _kind_of(index: Index, path: str) -> str:
    # Another process may remove the note from the index while the block is built.
    return note_queries.kind_of(index, path) or "recalled"


class _Gatherer:
    """Collects the quotations of one block. `omitted` says what was left out, and why."""

    def __init__(
        self, index: Index, notes: LiveNotes, request: ContextRequest, ask: Ask | None
    ) -> None:
        self._index = index
        self._notes = notes
        self._request = request
        self._query = assemble.without_chat_prefixes(request.prompt)
        can_recall = request.most_lines and self._query.strip()
        self.ask = ask if can_recall else None
        """None when there is nothing to look up"""
        self._episode_text = ""
        self.fading: list[tuple[str, Hit]] = []
        """recalled lines of items that fade, as they would be quoted"""
        self.omitted = [("user", OTHERS_READ.format(name=name)) for name in request.closed_people]

    @property
    def may_shorten_memory(self) -> bool:
        """Whether excerpts of MEMORY.md can replace the complete note."""
        request = self._request
        return self.ask is not None and request.memory_budget > 0 and not request.only_excerpts

    def quotations(self) -> list[Quotation]:
        """Returns all quotations; `assemble` puts them in order."""
        quotations = [*self._always(), *self._episode(), *self._facts(), *self._confirmation()]
        if self.ask is not None:
            quotations += self._recalled(self.ask, _quoted_places(quotations))
        return quotations

    def _episode(self) -> list[Quotation]:
        """Quotes the newest summary of a conversation, at the first turn of another one."""
        quotation = last_episode.quotation(self._index, self._notes, self._request, self._query)
        if quotation is None:
            return []
        self._episode_text = "\n".join(group.text for group in quotation.groups)
        return [quotation]

    def _confirmation(self) -> list[Quotation]:
        """Quotes the task that the user has just confirmed. Its text comes from the caller."""
        text = self._request.confirmation.replace("\r\n", "\n")
        quotation = assemble.whole_note("confirmation", "", text)
        return [quotation] if quotation else []

    # ---- notes that always go in -------------------------------------------------------------

    def _always(self) -> Iterator[Quotation]:
        """Yields the notes that go in for every prompt; of the reflections only the latest."""
        has_reflection = False
        rows = self._note_rows()
        paths = [row.path for row in rows if row.kind == "memory"]
        if paths:
            memory = memory_notes.MemoryNotes(self._notes, self._request, self.ask, self._query)
            yield from memory.quotations(paths)
            self.omitted += memory.omitted
        for row in rows:
            if row.kind == "memory" or (row.kind == "reflection" and has_reflection):
                continue
            for quotation in self._note_quotations(row):
                has_reflection |= row.kind == "reflection"
                yield quotation

    def _note_quotations(self, row: DatedNote) -> list[Quotation]:
        text = self._notes.marked_text(row.path)
        # Fault: a model would follow a rule of the archive, which is no longer valid.
        if row.kind == "rules":
            text = without_archive(text)
        about: dict[str, str] = {}
        worth = 0.0
        if row.day:
            about["date"] = row.day
            worth = float(date.fromisoformat(row.day).toordinal())
        quotation = assemble.whole_note(row.kind, row.path, text, worth=worth, **about)
        return [quotation] if quotation else []

    def _note_rows(self) -> list[DatedNote]:
        """Lists the notes that always go in, the newest first."""
        request = self._request
        scope_ids = self._index.scope_ids(request.open)
        if not scope_ids:
            return []
        since = NO_DAY
        if request.dated_days:
            since = (request.today - timedelta(days=request.dated_days)).isoformat()
        # Fault: a note may have the date of tomorrow in another time zone. Notes of later days are
        # no memory yet.
        until = (request.today + timedelta(days=1)).isoformat()
        notes = note_queries.notes_of_kinds(self._index, scope_ids, ALWAYS, (since, until))
        rows = [row for row in notes if self._may_go_in(row)]
        order = {scope: position for position, scope in enumerate(request.open)}
        # Sorts are stable: notes of the same day keep the order of the scopes and paths.
        rows.sort(key=lambda row: (order[row.scope], row.path))
        rows.sort(key=lambda row: row.day or "", reverse=True)
        return rows

    def _may_go_in(self, row: DatedNote) -> bool:
        # Fault: other people read the block.
        if self._request.is_personal(row.kind, row.scope):
            return False
        # The MEMORY.md of a workspace is not for the members of a channel.
        in_channel = any(scope.startswith("channel:") for scope in self._request.open)
        return not (in_channel and row.kind == "memory")

    # ---- facts -------------------------------------------------------------------------------

    def _facts(self) -> list[Quotation]:
        """Quotes the person's own facts, and those about the entities that the prompt names."""
        request = self._request
        scope_ids = self._index.scope_ids(request.fact_scopes)
        if not fact_queries.has_facts(self._index, scope_ids):
            return []
        people = self._people()
        keys = self._entity_keys(scope_ids, people)
        pairs = fact_queries.facts_about(self._index, scope_ids, keys)
        paths = {fact: path for path, fact in pairs}
        # Fault: among the keys of `paths` a line that a person wrote again has its first place.
        valid = self._valid_facts(fact for _, fact in pairs)
        facts = [fact for fact in valid if _mentions(fact, keys)]
        if request.briefing:
            # Others read a briefing: a fact about a contact may still name the person.
            facts = [fact for fact in facts if not _mentions(fact, people)]
        latest_first = relevance.relevant(facts, "")

        def is_foreign(fact: "Fact") -> bool:
            return facts_fact.folded(fact.subject) not in people

        return self._fact_quotations(sorted(latest_first, key=is_foreign), paths)

    def _people(self) -> set[str]:
        """Returns the folded names of the persons; in a briefing all their names."""
        request = self._request
        people = {facts_fact.folded(name) for name in request.people}
        if not request.briefing:
            return people
        people.add(facts_fact.folded(request.owner))
        pairs = fact_queries.aliases(self._index, self._index.scope_ids(request.scopes))
        entities = {entity for alias, entity in pairs if alias in people or entity in people}
        aliases = {alias for alias, entity in pairs if entity in entities}
        return people | entities | aliases

    def _entity_keys(self, scope_ids: Sequence[int], people: set[str]) -> set[str]:
        """Returns the folded names of the entities whose facts may go in."""
        request = self._request
        prompt = relevance.PromptWords(self._query)
        keys = fact_queries.entities_in(self._index, scope_ids, prompt)
        if request.briefing:
            return keys - people
        return keys if request.in_shared_room else keys | people

    def _valid_facts(self, facts: Iterable["Fact"]) -> Iterator["Fact"]:
        """Yields the facts that are valid today, each scope by itself."""
        by_scope: dict[str, list[Fact]] = {}
        for fact in facts:
            # Fault: a fact of one scope must not replace that of another one.
            by_scope.setdefault(fact.scope, []).append(fact)
        for group in by_scope.values():
            yield from facts_fact.current(group, self._request.today, self._request.single)

    def _fact_quotations(
        self, facts: Iterable["Fact"], paths: dict["Fact", str]
    ) -> list[Quotation]:
        """Quotes the facts that are still on their pages, as many as the limit allows."""
        lines: list[tuple[Fact, int]] = []
        for fact in facts:
            line = self._notes.line_of(paths[fact], fact.subject, fact.text)
            # 0: a person removed the fact after the index read its page.
            if line:
                lines.append((fact, line))
        limit = self._request.most_facts or len(lines)
        surplus = len(lines) - limit
        if surplus > 0:
            reason = f"{surplus} more: `max_knowledge_facts` is {limit}"
            self.omitted.append(("facts", reason))
        pages: dict[str, list[LineGroup]] = {}
        values = relevance.unclear_values(fact for fact, _ in lines)
        for rank, (fact, line) in enumerate(lines[:limit]):
            shown = relevance.shown_line(fact, values)
            # Fault: a fact with a line break would leave its quotation and look like text of the
            # host.
            mark = self._notes.mark_of(paths[fact], fact.text)
            [text] = quoted([one_line(f"{mark}{fact.subject} · {shown}")])
            group = LineGroup(f"{line}: {text}", worth=-float(rank))
            pages.setdefault(paths[fact], []).append(group)
        return [Quotation("facts", path, tuple(groups)) for path, groups in pages.items()]

    # ---- recalled lines ----------------------------------------------------------------------

    def _recalled(self, ask: Ask, places: set[tuple[str, int]]) -> list[Quotation]:
        """Quotes the lines related to the prompt that are still in their notes.

        `places` are in the block already. Asks for more hits until enough lines remain.
        """
        request = self._request
        limit = request.most_lines + EXTRA_HITS
        while True:
            hits = ask(self._query, request.open, limit).hits
            lines, questions, missing = self._current_lines(hits, places)
            is_enough = len(lines) == request.most_lines
            is_all = len(hits) < limit
            if is_enough or is_all or limit >= memory_notes.MOST_HITS:
                break
            limit *= 2
        places_of_lines = {line.place for line in lines}
        # Fault: what the person said before the answer may be a recalled line itself.
        lines += [line for line in questions if line.place not in places_of_lines]
        quotations, surplus = assemble.recalled(lines, RECALLED_CHARS)
        if missing:
            reason = f"{missing} of them no longer stand in their notes"
            self.omitted.append(("recalled", reason))
        if surplus:
            reason = f"{surplus} more: the lines have {RECALLED_CHARS:,} characters at most"
            self.omitted.append(("recalled", reason))
        return quotations

    def _current_lines(
        self, hits: Iterable["Hit"], places: set[tuple[str, int]]
    ) -> tuple[list[RecalledLine], list[RecalledLine], int]:
        """Returns the lines of the hits that may go in, with the questions that they answer.

        Counts the lines that left their notes.
        """
        lines: list[RecalledLine] = []
        questions: list[RecalledLine] = []
        has_bot_turn = False
        missing = 0
        for hit in hits:
            if not self._may_recall(hit, places):
                continue
            current = self._notes.current_lines(hit)
            if current is None:
                # Someone edited the note after the index read it.
                missing += 1
                continue
            if not self._is_news(hit, current, has_bot_turn):
                continue
            line = memory_notes.recalled_line(hit, current, self._request)
            lines.append(line)
            if current.by_bot:
                has_bot_turn = True
                questions = list(self._question_of(line, current))
            if hit.key:
                self.fading.append((line.labelled().text, hit))
            if len(lines) == self._request.most_lines:
                break
        return lines, questions, missing

    def _question_of(self, line: RecalledLine, answer: LiveLines) -> Iterator[RecalledLine]:
        """Yields the words of the person that the bot answered, for the line before."""
        question = self._notes.question_before(line.note, answer)
        if question is not None:
            yield line._replace(
                first=question.first, last=question.last, origin=question.origin, text=question.text
            )

    def _may_recall(self, hit: "Hit", places: set[tuple[str, int]]) -> bool:
        # The block has the note, this line of a fact page, or a copy of it, already.
        same_lines = [(hit.note, hit.lines), *((also.note, also.lines) for also in hit.also)]
        # Fault: the same line in another note would fill the block twice.
        for note, lines in same_lines:
            if (note, 0) in places or (note, lines[0]) in places:
                return False
        # Fault: recall must not bring in what the block leaves out for others.
        if self._request.is_personal(hit.kind, hit.scope):
            return False
        # Fault: what has ended or was replaced would be taken for true.
        if hit.ended:
            return False
        # Fault: the summary is in the block already.
        if hit.kind == "episode" and hit.text in self._episode_text:
            return False
        # A model would follow a rule of the archive, which is no longer valid.
        return not (hit.kind == "rules" and any(map(is_archive, hit.heading)))

    def _is_news(self, hit: "Hit", current: LiveLines, has_bot_turn: bool) -> bool:
        """Whether a line is not of this conversation, no copy of the prompt, no empty answer.

        A turn with a secret is never quoted.
        With `has_bot_turn` the bot says nothing more.
        """
        if hit.kind != "transcript":
            return True
        # Fault: the phrases of the bot about a topic would take all places.
        if current.has_secret or (current.by_bot and has_bot_turn):
            return False
        if statements.is_empty_answer(hit.text):
            return False
        session = self._request.session
        # Fault: the bot would read its own last words as a memory.
        if session and current.session == session:
            return False
        # The host may have recorded the prompt before it asked for the block.
        prompts = {_words(self._query), _words(self._request.prompt)}
        return _words(current.text) not in prompts


def _mentions(fact: "Fact", keys: set[str]) -> bool:
    """Whether the fact's subject or object is one of these folded names."""
    subject = facts_fact.folded(fact.subject)
    return subject in keys or facts_fact.folded(fact.object) in keys


def _quoted_places(quotations: Iterable[Quotation]) -> set[tuple[str, int]]:
    """Lists what recall leaves out: quoted notes, with line 0, and lines of fact pages.

    A quoted excerpt of a MEMORY.md has its best lines. Its weaker lines must not come in
    through recall.
    """
    places: set[tuple[str, int]] = set()
    for quotation in quotations:
        if not quotation.groups:
            continue
        if quotation.kind == "episode":
            # Other conversations of that day may answer the prompt.
            continue
        if quotation.kind != "facts":
            places.add((quotation.note, 0))
            continue
        for group in quotation.groups:
            number = group.text.partition(":")[0]
            places.add((quotation.note, int(number)))
    return places


def _words(text: str) -> str:
    return " ".join(text.split())
