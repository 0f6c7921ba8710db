# The daemon of one vault, in a container. To build it and to run it see docs/guides/keep-it-running.md.
FROM python:3.13-slim AS build

ARG EXTRAS=all
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY vault_memory vault_memory
COPY sample_vault sample_vault
COPY docs/man/vault-memory.1 docs/man/vault-memory.1
RUN python -m venv /app \
    && /app/bin/pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]"


FROM python:3.13-slim

RUN useradd --uid 1000 --create-home memory \
    && install --directory --owner=memory --group=memory --mode=700 /vault /state
COPY --from=build /app /app

ENV PATH=/app/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    VAULT_MEMORY_VAULT=/vault \
    VAULT_MEMORY_STATE=/state \
    VAULT_MEMORY_CACHE=/state/models \
    ORT_DISABLE_TELEMETRY=1 \
    HF_HUB_DISABLE_TELEMETRY=1
USER memory
WORKDIR /vault
VOLUME ["/vault", "/state"]

# Healthy is a daemon that answers; without one `status` answers by itself, and says so.
HEALTHCHECK --interval=60s --timeout=30s --start-period=120s --retries=3 \
    CMD vault-memory status --json | grep -q '"daemon": {"running": true'

ENTRYPOINT ["vault-memory"]
CMD ["run"]
