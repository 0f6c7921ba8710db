"""Models: embedders turn texts into vectors, language models learn from conversations.

The package is cheap to import.
"""

from vault_memory.models.telemetry import opt_out

# A library of models sends telemetry as soon as it is imported, so the variables come first.
opt_out()
