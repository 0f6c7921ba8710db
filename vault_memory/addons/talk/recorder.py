"""Records messages of Nextcloud Talk as turns of channels, each message once.

A person with an account is the speaker of a turn. The words of guests, people of other servers
and bots are recorded with their names in the text, and learning ignores them.
"""

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from vault_memory.config import state_file
from vault_memory.config.server_sections import EMOJI_VARIANT, talk_problems
from vault_memory.config.server_sections import TalkSettings as Settings
from vault_memory.edits import people
from vault_memory.errors import ConfigError, UsageError
from vault_memory.forgetting import retract_turn
from vault_memory.index import index_erase
from vault_memory.rules.conversations import turn as conversations_turn

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.conversations.turn import Turn

logger = logging.getLogger(__name__)

ACCOUNTS = "users"
BOTS = "bots"
REMEMBERED = 500
"""Message numbers to remember for each room. Numbers count up; lower ones are ignored"""


class ReactionsUntrue(ConfigError):
    """The stated version of Talk does not say who reacted."""


class RoomUnknown(ConfigError):
    """The configured channel of a room has no valid name."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a message or a reaction."""

    kind: str
    """users, guests, emails, federated_users, bots, …"""
    id: str
    name: str
    """The display name"""


@dataclass(frozen=True, slots=True)
class Said:
    """A message in a room."""

    room: str
    """Its token"""
    number: int
    """Of the message; numbers count up"""
    actor: Actor
    text: str


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction to a message."""

    room: str
    number: int
    actor: Actor
    emoji: str


class Talk:
    """Records the rooms of one Nextcloud in a vault."""

    def __init__(self, memory: "VaultMemory", settings: Settings) -> None:
        """Raises RoomUnknown, ReactionsUntrue."""
        for problem in talk_problems(settings):
            raise ReactionsUntrue(f"`talk`: {problem}")
        self._memory = memory
        self._channels = {room.token: room.channel for room in settings.rooms}
        self._people = {person.id: person.user for person in settings.people}
        self._sign = settings.forget_reaction.replace(EMOJI_VARIANT, "").strip()
        self._may_forget = frozenset(settings.forget_by)
        self._file = memory.vault.state.path / "talk.json"
        for room in settings.rooms:
            if not self._fits(channel=room.channel):
                raise RoomUnknown(
                    f"`talk.rooms`: {room.channel!r} cannot be the name of a channel",
                    hint="it has to be one that a folder can have",
                )

    def record(self, message: Said, now: datetime | None = None) -> Literal["recorded", "known"]:
        """Adds a message to the transcript of its channel, where search finds it.

        It is on the disk on return. Raises UsageError for a room whose name fits no channel,
        TurnNotRecorded, VaultUnreachable.
        """
        at = now or datetime.now(UTC).astimezone()
        memory = self._memory
        turn = self._turn(message, at)
        with memory.conversations.transaction(), self._locked():
            numbers_of = self._recorded_numbers()
            numbers = numbers_of.get(message.room, [])
            # The server sends a message again when an answer came too late.
            is_forgotten = len(numbers) >= REMEMBERED and message.number < numbers[0]
            if message.number in numbers or is_forgotten:
                return "known"
            memory.conversations.add_turn(turn, once=True)
            numbers_of[message.room] = sorted([*numbers, message.number])[-REMEMBERED:]
            self._save(numbers_of)
        return "recorded"

    def react(self, reacted: Reacted, now: datetime | None = None) -> bool:
        """Retracts a message if the reaction asks for it, and its author may. Returns whether."""
        if not self._sign or reacted.emoji.replace(EMOJI_VARIANT, "").strip() != self._sign:
            return False
        turn_id = _turn_id(reacted.room, reacted.number)
        scope = f"channel:{self._channel(reacted.room)}"
        memory = self._memory
        turns = memory.conversations.transcripts.of(scope)
        turn = next((turn for turn in turns if turn.id == turn_id), None)
        if turn is None or not self._may_retract(reacted.actor, turn):
            return False
        with memory.conversations.transaction(), memory.vault.lock:
            result = retract_turn.TurnRetraction(
                memory.edits.editor, memory.layout, turn_id, scope
            ).run(now or datetime.now(UTC).astimezone())
            memory.vault.indexing.refresh()
            index_erase.sweep(memory.vault.indexing.index())
        if result.remaining:
            logger.warning("a retracted message remains in: %s", ", ".join(result.remaining))
        return not result.remaining

    def _turn(self, message: Said, at: datetime) -> "Turn":
        actor = message.actor
        user = self._user(actor)
        is_bot = actor.kind == BOTS
        text = message.text
        origin = "tool" if is_bot else "person"
        if user:
            origin = "owner"
        else:
            name = " ".join(actor.name.split()) or actor.kind
            text = f"{name} ({actor.kind}): {text}"
        turn = conversations_turn.Turn(
            id=_turn_id(message.room, message.number),
            ts=at.isoformat(),
            session=message.room,
            role="tool" if is_bot else "user",
            user=user,
            channel=self._channel(message.room),
            text=text,
            origin=origin,
            source="talk",
        )
        self._memory.conversations.transcripts.path_of(turn)
        return turn

    def _channel(self, room: str) -> str:
        return self._channels.get(room, room)

    def _user(self, actor: Actor) -> str:
        """Returns the person of an account; empty without one, or if its name fits no folder."""
        if actor.kind != ACCOUNTS:
            return ""
        user = self._people.get(actor.id, actor.id)
        return user if self._fits(user=user) else ""

    def _may_retract(self, actor: Actor, turn: "Turn") -> bool:
        """Whether the author of the turn reacted, or a person that the configuration names."""
        # Guests choose their display names freely: only the id of an account is a proof.
        if actor.kind != ACCOUNTS:
            return False
        if actor.id in self._may_forget:
            return True
        return turn.user != "" and turn.user == self._user(actor)

    def _fits(self, *, user: str = "", channel: str = "") -> bool:
        try:
            day = datetime.now(UTC).date()
            conversations_turn.transcript_path(
                self._memory.layout, user=user, channel=channel, day=day, workspace=False
            )
            people.refuse_twin(user, self._memory.root, self._memory.layout)
        except UsageError:
            return False
        return bool(user or channel)

    # --- Recorded messages ---

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the list of recorded messages. Another process may serve the same vault."""
        with state_file.lock(self._file.with_suffix(".lock")):
            yield

    def _recorded_numbers(self) -> dict[str, list[int]]:
        """Returns by room the numbers of its last messages, sorted."""
        try:
            rooms = json.loads(self._file.read_text(encoding="ascii"))
            return {str(room): sorted(map(int, numbers)) for room, numbers in rooms.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            # Turns have ids of their message, so a lost list doubles no turn.
            return {}

    def _save(self, numbers_of: dict[str, list[int]]) -> None:
        state_file.write(self._file, json.dumps(numbers_of))


def _turn_id(room: str, number: int) -> str:
    """Returns the id of the turn of a message, which is always the same."""
    key = f"{room}\0{number}".encode("utf-8", "surrogatepass")
    return f"talk-{hashlib.sha256(key).hexdigest()[:24]}"
