"""The table of calls: what a bot may ask for, by which route and by which tool.

Routes, the OpenAPI document, the tools of MCP and the calls of the socket are made from it. The
function of a call is the method of `ScopedVault` with its name. A new call has a row here, a
request, an answer and a method.
"""

from typing import Any

from msgspec import Struct

from vault_memory.contract import answers, requests, status_answers, tool_answers


class Tool(Struct, frozen=True):
    """A call as a tool of MCP, which a model may use."""

    name: str
    title: str
    description: str
    takes: type[Struct]
    gives: type[Any]
    reads_only: bool = True
    destroys: bool = False
    """Whether it may remove or rewrite memories"""
    search_hint: str = ""
    """Words by which a host finds the tool.

    A tool with such words belongs into the first request of a conversation.
    """


class Call(Struct, frozen=True):
    """A call of a vault, for one caller."""

    name: str
    summary: str
    takes: type[Struct]
    gives: type[Any]
    """The shape of its answer"""
    method: str = ""
    path: str = ""
    """Over HTTP. Names in braces are fields of the request; such a field may contain `/`"""
    tool: Tool | None = None
    socket: type[Struct] | None = None
    """Its request over the socket of a daemon: a process of the same person names the scopes"""


CALLS = (
    Call(
        "search",
        "Find the lines that answer a question",
        requests.SearchRequest,
        answers.SearchAnswerJson,
        method="POST",
        path="/v1/search",
        tool=Tool(
            "memory_search",
            "Search the memory",
            "Finds lines in the person's notes and in what was said before, best "
            "first, with note, lines and date.",
            requests.SearchArguments,
            tool_answers.ToolSearchAnswer,
            search_hint="search the person's long-term memory, notes and earlier conversations",
        ),
        socket=requests.SearchCall,
    ),
    Call(
        "read_note",
        "One note as it is now, with its revision",
        requests.NoteRequest,
        answers.NoteTextJson,
        method="GET",
        path="/v1/notes/{note}",
        tool=Tool(
            "memory_get",
            "Read a note",
            "Reads a note, or some lines of it, with its revision.",
            requests.NoteLinesArguments,
            tool_answers.ToolNote,
        ),
    ),
    Call(
        "context",
        "The memory block for a prompt",
        requests.ContextBody,
        answers.ContextBlockJson,
        method="POST",
        path="/v1/context",
        tool=Tool(
            "memory_context",
            "What belongs into this conversation",
            "Gives what should be known when answering a message: who the person "
            "is, facts, rules, the last days, and what was said or noted about this"
            " before. Call it first if nothing like it was given to you.",
            requests.ContextArguments,
            tool_answers.ToolContext,
            search_hint="what is known of this person: preferences, facts, rules, the last days",
        ),
        socket=requests.ContextCall,
    ),
    Call(
        "record_turn",
        "Record what was said; search finds it at once",
        requests.TurnRequest,
        answers.RecordedJson,
        method="POST",
        path="/v1/turns",
    ),
    Call(
        "end_session",
        "Say that a conversation is over",
        requests.SessionRequest,
        answers.EndedJson,
        method="POST",
        path="/v1/sessions/end",
    ),
    Call(
        "remember",
        "Keep a text for good that the person said; else it waits",
        requests.RememberRequest,
        answers.RememberedJson,
        method="POST",
        path="/v1/remember",
        tool=Tool(
            "memory_remember",
            "Remember",
            "Keeps one sentence for good: when the person asks you to remember "
            "something, or says something lasting about themselves. A wish such as "
            "`always …` or `never …` becomes a rule. What is known already is not "
            "added again.",
            requests.RememberArguments,
            tool_answers.ToolRemembered,
            reads_only=False,
            search_hint="remember a lasting fact, wish or preference of the person",
        ),
    ),
    Call(
        "compact",
        "Sum a conversation up, and end it",
        requests.CompactRequest,
        answers.CompactedJson,
        method="POST",
        path="/v1/sessions/compact",
        tool=Tool(
            "memory_compact",
            "Sum this conversation up",
            "Keeps a summary of a conversation that is over, or about to be "
            "shortened: what was asked, decided and left open. The next "
            "conversation begins with it.",
            requests.CompactArguments,
            tool_answers.ToolCompacted,
            reads_only=False,
        ),
    ),
    Call(
        "list_held",
        "What waits for more turns before it is kept",
        requests.NoArguments,
        answers.HeldListJson,
        method="GET",
        path="/v1/held",
    ),
    Call(
        "feedback",
        "Log what the person thinks of an answer",
        requests.FeedbackRequest,
        answers.FeedbackJson,
        method="POST",
        path="/v1/feedback",
    ),
    Call(
        "list_notes",
        "List the notes that search reads",
        requests.NoArguments,
        answers.NotesJson,
        method="GET",
        path="/v1/notes",
    ),
    Call(
        "list_facts",
        "List the facts that hold now",
        requests.FactsRequest,
        answers.FactsJson,
        method="GET",
        path="/v1/facts",
    ),
    Call(
        "correct_fact",
        "Put what is right in the place of a wrong fact",
        requests.CorrectArguments,
        answers.FactChangeJson,
        tool=Tool(
            "memory_correct",
            "Correct a fact",
            "Puts what is right in the place of a fact that was wrong from the "
            "start. An id that is unknown or means several facts changes nothing, "
            "and lists candidates. What a person wrote is proposed to them.",
            requests.CorrectArguments,
            tool_answers.ToolFactChange,
            reads_only=False,
            destroys=True,
        ),
    ),
    Call(
        "confirm_fact",
        "Note that a fact is right",
        requests.ConfirmArguments,
        answers.FactChangeJson,
        tool=Tool(
            "memory_confirm",
            "Confirm a fact",
            "Notes that the person says a fact is so, which keeps it from fading. "
            "Ids as in memory_correct.",
            requests.ConfirmArguments,
            tool_answers.ToolFactChange,
            reads_only=False,
        ),
    ),
    Call(
        "forget",
        "Remove items by their words, or one fact",
        requests.ForgetArguments,
        answers.RetractedJson,
        tool=Tool(
            "memory_forget",
            "Forget",
            "Removes the list items that say `text`, or one fact by its id; says "
            "how many were removed, and where. What a person wrote is proposed to "
            "them in INBOX. Each removal is recorded and can be undone: to purge "
            "something for good, history and transcripts included, the person runs "
            "`vault-memory forget` themselves.",
            requests.ForgetArguments,
            tool_answers.ToolForgotten,
            reads_only=False,
            destroys=True,
        ),
    ),
    Call(
        "entity",
        "Who or what a name is, with its facts and mentions",
        requests.EntityArguments,
        answers.EntityJson,
        tool=Tool(
            "memory_entity",
            "Who or what is this",
            "Tells what is known of a person or thing: kind, aliases, facts with "
            "their ids, relationships, mentions.",
            requests.EntityArguments,
            tool_answers.ToolEntity,
        ),
    ),
    Call(
        "source",
        "Where a line, a fact or an id comes from",
        requests.SourceArguments,
        answers.SourceJson,
        method="GET",
        path="/v1/source",
        tool=Tool(
            "memory_source",
            "Where this comes from",
            "Gives the turns behind a remembered line, a fact or an id, with what "
            "was said around them; or says why they are gone.",
            requests.SourceArguments,
            tool_answers.ToolSource,
        ),
    ),
    Call(
        "stats",
        "Count the notes by kind",
        requests.NoArguments,
        status_answers.StatsJson,
        tool=Tool(
            "memory_stats",
            "What there is",
            "Counts this person's notes by kind.",
            requests.NoArguments,
            tool_answers.ToolStats,
        ),
    ),
)
"""What a server for bots answers, in the order in which tools are listed"""
ROUTES = tuple(call for call in CALLS if call.path)
"""The calls over HTTP"""
SOCKET_CALLS: dict[str, type[Struct]] = {
    **{call.name: call.socket for call in CALLS if call.socket},
    "changes": requests.ChangesCall,
    "scopes": requests.NoArguments,
    "status": requests.NoArguments,
    "sync": requests.NoArguments,
    "vitals": requests.NoArguments,
}
"""What the daemon of a vault answers over its socket, each with its request"""
