"""Texts in templates: hidden letters become visible marks, but for texts that have to be exact."""

from markupsafe import Markup

from vault_memory.http.page.note_html import hidden_letters


class Exact(str):
    """A text in which no letter is replaced by a mark. It is escaped like any text."""

    __slots__ = ()


def finalize(value: object) -> object:
    """Returns what a template writes for a value: a text with marks for its hidden letters."""
    # Markup is a text that was made visible before it became HTML.
    if not isinstance(value, str) or isinstance(value, Exact | Markup):
        return value
    return hidden_letters.visible(value)
