"""What questions to a language model cost: tokens by scope and month, and the budget."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
