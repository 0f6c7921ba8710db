"""What the view *Set up* offers, as the command that serves the page decides it."""

from typing import NamedTuple


class SetupOffer(NamedTuple):
    """How a page offers to set the vault up."""

    always: bool = False
    """offers it also when a layout is set"""
    hosts: tuple[str, ...] = ()
    """the names of the programs that `install` connects"""
