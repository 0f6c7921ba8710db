"""Rules of the memory tool: its paths and its answers."""
