"""Turns of conversations: their lines in transcripts, their files, and their chunks for search.

A transcript is JSON Lines, one turn a line. Readers skip other lines, because a person may have
edited the file, or a crash may have cut it. A turn in a channel is recorded once, in the channel;
search also finds it in the scope of the person who said it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, get_args

from vault_memory.contract import Origin, Role
from vault_memory.errors import UsageError
from vault_memory.markdown.chunking import splitter
from vault_memory.markdown.chunking.chunk_text import Chunk
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.search.tokens import clean

ROLES: tuple[Role, ...] = get_args(Role)
"""The speakers: a person, the bot, its instructions, and a tool that it uses"""
PERSON = "user"
ORIGINS: tuple[Origin, ...] = get_args(Origin)
"""The origins of words; only the owner's can become rules"""
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
"""Those that count inside a compound, as in `cron-morning`; a person may talk through a `job-coach`
or a `cli-tool`"""
LONGEST = 1 << 20
"""Letters of one turn"""
LONGEST_TIME = 64
"""Letters of a time"""
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,79}")
_WORD_BREAKS = re.compile(r"[-_]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_NAME = 40
_LARGEST_CACHED = 1 << 20
"""Bytes of a transcript whose turns are cached"""
_MOST_CACHED = 4
"""Letters of the name of a speaker or session in a chunk"""


class Turn(NamedTuple):
    """What a speaker said once."""

    id: str
    ts: str
    """ISO 8601 with offset"""
    session: str
    role: str
    """one of `ROLES`"""
    user: str
    """the person who speaks, or to whom the bot speaks; empty when the bot speaks to a channel"""
    channel: str
    """empty outside of channels"""
    text: str
    origin: str = "owner"
    source: str = "talk"
    """talk, email, cli, voice, web, cron, briefing, subtask, or another word"""
    device: str = ""
    automated: bool = False
    """said by a scheduled job, a webhook or a subagent, in any role"""

    @property
    def is_automated(self) -> bool:
        """Whether no person said this: it has the mark, or the source is a job"""
        if self.automated or self.source in AUTOMATED_SOURCES:
            return True
        return not AUTOMATED_WORDS.isdisjoint(_WORD_BREAKS.split(self.source))

    @property
    def at(self) -> datetime:
        """The time of the turn, with a zone; 1970 for an unreadable time"""
        return _read_time(self.ts) or datetime(1970, 1, 1, tzinfo=UTC)

    def as_json(self) -> dict[str, object]:
        """Returns the object for its line in the transcript."""
        fields = self._asdict()
        if not self.device:
            del fields["device"]
        if not self.automated:
            del fields["automated"]
        return fields


def new_id(at: datetime, chance: int) -> str:
    """Returns an id that sorts by time; `chance` is 30 random bits, unique in a millisecond."""
    milliseconds = int(at.timestamp() * 1000)
    time_digits = _base_36(milliseconds % 36**9, 9).lstrip("0")
    return time_digits + _base_36(chance % 36**6, 6)


def _base_36(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def read_turn(line: str | bytes) -> Turn | None:
    """Returns the turn on a line, or None. The id of a line without one is its hash."""
    try:
        text = line if isinstance(line, str) else line.decode()
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not _is_turn(fields):
        return None

    def field(name: str, default: str = "") -> str:
        value = fields.get(name)
        return value if isinstance(value, str) and value else default

    turn_id = field("id")
    if not turn_id:
        content = text.strip().encode("utf-8", "surrogatepass")
        turn_id = sha256(content).hexdigest()[:12]
    return Turn(
        id=turn_id,
        ts=fields["ts"],
        session=field("session"),
        role=fields["role"],
        user=field("user"),
        channel=field("channel"),
        text=fields["text"],
        origin=field("origin", origin_of(field("source", "talk"))),
        source=field("source", "talk"),
        device=field("device"),
        automated=bool(fields.get("automated")),
    )


def _is_turn(fields: object) -> bool:
    """Returns whether a JSON value has the text, role and time of a turn."""
    if not isinstance(fields, dict) or fields.get("role") not in ROLES:
        return False
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        return False
    return _read_time(fields.get("ts")) is not None


class _Transcript(NamedTuple):
    """The bytes of a transcript and its turns."""

    raw: bytes
    turns: tuple[Turn, ...]


_NO_TURNS = _Transcript(b"", ())
_recent: tuple[_Transcript, ...] = ()
"""The last decoded transcripts, the latest first"""


def read_turns(raw: bytes) -> tuple[Turn, ...]:
    """Returns the turns of a transcript in its order, each id once.

    Of a text that only grew since a recent call, only the new lines are decoded.
    """
    global _recent
    if len(raw) > _LARGEST_CACHED:
        return _decoded(raw)
    begins = (cached for cached in _recent if _continues(raw, cached.raw))
    earlier = next(begins, _NO_TURNS)
    transcript = _Transcript(raw, _decoded(raw[len(earlier.raw) :], earlier.turns))
    others = (cached for cached in _recent if cached is not earlier)
    _recent = (transcript, *islice(others, _MOST_CACHED - 1))
    return transcript.turns


def _continues(raw: bytes, earlier: bytes) -> bool:
    # Fault (B42): another process may have written half of the last line by then.
    return earlier.endswith(b"\n") and raw.startswith(earlier)


def _decoded(raw: bytes, earlier: tuple[Turn, ...] = ()) -> tuple[Turn, ...]:
    """Returns the earlier turns and those in `raw`, each id once."""
    ids = set(map(attrgetter("id"), earlier))
    new_turns = (turn for _, turn in _numbered_turns(raw, 1) if turn.id not in ids)
    return (*earlier, *new_turns)


def union_of_turns(transcripts: Iterator[bytes]) -> list[Turn]:
    """Returns the turns of several files by time, each id once; equal times keep their order."""
    turns: dict[str, Turn] = {}
    for raw in transcripts:
        for turn in read_turns(raw):
            turns.setdefault(turn.id, turn)
    return sorted(turns.values(), key=lambda turn: turn.at)


_DROPPED_TEXTS = (
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
_DROPPED_FLAGS = ("silent", "automated")


def read_dropped(
    line: bytes, *, default_id: str, default_time: datetime
) -> dict[str, str | bool] | str:
    """Returns a line of the drop folder as arguments of a turn, or the reason why it is none.

    The defaults replace a missing id and a missing time.
    """
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return "it is no JSON in UTF-8"
    if not isinstance(value, dict):
        return "it is no JSON object"
    wrong_types = [
        *(name for name in _DROPPED_TEXTS if not isinstance(value.get(name) or "", str)),
        *(name for name in _DROPPED_FLAGS if not isinstance(value.get(name, False), bool)),
    ]
    if wrong_types:
        return f"`{wrong_types[0]}` is of the wrong type"
    texts: dict[str, str] = {name: value.get(name) or "" for name in _DROPPED_TEXTS}
    problem = _problem_of_dropped(texts)
    if problem:
        return problem
    texts["id"] = texts["id"] or default_id
    texts["ts"] = texts["ts"] or default_time.isoformat()
    flags: dict[str, bool] = {name: value.get(name, False) for name in _DROPPED_FLAGS}
    return {**texts, **flags}


def _problem_of_dropped(texts: Mapping[str, str]) -> str:
    for name in ("source", "role", "text"):
        if not texts[name]:
            return f"it has no `{name}`"
    if not texts["user"] and not texts["session"]:
        return "it has no `user`"
    if texts["id"] and not _ID.fullmatch(texts["id"]):
        return "`id` is no id: letters, digits and . _ : @ - are, up to 80 of them"
    if texts["ts"] and _read_time(texts["ts"]) is None:
        return "`ts` is no time as 2026-01-31T18:30:00+01:00"
    return ""


def checked(turn: Turn) -> Turn:
    """Returns the turn. Raises UsageError when it cannot be recorded."""
    if turn.role not in ROLES:
        raise UsageError(f"{turn.role!r} is no role", hint=f"known are {', '.join(ROLES)}")
    if turn.origin not in ORIGINS:
        raise UsageError(f"{turn.origin!r} is no origin", hint=f"known are {', '.join(ORIGINS)}")
    if not _WORD.fullmatch(turn.source):
        raise UsageError(
            f"{turn.source!r} is no source",
            hint="a word in small letters, such as talk, email or voice",
        )
    if not turn.text.strip():
        raise UsageError("the turn has no text", hint="record only what was said")
    if len(turn.text) > LONGEST:
        raise UsageError(
            f"a turn of {len(turn.text):,} letters is too long", hint=f"up to {LONGEST:,} are taken"
        )
    if not turn.session:
        raise UsageError(
            "a turn belongs to a session", hint="name one: any text that tells it from others"
        )
    return turn


def transcript_path(layout: Layout, *, user: str, channel: str, day: date, workspace: bool) -> str:
    """Returns the file for a turn of this day. Raises UsageError for an impossible folder name.

    `workspace`: turns of the layout's own user go to the transcripts of the workspace.
    """
    if user:
        _check_folder_name(layout, "user", "Users", user, day)
    if channel:
        _check_folder_name(layout, "channel", "Channels", channel, day)
        return f"Channels/{channel}/transcripts/{day}.jsonl"
    if workspace and user == layout.user:
        folder = f"{layout.bot_folder}/" if layout.bot_folder else ""
        return f"{folder}transcripts/{day}.jsonl"
    return f"Users/{user}/transcripts/{day}.jsonl"


def _check_folder_name(layout: Layout, kind: str, parent: str, name: str, day: date) -> None:
    """Raises UsageError when the transcript of a name would be in another scope, or in none."""
    place = layout.place(f"{parent}/{name}/transcripts/{day}.jsonl")
    if place and place.kind == "transcript" and place.scope == f"{kind}:{name}":
        return
    raise UsageError(
        f"{name!r} cannot be the name of a {kind}", hint="it has to be one that a folder can have"
    )


def own_scope(turn: Turn, scope: str) -> str:
    """Returns the speaker's scope for a turn in a transcript of several people, or ``""``."""
    # A transcript of one person must not speak in the name of another.
    if scope.startswith("user:") or turn.role != PERSON or not turn.user:
        return ""
    return f"user:{turn.user}"


class TurnChunk(NamedTuple):
    """A turn, or a section of a long one, for search."""

    chunk: Chunk
    also: str
    """its second scope besides that of the transcript; often empty"""


def turn_chunks(raw: bytes, scope: str, *, first_line: int = 1) -> list[TurnChunk]:
    """Returns the chunks of a transcript, or of its end that begins with `first_line`."""
    return [
        chunk
        for line, turn in _numbered_turns(raw, first_line)
        for chunk in _chunks_of_turn(turn, line, scope)
    ]


def _chunks_of_turn(turn: Turn, line: int, scope: str) -> Iterator[TurnChunk]:
    speaker = turn.role
    if turn.role == PERSON and turn.user:
        speaker = turn.user
    who = _short_name(speaker)
    session = heading_of(turn.session)
    headings = (session,) if session else ()
    day = turn.at.date()
    second_scope = clean(own_scope(turn, scope))
    text = clean(turn.text).replace("\r\n", "\n")
    for section in splitter.cut(text, by_line=False):
        chunk = Chunk(f"**{who}**: {section.text}", headings, who, line, line, day, "")
        yield TurnChunk(chunk, second_scope)


def heading_of(session: str) -> str:
    """Returns the heading of a session's chunks."""
    return _short_name(session)


def _short_name(name: str) -> str:
    """Returns a name on one line, short enough for the beginning of each chunk."""
    line = _CONTROL.sub(" ", clean(name)).replace("*", "").strip()
    return line[:_LONGEST_NAME].strip()


def _numbered_turns(raw: bytes, first_line: int) -> Iterator[tuple[int, Turn]]:
    """Yields the turns with their line numbers, each id once."""
    ids: set[str] = set()
    for number, line in enumerate(raw.split(b"\n"), start=first_line):
        turn = read_turn(line) if line.strip() else None
        # A sync client may append a line twice.
        if turn is not None and turn.id not in ids:
            ids.add(turn.id)
            yield number, turn


def _read_time(value: object) -> datetime | None:
    """Returns an ISO 8601 time, in UTC when it has no zone; None for an impossible one."""
    # Fault: a damaged line may have megabytes here, which the cache would hold.
    if not isinstance(value, str) or len(value) > LONGEST_TIME:
        return None
    return _parsed_time(value)


@lru_cache(maxsize=4_096)
def _parsed_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Times near the ends of the calendar overflow when the zone changes.
    if not 1900 <= time.year <= 9000:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def turn_of(arguments: Mapping[str, object]) -> Turn:
    """Returns a turn from checked arguments; missing ones have the defaults of `Turn`.

    A missing origin follows from the source.
    """
    source = str(arguments.get("source") or "talk")
    fields = {"session": "", "user": "", "channel": "", "origin": origin_of(source)}
    for name in Turn._fields:
        value = arguments.get(name, "")
        if value != "":
            fields[name] = str(value)
    fields.pop("automated", None)
    return Turn(**fields, automated=arguments.get("automated") is True)


OWN_SOURCES = frozenset({"talk", "chat", "cli", "terminal", "voice", "page"})
"""The ways by which a person speaks"""
_SOURCES: dict[Origin, str] = {
    "email": "email mail e-mail imap smtp inbox newsletter",
    "web": "web www rss atom feed website browser url crawl crawler scrape scraper news wiki",
    "document": "import document doc docs file files pdf upload scan ocr attachment download clip",
    "tool": "tool mcp plugin function shell",
    "channel": "channel group forum",
}
_ORIGINS: dict[str, Origin] = {
    word: origin for origin, words in _SOURCES.items() for word in words.split()
}
_BREAKS = re.compile(r"[-_]")


def origin_of(source: str) -> Origin:
    """Returns whose words a source has: of a name such as `web-clip` by its first known word."""
    if source in OWN_SOURCES:
        return "owner"
    words = [source, *_BREAKS.split(source)]
    return next((_ORIGINS[word] for word in words if word in _ORIGINS), "person")


_TIME_DIGITS = 8
"""Digits in base 36 of the milliseconds since 1970, from 1972 to 2059"""
_OWN_ID = re.compile(rf"([0-9a-z]{{{_TIME_DIGITS}}})[0-9a-z]{{6}}")


def time_of_id(turn_id: str) -> datetime | None:
    """Returns when a turn was recorded; None for an id that another program chose."""
    match = _OWN_ID.fullmatch(turn_id)
    if match is None:
        return None
    milliseconds = int(match[1], 36)
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
