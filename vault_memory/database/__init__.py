"""Opens SQLite: pragmas, migrations, repair, sqlite-vec. The packages above decide what is stored."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
