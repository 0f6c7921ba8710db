"""Prints remarks about an answer to stderr. JSON answers have the same in their keys."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.cli import search_text
from vault_memory.cli.options import Context
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.contract import FreshnessJson
    from vault_memory.contract.answers import SearchAnswerJson


def print_freshness(context: Context, freshness: "FreshnessJson") -> None:
    """Print a remark when an answer may be out of date."""
    if context.json:
        return
    for line in search_text.freshness_texts(freshness):
        context.say(line)


def print_unknown_scopes(context: Context, answer: Mapping[str, Any]) -> None:
    """Print a remark when the answer names scopes without any note."""
    if context.json or context.told_unknown:
        return
    for line in search_text.unknown_scope_texts(answer):
        context.say(line)


def print_unsearched(context: Context, answer: "SearchAnswerJson") -> None:
    """Print why a search may find less than the person expects: its filters, and the layout."""
    if context.json:
        return
    for line in search_text.unsearched_texts(answer):
        context.say(line)


def print_unknown_name(context: Context, name: str) -> None:
    """Print that no fact names a person or thing, and what to do."""
    if not context.json:
        context.say(f"no fact names `{name}`: `vault-memory facts` lists all")


def check_given_name(name: str) -> None:
    """Raise UsageError for an empty name of a person or thing."""
    if not name.strip():
        raise UsageError(
            "the name is empty", hint="name a person or a thing; `vault-memory facts` lists all"
        )
