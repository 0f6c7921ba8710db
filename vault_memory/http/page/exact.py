"""A text that a template writes character by character, such as the text of an editor's box."""


class Exact(str):
    """A text in which no character is replaced by a mark. It is escaped like any text."""

    __slots__ = ()
