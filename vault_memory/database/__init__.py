"""Opens SQLite: pragmas, migrations, repair, sqlite-vec. The packages above decide what is stored."""
