"""Rules of a prompt's context: order, quoting, and which text is an instruction."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
