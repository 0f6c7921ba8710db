"""Who a bot speaks for: a person, perhaps in a channel, and the scopes that this opens to it.

A face builds a Caller from its configuration, its arguments at the start, or a token; never from what a model says.
"""

from dataclasses import dataclass

from vault_memory.errors import UsageError
from vault_memory.memory import Layout


@dataclass(frozen=True, slots=True)
class Caller:
    """A person whom a bot serves, and where."""

    user: str
    channel: str = ""
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.user:
            raise UsageError("a bot needs to know whom it serves", hint="name the person: there is no default")

    def scopes(self, layout: Layout) -> tuple[str, ...]:
        """The scopes that are open, the person's first. Whoever owns the workspace at the root has its group, too."""
        groups = (*self.groups, "main") if self.user == layout.user and "main" not in self.groups else self.groups
        channel = (f"channel:{self.channel}",) if self.channel else ()
        return (f"user:{self.user}", *channel, *(f"group:{group}" for group in groups))
