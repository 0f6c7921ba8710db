"""A vault as one caller sees it: the only way from a server, or from the page, to the notes.

Each call of `contract.calls` is a method: it takes the request of the call, and returns its answer
in the JSON contract. The page shows more than a bot gets, by `calls` and `note`. What lies outside
the scopes of the caller is answered as if it did not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from vault_memory.api import facts_json, json_contract, query_or_local, read_request, said_secrets
from vault_memory.api.redact_paths import folders_of, without_paths
from vault_memory.contract import as_json
from vault_memory.errors import NoteNotFound, UsageError
from vault_memory.learning.policy import feedback as policy_feedback
from vault_memory.rules.paths.filenames import inside
from vault_memory.rules.paths.scopes import Caller
from vault_memory.search.note_reports import NoteList

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract import answers, requests
    from vault_memory.contract.status_answers import StatsJson
    from vault_memory.facts.entity_info import FactChange

Answer = Mapping[str, Any]
PROPOSED = "proposed"
"""Why a fact remains: its removal waits for the person"""


class ScopedCalls:
    """Calls of a vault, or of a part of it, with arguments that cannot be left out or changed."""

    def __init__(self, calls: Any, **fixed: object) -> None:
        self._calls = calls
        self._fixed = fixed

    def __getattr__(self, name: str) -> "ScopedCalls":
        return ScopedCalls(getattr(self._calls, name), **self._fixed)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._calls(*arguments, **options, **self._fixed)


class ScopedVault:
    """One vault, as one caller sees it."""

    def __init__(self, memory: "VaultMemory", caller: Caller) -> None:
        self._memory = memory
        self.caller = caller

    @property
    def scopes(self) -> tuple[str, ...]:
        """The open scopes, with the caller's own first."""
        return self.caller.scopes(self._memory.layout)

    @property
    def reads(self) -> tuple[str, ...]:
        """The scopes that may be read; some of them may not be written."""
        return self.caller.reads(self._memory.layout)

    @property
    def calls(self) -> ScopedCalls:
        """The calls of the vault that take scopes, with the open ones."""
        return ScopedCalls(self._memory, scopes=self.scopes)

    def note(self, note: str) -> ScopedCalls:
        """Return the calls about a note of the open scopes. Raises BadPath, NoteNotFound."""
        return ScopedCalls(self._memory, note=self._path(note, self.scope_of))

    def _path(self, note: str, is_open: Callable[[str], object]) -> str:
        path = inside(note)
        # Fault (H124): another error than for a missing note would tell which notes other
        # people have.
        if not is_open(path):
            raise NoteNotFound(path)
        return path

    def may_read(self, note: str) -> bool:
        """Whether a note is in a readable scope and indexed (not INBOX, not the audit)."""
        place = self._memory.layout.place(note)
        return place is not None and place.indexed and place.scope in self.reads

    def scope_of(self, note: str) -> str:
        """The open scope of a note, also of one that search does not read; else ""."""
        place = self._memory.layout.place(note)
        return place.scope if place is not None and place.scope in self.scopes else ""

    def notes(self) -> NoteList:
        """The notes that search reads for the caller, sorted by path."""
        return self._memory.notes(self.reads)

    def open_conversation(self) -> str:
        """The session in which the caller has just spoken; "" for none."""
        return self._memory.conversations.open_conversation(self.caller.user, self.caller.channel)

    # ---- search and context ----------------------------------------------------------

    def search(self, request: "requests.SearchRequest") -> Answer:
        """Find the lines that answer a question."""
        answer = self.ask("search", request.query, self.reads, read_request.options(request))
        return {**answer, "hits": said_secrets.masked_hits(self._memory.vault, answer["hits"])}

    def context(self, request: "requests.ContextBody") -> Answer:
        """Compose the memory block for a prompt."""
        self._memory.learning.commit_before(request.session, self.reads)
        options = read_request.options(request) | {"private": self.caller.private}
        answer: Answer = self.ask("context", request.prompt, self.reads, options)
        return answer

    def ask(self, call: str, text: str, scopes: Sequence[str], options: Any) -> Any:
        """Return the answer of `search` or `context` from those of these scopes that may be read.

        It has no names of notes of others, and no folders of the machine.
        """
        reads = self.reads
        seen = [scope for scope in scopes if scope in reads]
        answer = getattr(query_or_local, call)(self._memory, text, scopes=seen, options=options)
        freshness = answer["freshness"]
        freshness["stale_files"] = list(filter(self.may_read, freshness["stale_files"]))
        freshness["reason"] = self.clean(freshness["reason"])
        # The scopes come from the configuration: a model that asks cannot correct them.
        answer.pop("unknown_scopes", None)
        return answer

    def clean(self, text: str) -> str:
        """The text without folders of the machine."""
        # Fault: they contain names of its users.
        return without_paths(text, folders_of(self._memory.vault))

    # ---- conversations ---------------------------------------------------------------

    def record_turn(self, request: "requests.TurnRequest") -> "answers.RecordedJson":
        """Record what was said."""
        recorded = self._memory.record_turn(
            user=self.caller.user, channel=self.caller.channel or None, **asdict(request)
        )
        answer: answers.RecordedJson = as_json(recorded)
        return answer

    def end_session(self, request: "requests.SessionRequest") -> "answers.EndedJson":
        """Say that a conversation is over."""
        answer: answers.EndedJson = as_json(
            self._memory.end_session(
                request.session, user=self.caller.user, channel=self.caller.channel or None
            )
        )
        return answer

    def compact(self, request: "requests.CompactRequest") -> "answers.CompactedJson":
        """Sum a conversation up, and end it."""
        answer: answers.CompactedJson = as_json(
            self._memory.learning.compact(
                request.session, request.text, user=self.caller.user, channel=self.caller.channel
            )
        )
        return answer

    # ---- memory ----------------------------------------------------------------------

    def remember(
        self, request: "requests.RememberRequest", expected: str | None = None
    ) -> "answers.RememberedJson":
        """Keep a text for good that the person said; else it waits."""
        remembered = self._memory.remember(
            request.text,
            scope=self._memory.learning.scope_to_remember(request.text, self.caller),
            source="tool",
            expected=expected,
        )
        return json_contract.of_remembered(remembered)

    def list_held(self, request: "requests.NoArguments") -> "answers.HeldListJson":
        """List what waits for more turns before it is kept."""
        return {"held": self._memory.learning.held(self.scopes)}

    def feedback(self, request: "requests.FeedbackRequest") -> "answers.FeedbackJson":
        """Log what the person thinks of an answer."""
        feedback = policy_feedback.Feedback(
            request.verdict,
            scope=self.scopes[0],
            user=self.caller.user,
            about=request.about,
            text=request.text,
        )
        self._memory.learning.log_feedback(feedback, self.reads)
        return {"ok": True}

    def forget(self, request: "requests.ForgetArguments") -> "answers.RetractedJson":
        """Remove items by their words, or one fact by its id."""
        if (request.text is None) == (request.fact is None):
            raise UsageError("either `text` or `fact` says what to forget", hint="give one of them")
        if request.fact is None:
            return self._memory.forgetting.take_back(
                str(request.text),
                scopes=self.scopes,
                note=request.note,
                expected=request.expected_revision,
            ).as_json()
        if request.note is not None:
            raise UsageError("a fact is known by its id alone", hint="leave `note` out")
        change = self._memory.facts.delete(
            request.fact, scopes=self.scopes, source="tool", expected=request.expected_revision
        )
        return self._of_deletion(change)

    def _of_deletion(self, change: "FactChange") -> "answers.RetractedJson":
        """Return what became of a deleted fact in the shape that a removed text has."""
        note, edit = change.note, change.edit
        if change.outcome == "deleted":
            return {
                "matches": 1,
                "removed": [{"place": note, "count": 1, "audit_id": edit.audit_id}],
                "proposed": [],
                "remaining": 0,
            }
        codes = [op.reason for op in edit.rejected] + [op.reason for op in edit.pending]
        page = self._memory.edits.editor.inbox.page_of(note)
        ids = [op.id for op in edit.proposed]
        return {
            "matches": 1,
            "removed": [],
            "proposed": [{"place": note, "count": 1, "inbox": page, "ids": ids}] if ids else [],
            "remaining": [{"place": note, "why": [*codes, PROPOSED][0]}],
        }

    # ---- notes -----------------------------------------------------------------------

    def list_notes(self, request: "requests.NoArguments") -> "answers.NotesJson":
        """List the notes that search reads."""
        return json_contract.of_notes(self.notes())

    def read_note(self, request: "requests.NoteRequest") -> "answers.NoteTextJson":
        """Return one note as it is now. Raises NoteNotFound, for a note of another person, too."""
        path = self._path(request.note, self.may_read)
        answer: answers.NoteTextJson = as_json(self._memory.read(path))
        if path.endswith(".jsonl"):
            answer["text"] = said_secrets.masked_lines(self._memory.vault, answer["text"])
        return answer

    def stats(self, request: "requests.NoArguments") -> "StatsJson":
        """Count the notes by kind."""
        return self._memory.searcher.stats(self.reads)

    # ---- facts -----------------------------------------------------------------------

    def list_facts(self, request: "requests.FactsRequest") -> "answers.FactsJson":
        """List the facts that hold now."""
        return facts_json.of_facts(self._memory.facts(scopes=self.reads, **asdict(request)))

    def entity(self, request: "requests.EntityArguments") -> Answer:
        """Return the facts and mentions of a person or a thing."""
        memory, scopes = self._memory, self.reads
        answer: dict[str, Any] = dict(
            facts_json.of_about(memory.facts.entity(request.name, scopes=scopes))
        )
        answer["hits"] = said_secrets.masked_hits(memory.vault, answer["hits"])
        if request.on is not None:
            listed = memory.facts(scopes=scopes, entity=request.name, on=request.on)
            answer["facts"] = facts_json.of_facts(listed)["facts"]
        if request.past:
            timeline = memory.timeline(request.name, scopes=scopes)
            answer["timeline"] = facts_json.of_facts(facts_json.past(timeline))["facts"]
        return answer

    def correct_fact(self, request: "requests.CorrectArguments") -> "answers.FactChangeJson":
        """Replace what is wrong in a fact."""
        right = asdict(request)
        del right["fact"], right["expected_revision"]
        if all(value is None for value in right.values()):
            raise UsageError(
                "nothing says what is right", hint="give `object`, or another part of the fact"
            )
        change = self._memory.correct_fact(
            request.fact,
            scopes=self.scopes,
            source="tool",
            expected=request.expected_revision,
            **right,
        )
        return facts_json.of_change(change)

    def confirm_fact(self, request: "requests.ConfirmArguments") -> "answers.FactChangeJson":
        """Note that the person said a fact is right."""
        change = self._memory.facts.confirm(
            request.fact, scopes=self.scopes, source="tool", expected=request.expected_revision
        )
        return facts_json.of_change(change)

    def source(self, request: "requests.SourceArguments") -> Answer:
        """Follow a line, a fact or an id back to the turns behind it."""
        origin = self._memory.source(request.ref, scopes=self.reads, around=request.around)
        return said_secrets.masked_source(self._memory.vault, json_contract.of_source(origin))
