"""Who a bot speaks for: a person, perhaps in a channel, and the scopes that this opens to it.

A face builds a Caller from its configuration, its arguments at the start, or a token; never from what a model says.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from vault_memory.errors import UsageError
from vault_memory.rules.paths.layout import Layout

READ_BY_ALL = "group:global"


class _Fields(NamedTuple):
    user: str
    channel: str = ""
    groups: tuple[str, ...] = ()
    private: bool = False
    """in a channel: open the person's own memory there, too; everybody in the channel reads the answers"""


class Caller(_Fields):
    """A person whom a bot serves, and where."""

    __slots__ = ()

    def __new__(
        cls,
        user: str,
        channel: str = "",
        groups: tuple[str, ...] = (),
        private: bool = False,
    ) -> Self:
        if not user:
            raise UsageError(
                "a bot needs to know whom it serves",
                hint="name the person: there is no default",
            )
        return super().__new__(cls, user, channel, groups, private)

    @property
    def is_in_shared_room(self) -> bool:
        """Whether others read the answers, so that the person's own memory stays closed."""
        return bool(self.channel) and not self.private

    def scopes(self, layout: Layout) -> tuple[str, ...]:
        """The open scopes; what the bot remembers goes to the first.

        The person's own scope is the first, except in a shared room: there it is closed, and the channel is the first.
        Whoever owns the workspace at the root has its group, too; in a shared room only when `groups` names it.
        """
        channel = (f"channel:{self.channel}",) if self.channel else ()
        named = tuple(f"group:{group}" for group in self.groups)
        if self.is_in_shared_room:
            return (*channel, *named)
        owned = (
            ("group:main",)
            if self.user == layout.user and "main" not in self.groups
            else ()
        )
        return (f"user:{self.user}", *channel, *named, *owned)

    def reads(self, layout: Layout) -> tuple[str, ...]:
        """The scopes that may be read: those that are open, and the group that is read by all."""
        open_ = self.scopes(layout)
        return open_ if READ_BY_ALL in open_ else (*open_, READ_BY_ALL)

    def may_read(self, path: str, layout: Layout) -> bool:
        """Whether a note may be read: it lies in such a scope, and search reads it (not INBOX, not the audit)."""
        place = layout.place(path)
        return place is not None and place.indexed and place.scope in self.reads(layout)

    def shown(self, found: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
        """An answer of the JSON contract, in which no stale note of somebody else is named."""
        fresh = found["freshness"]
        stale = [path for path in fresh["stale_files"] if self.may_read(path, layout)]
        return {**found, "freshness": {**fresh, "stale_files": stale}}
