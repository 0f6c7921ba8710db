"""What is said in rooms of Nextcloud Talk becomes turns of channels: each message once, however often it arrives.

A person with an account speaks for themselves. Guests, people of other servers and bots are recorded as words of
somebody else, with their names in the text, and nothing is learned about anybody from them.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vault_memory.config.sections import Talk as Settings
from vault_memory.errors import ConfigError, UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.edits import people
    from vault_memory.forgetting import retract_turn
    from vault_memory.index import index_erase
    from vault_memory.rules.conversations import turn as conversations_turn
    from vault_memory.rules.conversations.turn import Turn
else:
    people = lazy_module("vault_memory.edits.people")
    retract_turn = lazy_module("vault_memory.forgetting.retract_turn")
    index_erase = lazy_module("vault_memory.index.index_erase")
    conversations_turn = lazy_module("vault_memory.rules.conversations.turn")

logger = logging.getLogger(__name__)

ACCOUNTS = "users"
BOTS = "bots"
REMEMBERED = 500
"""Messages of each room that are known to have come; older ones than those are refused, since ids count up"""
_VARIANT = "\ufe0f"
"""Says that an emoji is one; not all that send it say it"""


class RoomUnknown(ConfigError):
    """A room is to be recorded in a channel that cannot be one."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who says or does something."""

    kind: str
    """users, guests, emails, federated_users, bots, …"""
    id: str
    name: str
    """as it is shown"""


@dataclass(frozen=True, slots=True)
class Said:
    """A message in a room."""

    room: str
    """its token"""
    number: int
    """of the message; they count up"""
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
    """The rooms of one Nextcloud, and the vault that remembers them."""

    def __init__(self, memory: "VaultMemory", settings: Settings) -> None:
        """Raises RoomUnknown."""
        self._memory = memory
        self._channels = {room.token: room.channel for room in settings.rooms}
        self._people = {person.id: person.user for person in settings.people}
        self._sign = settings.forget_reaction.replace(_VARIANT, "").strip()
        self._may_forget = frozenset(settings.forget_by)
        self._file = memory.state.path / "talk.json"
        for room in settings.rooms:
            if not self._fits(channel=room.channel):
                raise RoomUnknown(
                    f"`talk.rooms`: {room.channel!r} cannot be the name of a channel",
                    hint="it has to be one that a folder can have",
                )

    def record(
        self, said: Said, now: datetime | None = None
    ) -> Literal["recorded", "known"]:
        """Add it to the transcript of its channel, where search finds it; on the disk when this returns.

        Raises UsageError for a room that no channel can be named after, TurnNotRecorded, VaultUnreachable.
        """
        at = now or datetime.now(UTC).astimezone()
        memory = self._memory
        turn = self._turn(said, at)
        with memory._recording, self._alone():
            memory.folder.check_identity(memory.indexing.marker.vault)
            seen = self._seen()
            known = seen.get(said.room, [])
            if said.number in known or (
                len(known) >= REMEMBERED and said.number < known[0]
            ):
                return "known"
            for added in memory.transcripts.add([turn], once=True):
                memory._took(added, at)
            self._keep({**seen, said.room: sorted([*known, said.number])[-REMEMBERED:]})
        return "recorded"

    def react(self, reacted: Reacted, now: datetime | None = None) -> bool:
        """Take back what a message said, when that is what the reaction means and who reacted may; whether it was."""
        if not self._sign or reacted.emoji.replace(_VARIANT, "").strip() != self._sign:
            return False
        turn_id, scope = (
            _turn_id(reacted.room, reacted.number),
            f"channel:{self._channel(reacted.room)}",
        )
        memory = self._memory
        turn = next(
            (one for one in memory.transcripts.of(scope) if one.id == turn_id), None
        )
        if turn is None or not self._may(reacted.actor, turn):
            return False
        with memory._recording, memory._lock:
            found = retract_turn.TurnRetraction(
                memory.curator, memory.layout, turn_id, scope
            ).run(now or datetime.now(UTC).astimezone())
            memory.indexing.refresh()
            index_erase.sweep(memory.indexing.index())
        if found.remaining:
            logger.warning(
                "what a message said is not gone everywhere: %s",
                ", ".join(found.remaining),
            )
        return not found.remaining

    def _turn(self, said: Said, at: datetime) -> "Turn":
        user = self._user(said.actor)
        name = " ".join(said.actor.name.split()) or said.actor.kind
        text = said.text if user else f"{name} ({said.actor.kind}): {said.text}"
        role = "tool" if said.actor.kind == BOTS else "user"
        origin = "owner" if user else "tool" if said.actor.kind == BOTS else "person"
        turn = conversations_turn.Turn(
            _turn_id(said.room, said.number),
            at.isoformat(),
            said.room,
            role,
            user,
            self._channel(said.room),
            text,
            origin,
            "talk",
        )
        self._memory.transcripts.path_of(turn)
        return turn

    def _channel(self, room: str) -> str:
        return self._channels.get(room, room)

    def _user(self, actor: Actor) -> str:
        """The person of the vault; empty for who has no account, or one that no folder can be named after."""
        if actor.kind != ACCOUNTS:
            return ""
        user = self._people.get(actor.id, actor.id)
        return user if self._fits(user=user) else ""

    def _may(self, actor: Actor, turn: "Turn") -> bool:
        """Whoever said it, and whom the configuration names; nobody is somebody because of the name they show."""
        if actor.kind != ACCOUNTS:
            return False
        return actor.id in self._may_forget or (
            turn.user != "" and turn.user == self._user(actor)
        )

    def _fits(self, *, user: str = "", channel: str = "") -> bool:
        try:
            day = datetime.now(UTC).date()
            conversations_turn.transcript_path(
                self._memory.layout,
                user=user,
                channel=channel,
                day=day,
                workspace=False,
            )
            people.refuse_twin(user, self._memory.root, self._memory.layout)
        except UsageError:
            return False
        return bool(user or channel)

    # ---- what has come -----------------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Another process may serve the same vault."""
        import filelock

        with filelock.FileLock(self._file.with_suffix(".lock")):
            yield

    def _seen(self) -> dict[str, list[int]]:
        """By room, the numbers of its last messages in their order."""
        try:
            said = json.loads(self._file.read_text(encoding="ascii"))
            return {
                str(room): sorted(map(int, numbers)) for room, numbers in said.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _keep(self, seen: dict[str, list[int]]) -> None:
        fresh = self._file.with_name(f"{self._file.name}.{os.urandom(6).hex()}")
        _private(fresh, json.dumps(seen))
        os.replace(fresh, self._file)


def _private(path: Path, text: str) -> None:
    with open(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
        "w",
        encoding="ascii",
    ) as stream:
        stream.write(text)


def _turn_id(room: str, number: int) -> str:
    """The same for the same message, whenever it comes."""
    return (
        "talk-"
        + hashlib.sha256(
            f"{room}\0{number}".encode("utf-8", "surrogatepass")
        ).hexdigest()[:24]
    )
