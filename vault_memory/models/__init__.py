"""Models: embedders turn texts into vectors, language models find what is worth remembering. Cheap to import."""

from vault_memory.models.telemetry import opt_out

opt_out()  # here, before any module of this package can import a library that phones home
