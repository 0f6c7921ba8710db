"""Scopes, as `user:NAME`, `channel:NAME` and `group:NAME`, and the caller to whom some are open.

A caller is the person whom a bot serves, perhaps in a channel. A face builds a Caller from its
configuration, its command line or a token, never from words of a model.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Self

from vault_memory.errors import UsageError
from vault_memory.rules.paths.layout import Layout

KINDS = ("user", "channel", "group")
OF_OWNER = "group:main"
"""The group of the notes at the root, which is open to their owner"""
READ_BY_ALL = "group:global"
"""The scope that every caller may read; a vault need not have it"""


def check_scope(scope: str) -> None:
    """Raise UsageError for a name that is not a scope, such as `mira` for `user:mira`."""
    kind, _, name = scope.partition(":")
    if kind in KINDS and name:
        return
    hint = "a scope is such as `user:alice` or `channel:harbour`"
    if ":" not in scope and scope:
        hint = f"write `user:{scope}` for a person, `channel:{scope}` for a channel"
    raise UsageError(f"{scope!r} is not a scope", hint=hint)


def check_scopes(scopes: Sequence[str]) -> None:
    """Raise UsageError for a bare string, and for a list with a name that is not a scope."""
    # Fault: a string is a sequence of letters. Each letter would be an unknown scope,
    # and the answer empty.
    if isinstance(scopes, str):
        raise UsageError(
            f"`scopes` is a list of scopes, not {scopes!r}",
            hint="name at least one scope, such as `user:alice`; an empty list finds nothing by design",
        )
    for scope in scopes:
        check_scope(scope)


class _CallerFields(NamedTuple):
    user: str
    channel: str = ""
    groups: tuple[str, ...] = ()
    private: bool = False
    """in a channel: the person's own memory is open, too; everybody there reads the answers"""
    confirms: bool = False
    """what the client says of the person's answer to a question counts as their own act"""


class Caller(_CallerFields):
    """A person whom a bot serves, and the room."""

    __slots__ = ()

    def __new__(
        cls,
        user: str,
        channel: str = "",
        groups: tuple[str, ...] = (),
        private: bool = False,
        confirms: bool = False,
    ) -> Self:
        if not user:
            raise UsageError(
                "a bot needs to know whom it serves", hint="name the person: there is no default"
            )
        return super().__new__(cls, user, channel, groups, private, confirms)

    @property
    def is_in_shared_room(self) -> bool:
        """Whether others read the answers, so that the person's own memory stays closed"""
        return bool(self.channel) and not self.private

    def scopes(self, layout: Layout) -> tuple[str, ...]:
        """Returns the open scopes; the bot writes to the first.

        The person's own scope is the first, except in a shared room: there it is closed, and the
        channel is the first. The owner of the workspace at the root has its group, too; in a shared
        room only when `groups` names it.
        """
        scopes = [f"group:{group}" for group in self.groups]
        if self.channel:
            scopes.insert(0, f"channel:{self.channel}")
        # Fault (H124): all members of a channel read the answers. The person's own
        # notes must not be among them.
        if self.is_in_shared_room:
            return tuple(scopes)
        scopes.insert(0, f"user:{self.user}")
        if self.user == layout.user and "main" not in self.groups:
            scopes.append(OF_OWNER)
        return tuple(scopes)

    def reads(self, layout: Layout) -> tuple[str, ...]:
        """Returns the readable scopes: the open ones, and the group that all may read."""
        open_ = self.scopes(layout)
        return open_ if READ_BY_ALL in open_ else (*open_, READ_BY_ALL)

    def warning(self, known: Collection[str], layout: Layout) -> str:
        """Returns that the person can read none of the notes; "" if some note can be read.

        `known` are the scopes that have a note.
        """
        people = {scope for scope in known if scope.startswith("user:")}
        # A vault without notes of people gets them from the bot, and a channel begins without one.
        if self.is_in_shared_room or not (people or OF_OWNER in known):
            return ""
        if not {*known}.isdisjoint(self.reads(layout)):
            return ""
        # Fault: a model must not read who else is in the vault, save the owner of all of it.
        owner = "others" if people - {f"user:{layout.user}"} else layout.user
        return f"{self.user} can read no note of this vault: the notes belong to {owner}"
