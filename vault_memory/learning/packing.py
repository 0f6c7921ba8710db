"""Which turns stand in one question of a night, and how much of each. Pure.

A question has room for so many characters, labels included. It takes unread turns in their order for as long as they
fit; the rest is for the next question of the same night. The person's own words are shown whole. What the bot and
others said between them is cut to what room is left, around a mark, and never to less than its beginning and end. What
jobs said has a fifth of the room, and more where people leave it; what does not fit is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.model_prompt import CUT, Excerpt

JOBS_SHARE = 5
"""A fifth of the room is for automated turns"""
LEAST = 200
"""Characters of a turn of somebody else that are always shown"""


@dataclass(frozen=True, slots=True)
class Piece:
    """One turn as it may stand in a question."""

    turn: Turn
    excerpt: Excerpt
    """the whole turn"""
    size: int
    """characters of its line, with the label and the line end"""
    least: int
    """to which the line may be cut; 0 when the label alone has no room"""

    @classmethod
    def of(cls, turn: Turn, *, own: bool, room: int) -> "Piece":
        who = turn.user if turn.role == "user" and turn.user else turn.role
        who += " (automated)" if turn.is_automated else ""
        excerpt = Excerpt(turn.id, turn.text, who, own, turn.ts, turn.session)
        size = excerpt.size
        label = excerpt.with_text(CUT).size
        if (
            label > room
        ):  # an id or a name of thousands of letters, in a transcript edited by hand
            return cls(turn, excerpt, size, 0)
        return cls(turn, excerpt, size, min(size, room if own else label + LEAST, room))

    def within(self, size: int) -> Excerpt | None:
        """The turn cut to so many characters; None when even its label has no room."""
        if self.size <= size:
            return self.excerpt
        return self.excerpt.cut_to(size) if self.least and self.least <= size else None


def is_own(turn: Turn, user: str) -> bool:
    """Whether a person said it: the one whose night it is, or in a channel anybody."""
    if turn.role != "user" or turn.origin != "owner" or turn.is_automated:
        return False
    return turn.user == user if user else bool(turn.user)


def prefix(turns: Sequence[Turn], user: str, room: int) -> list[Piece]:
    """The first turns that one question has room for; at least one, if there is any."""
    pieces: list[Piece] = []
    people = jobs = 0
    for turn in turns:
        piece = Piece.of(turn, own=is_own(turn, user), room=room)
        if turn.is_automated:
            jobs += piece.size
        else:
            people += piece.least
        if pieces and people + min(jobs, room // JOBS_SHARE) > room:
            break
        pieces.append(piece)
    return pieces


def packed(pieces: Sequence[Piece], room: int) -> Iterator[Excerpt]:
    """The turns as they stand in the question, in the order of the pieces; their lines fit into the room."""
    people = [piece for piece in pieces if not piece.turn.is_automated]
    jobs = [piece for piece in pieces if piece.turn.is_automated]
    needed, wanted = (
        sum(piece.least for piece in people),
        sum(piece.size for piece in people),
    )
    for_jobs = min(room - needed, max(room // JOBS_SHARE, room - wanted))
    shown_jobs = _newest(jobs, for_jobs)
    sizes = _sizes(
        people, room - min(for_jobs, sum(piece.size for piece in shown_jobs))
    )
    sizes |= _sizes(shown_jobs, for_jobs)
    for piece in pieces:
        excerpt = piece.within(sizes.get(id(piece), 0))
        if excerpt is not None:
            yield excerpt


def _newest(pieces: Sequence[Piece], room: int) -> list[Piece]:
    """The last of the pieces of which the least fits."""
    found: list[Piece] = []
    for piece in reversed(pieces):
        room -= piece.least
        if room < 0:
            break
        found.append(piece)
    return found[::-1]


def _sizes(pieces: Sequence[Piece], room: int) -> dict[int, int]:
    """How many characters each gets, by identity: as many as it wants up to a common limit, the highest that fits."""
    low, high = 0, max((piece.size for piece in pieces), default=0)
    while low < high:
        limit = (low + high + 1) // 2
        if sum(_size(piece, limit) for piece in pieces) <= room:
            low = limit
        else:
            high = limit - 1
    return {id(piece): _size(piece, low) for piece in pieces}


def _size(piece: Piece, limit: int) -> int:
    return max(piece.least, min(piece.size, limit)) if piece.least else 0
