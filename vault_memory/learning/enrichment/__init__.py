"""What a night adds once its turns are read: names, episodes, curation, reflections, settled claims."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
