"""What is said: a turn as a line of a transcript, where it belongs, and how it is found again.

A transcript is JSON Lines, one turn a line. Whoever reads it passes over lines that are none: it may have been edited
by hand, or torn by a crash. A turn in a channel stands once, in the channel; what a person said there is also hers.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module
from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.search.tokens import clean

if TYPE_CHECKING:
    from vault_memory.markdown.chunking import splitter
else:
    splitter = lazy_module("vault_memory.markdown.chunking.splitter")

ROLES = ("user", "assistant", "system", "tool")
"""Who speaks: a person, the bot, whoever instructs the bot, and a tool that it uses"""
PERSON = "user"
ORIGINS = ("owner", "person", "channel", "email", "web", "tool", "document")
"""Where the words come from; only the owner's can become rules"""
AUTOMATED_SOURCES = frozenset(
    {
        "automation",
        "briefing",
        "cron",
        "heartbeat",
        "job",
        "schedule",
        "scheduled",
        "scheduler",
        "subagent",
        "subtask",
        "timer",
        "tool",
        "webhook",
    }
)
"""Sources of turns that no person typed or spoke"""
AUTOMATED_WORDS = AUTOMATED_SOURCES - {"job", "tool"}
"""The same as one word of several, as in `cron-morning`; a `job-coach` or a `cli-tool` is a person's way to talk"""
LONGEST = 1 << 20
"""Letters of one turn"""
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,79}")
_PARTS = re.compile(r"[-_]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_NAME = 40
"""Letters of a speaker or a session, as far as a chunk says them"""


class Turn(NamedTuple):
    """Something that was said, once."""

    id: str
    ts: str
    """ISO 8601 with offset"""
    session: str
    role: str
    """one of `ROLES`"""
    user: str
    """whose turn it is, or to whom the bot speaks; empty in a channel when nobody in particular is meant"""
    channel: str
    """empty outside of channels"""
    text: str
    origin: str = "owner"
    source: str = "talk"
    """talk, email, cli, voice, web, cron, briefing, subtask, or another word"""
    device: str = ""
    automated: bool = False
    """said by a scheduled job, a webhook or a subagent, whatever the role and the name"""

    @property
    def is_automated(self) -> bool:
        """Whether no person said this: it is marked, or its source is one of a job."""
        if self.automated or self.source in AUTOMATED_SOURCES:
            return True
        return not AUTOMATED_WORDS.isdisjoint(_PARTS.split(self.source))

    @property
    def at(self) -> datetime:
        """When it was said; with a zone."""
        return _time(self.ts) or datetime(1970, 1, 1, tzinfo=UTC)

    def as_json(self) -> dict[str, object]:
        """The line of the transcript."""
        omitted = {name for name in ("device", "automated") if not getattr(self, name)}
        return {
            name: value for name, value in self._asdict().items() if name not in omitted
        }


def new_id(at: datetime, chance: int) -> str:
    """An id that sorts by time; `chance` is 30 bits that nobody else has in the same millisecond."""
    return _in_digits(int(at.timestamp() * 1000) % 36**9, 9).lstrip("0") + _in_digits(
        chance % 36**6, 6
    )


def _in_digits(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def read_turn(line: str | bytes) -> Turn | None:
    """The turn that a line tells; None when it tells none. A line without an id has one made from itself."""
    try:
        text = line if isinstance(line, str) else line.decode()
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(said, dict)
        or not _is_text(said.get("text"))
        or said.get("role") not in ROLES
    ):
        return None
    if _time(said.get("ts")) is None:
        return None

    def of(name: str, otherwise: str = "") -> str:
        value = said.get(name)
        return value if isinstance(value, str) and value else otherwise

    id_ = (
        of("id")
        or sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:12]
    )
    return Turn(
        id_,
        said["ts"],
        of("session"),
        said["role"],
        of("user"),
        of("channel"),
        said["text"],
        of("origin", "owner"),
        of("source", "talk"),
        of("device"),
        bool(said.get("automated")),
    )


def read_turns(raw: bytes) -> Iterator[Turn]:
    """The turns of one transcript in its order, each id once."""
    return (turn for _, turn in _numbered(raw, 1))


def union_of_turns(transcripts: Iterator[bytes]) -> list[Turn]:
    """The turns of several files, each id once, in the order of time; those of one moment as they stand."""
    found: dict[str, Turn] = {}
    for raw in transcripts:
        for turn in read_turns(raw):
            found.setdefault(turn.id, turn)
    return sorted(found.values(), key=lambda turn: turn.at)


def read_dropped(
    line: bytes, *, otherwise_id: str, otherwise_at: datetime
) -> dict[str, str | bool] | str:
    """What a program says in the drop folder, as arguments of a turn; a text is the reason why it is none.

    `otherwise_id` and `otherwise_at` are taken where it names no id and no time.
    """
    try:
        said = json.loads(line.decode())
    except (ValueError, RecursionError):
        return "it is no JSON in UTF-8"
    if not isinstance(said, dict):
        return "it is no JSON object"
    known = (
        "id",
        "ts",
        "session",
        "role",
        "user",
        "channel",
        "text",
        "origin",
        "source",
        "mode",
    )
    wrong = [name for name in known if not isinstance(said.get(name) or "", str)]
    flags = ("silent", "automated")
    wrong += [name for name in flags if not isinstance(said.get(name, False), bool)]
    if wrong:
        return f"`{wrong[0]}` is of the wrong type"
    found: dict[str, str | bool] = {name: said.get(name) or "" for name in known}
    missing = [name for name in ("source", "role", "text") if not found[name]]
    if missing or not (found["user"] or found["session"]):
        return f"it has no `{(missing or ['user'])[0]}`"
    if found["id"] and not _ID.fullmatch(str(found["id"])):
        return "`id` is no id: letters, digits and . _ : @ - are, up to 80 of them"
    if found["ts"] and _time(found["ts"]) is None:
        return "`ts` is no time as 2026-01-31T18:30:00+01:00"
    found["id"] = found["id"] or otherwise_id
    found["ts"] = found["ts"] or otherwise_at.isoformat()
    return found | {name: said.get(name, False) for name in flags}


def checked(turn: Turn) -> Turn:
    """The turn, when it can be recorded. Raises UsageError."""
    if turn.role not in ROLES:
        raise UsageError(
            f"{turn.role!r} is no role", hint=f"known are {', '.join(ROLES)}"
        )
    if turn.origin not in ORIGINS:
        raise UsageError(
            f"{turn.origin!r} is no origin", hint=f"known are {', '.join(ORIGINS)}"
        )
    if not _WORD.fullmatch(turn.source):
        raise UsageError(
            f"{turn.source!r} is no source",
            hint="a word in small letters, such as talk, email or voice",
        )
    if not turn.text.strip():
        raise UsageError("a turn without a text is none", hint="leave it out")
    if len(turn.text) > LONGEST:
        raise UsageError(
            f"a turn of {len(turn.text):,} letters is too long",
            hint=f"up to {LONGEST:,} are taken",
        )
    if not turn.session:
        raise UsageError(
            "a turn belongs to a session",
            hint="name one: any text that tells it from others",
        )
    return turn


def transcript_path(
    layout: Layout, *, user: str, channel: str, day: date, workspace: bool
) -> str:
    """The file that a turn of this day stands in. Raises UsageError for a name that no folder can have.

    `workspace`: what the layout's own user says stands in the transcripts of the workspace.
    """
    for kind, name in (("user", user), ("channel", channel)):
        folder = "Users" if kind == "user" else "Channels"
        place = (
            layout.place(f"{folder}/{name}/transcripts/{day}.jsonl") if name else None
        )
        if name and (
            place is None
            or (place.kind, place.scope) != ("transcript", f"{kind}:{name}")
        ):
            raise UsageError(
                f"{name!r} cannot be the name of a {kind}",
                hint="it has to be one that a folder can have",
            )
    if channel:
        return f"Channels/{channel}/transcripts/{day}.jsonl"
    return (
        f"transcripts/{day}.jsonl"
        if workspace and user == layout.user
        else f"Users/{user}/transcripts/{day}.jsonl"
    )


def own_scope(turn: Turn, scope: str) -> str:
    """The scope in which a turn is found besides that of its transcript; empty when there is none.

    A transcript of one person says nothing in the name of another.
    """
    return (
        f"user:{turn.user}"
        if turn.role == PERSON and turn.user and not scope.startswith("user:")
        else ""
    )


class TurnChunk(NamedTuple):
    """A turn, or a part of one, as search finds it."""

    chunk: Chunk
    also: str
    """the scope it is in besides that of its transcript; often empty"""


def turn_chunks(raw: bytes, scope: str, *, first_line: int = 1) -> list[TurnChunk]:
    """What search reads of a transcript, or of its end that begins with `first_line`."""
    return [
        part
        for line, turn in _numbered(raw, first_line)
        for part in _parts(turn, line, scope)
    ]


def _parts(turn: Turn, line: int, scope: str) -> Iterator[TurnChunk]:
    who = _name(turn.user if turn.role == PERSON and turn.user else turn.role)
    heading = (session,) if (session := heading_of(turn.session)) else ()
    day, also = turn.at.date(), clean(own_scope(turn, scope))
    for piece in splitter.cut(clean(turn.text).replace("\r\n", "\n"), by_line=False):
        yield TurnChunk(
            Chunk(f"**{who}**: {piece.text}", heading, who, line, line, day, ""), also
        )


def heading_of(session: str) -> str:
    """The heading under which search has the turns of a session."""
    return _name(session)


def _name(name: str) -> str:
    """On one line, and not too long to stand before each text."""
    return (
        _CONTROL.sub(" ", clean(name)).replace("*", "").strip()[:_LONGEST_NAME].strip()
    )


def _numbered(raw: bytes, first_line: int) -> Iterator[tuple[int, Turn]]:
    seen = set[str]()
    for number, line in enumerate(raw.split(b"\n"), start=first_line):
        turn = read_turn(line) if line.strip() else None
        if turn is not None and turn.id not in seen:
            seen.add(turn.id)
            yield number, turn


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _time(said: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    if time is None or not 1900 <= time.year <= 9000:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def turn_of(said: Mapping[str, object]) -> Turn:
    """A turn from checked arguments; what is not given is as `Turn` has it."""
    given = {
        name: str(value)
        for name, value in said.items()
        if name in Turn._fields and value != ""
    }
    given.pop("automated", None)
    automated = said.get("automated") is True
    return Turn(
        **{"session": "", "user": "", "channel": "", **given}, automated=automated
    )
