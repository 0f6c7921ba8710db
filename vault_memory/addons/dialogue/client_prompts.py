"""The prompts of MCP: texts that a person chooses in a client, such as a command with a slash.

A prompt says which tools the model should call. Only that of the inbox has text of the vault.
"""

from datetime import date, timedelta
from typing import Any, NamedTuple

import msgspec

from vault_memory.errors import UsageError
from vault_memory.mcp.http_session import Serving
from vault_memory.rules.context import quotations
from vault_memory.rules.edits import inbox_page

Json = dict[str, Any]

MOST_PROPOSALS = 50
"""A model has no room for more, and a person decides no more at once"""
_LAST = "Answer in my language. Add nothing that the memory does not say."
_KNOWN = (
    "Tell me what you remember about {topic}. {calls} Sort it, name the note of each point, and"
    f" say what is old or uncertain. {_LAST}"
)
_ALL = "Call memory_context and memory_stats, then memory_search for what they name."
_TOPIC = "Call memory_entity with that name, and memory_search."
_WEEK = (
    "Look back with me at the days since {since}. Call memory_search several times with `since`"
    " {since}: for decisions, for what was done, and for what is open. Give me these three lists,"
    " with the note of each point. Then ask me what is worth keeping and what is no longer right,"
    f" and use memory_remember and memory_correct for my answers. {_LAST}"
)
_INBOX = (
    "Go with me through what waits for my decision. Say of each proposal what would change and why,"
    " and what speaks against it. You cannot decide: I do, with `vault-memory inbox approve ID` or"
    f" `vault-memory inbox reject ID`, or on the INBOX page. {_LAST}"
)
_EMPTY = "Tell me in my language that nothing waits for my decision."


class ClientPrompt(NamedTuple):
    """An entry of the list."""

    title: str
    description: str
    argument: str = ""
    """What its argument `about` is for; "" for a prompt without an argument"""


PROMPTS = {
    "what_do_you_know": ClientPrompt(
        "What do you know?",
        "What is remembered about you, or about somebody or something",
        "A person, a thing or a topic; without it: you",
    ),
    "review_inbox": ClientPrompt("Review the inbox", "What waits for your decision"),
    "weekly_review": ClientPrompt("Weekly review", "The last seven days: decided, done and open"),
}


class PromptRequest(msgspec.Struct):
    """The parameters of `prompts/get`."""

    name: str
    arguments: dict[str, str] = {}


def listed() -> list[Json]:
    """Return the entries of `prompts/list`."""
    entries: list[Json] = []
    for name, prompt in PROMPTS.items():
        entry: Json = {"name": name, "title": prompt.title, "description": prompt.description}
        if prompt.argument:
            entry["arguments"] = [{"name": "about", "description": prompt.argument}]
        entries.append(entry)
    return entries


def answer(serving: Serving, params: Json) -> Json:
    """Return the answer of `prompts/get`. Raises UsageError."""
    try:
        request = msgspec.convert(params, PromptRequest)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"wrong parameters: {error}", hint="give `name` and `arguments`") from None
    match request.name:
        case "what_do_you_know":
            about = request.arguments.get("about", "").strip()
            text = _KNOWN.format(topic=about or "me", calls=_TOPIC if about else _ALL)
        case "review_inbox":
            text = _of_inbox(serving)
        case "weekly_review":
            text = _WEEK.format(since=date.today() - timedelta(days=7))
        case _:
            names = ", ".join(PROMPTS)
            raise UsageError(f"there is no prompt {request.name!r}", hint=f"there are {names}")
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": PROMPTS[request.name].description, "messages": [message]}


def _of_inbox(serving: Serving) -> str:
    """Return the prompt with the open proposals in the scopes that the caller may write."""
    proposals = serving.memory.inbox(serving.view.scopes)
    if not proposals:
        return _EMPTY
    lines = [
        f"{proposal.id}  {proposal.note}: {inbox_page.describe(proposal)} (why: {proposal.why})"
        for proposal in proposals[:MOST_PROPOSALS]
    ]
    quoted = quotations.in_marks([quotations.quotation("proposals", {}, "\n".join(lines))])
    count = len(proposals) - len(lines)
    remark = f"{count} more wait: `vault-memory inbox` lists them." if count else ""
    return "\n\n".join(filter(None, [_INBOX, quoted, remark]))
