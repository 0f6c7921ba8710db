"""Scope names: `user:NAME`, `channel:NAME` and `group:NAME`."""

from collections.abc import Sequence

from vault_memory.errors import UsageError

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
