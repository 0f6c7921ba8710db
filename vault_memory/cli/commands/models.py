"""`models`: lists, fetches and removes the models for search by meaning."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vault_memory import config as configuration
from vault_memory import places
from vault_memory.admin import config_change
from vault_memory.cli.options import Context, common, grouped
from vault_memory.errors import NoVault, UsageError
from vault_memory.models.embedding import catalog, embedders, model_store

if TYPE_CHECKING:
    from vault_memory.config.sections import EmbeddingSettings
    from vault_memory.contract.setup_answers import (
        ModelInstalledJson,
        ModelJson,
        ModelRemovedJson,
        ModelsJson,
    )
    from vault_memory.models.embedding.catalog import Model
    from vault_memory.models.embedding.hub_download import Progress

MEGABYTE = 1_000_000
FROM = {"file": "the file", "index": "the package index", "hub": "the model hub"}


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options of `models install`."""

    use: bool
    file: str | None


@click.command()
@click.argument("action", required=False, type=click.Choice(["install", "remove"]))
@click.argument("name", required=False)
@click.option(
    "--use",
    is_flag=True,
    help="With install: use the model for this vault, and write that into its configuration.",
)
@click.option(
    "--from",
    "file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="With install: take the package file, which was downloaded on another machine.",
)
@common
@click.pass_obj
@grouped(ModelOptions, "options")
def models(context: Context, action: str | None, name: str | None, options: ModelOptions) -> None:
    """List the models for search by meaning; fetch or remove one.

    \b
    install NAME  fetches the model, and compares it with its published SHA-256
    remove NAME   removes what `install` fetched

    A model comes from the package index that pip uses. Where that has none, `minilm` comes from
    the model hub. A download that was cut off goes on when the command is run again.

    \b
    Examples:
      vault-memory models
      vault-memory models install multilingual --use
    """
    if action is None:
        _list(context)
        return
    if name is None:
        raise UsageError(
            f"`models {action}` needs the name of a model",
            hint=f"the models are {', '.join(catalog.MODELS)}",
        )
    model = catalog.MODELS.get(name)
    if model is None:
        raise UsageError(
            f"there is no model `{name}`", hint=f"the models are {', '.join(catalog.MODELS)}"
        )
    if action == "install":
        _install(context, model, options)
    else:
        _remove(context, model)


def _cache() -> Path:
    return Path(places.cache_root(os.environ))


def _list(context: Context) -> None:
    settings = _settings(context)
    rows = [_row(model, settings) for model in catalog.MODELS.values()]
    missing = embedders.available(settings, cache=_cache())
    fix = ""
    if missing and settings.kind != "off":
        fix = embedders.remedy(settings, cache=_cache())
    answer: ModelsJson = {
        "kind": settings.kind,
        "model": settings.model,
        "reason": missing,
        "fix": fix,
        "models": rows,
    }
    context.emit(answer, lambda: "\n".join(_lines(answer)))


def _settings(context: Context) -> "EmbeddingSettings":
    """Return the settings of the vault; outside of a vault those of the environment."""
    try:
        with context.open(marks=False) as memory:
            return memory.vault.config.embedding
    except NoVault:
        # A model is fetched for all vaults of this person, so none is needed.
        return configuration.load(None, os.environ).embedding


def _row(model: "Model", settings: "EmbeddingSettings") -> "ModelJson":
    location = catalog.locate(model, _cache())
    hub = model_store.hub_weights(model, _cache())
    path = location.weights if location else hub
    source = location.source if location else "folder"
    is_used = settings.kind in ("auto", "onnx") and settings.model == model.name
    return {
        "name": model.name,
        "title": model.title,
        "languages": model.languages,
        "licence": model.licence,
        "bytes": model.wheel.size,
        "installed": source if path else "no",
        "path": str(path or ""),
        "in_use": is_used,
        "missing_modules": embedders.missing_modules(model),
    }


def _lines(answer: "ModelsJson") -> Iterator[str]:
    places_of = {"package": "installed as a package", "folder": "installed", "no": "not installed"}
    for row in answer["models"]:
        size = f"{row['bytes'] / MEGABYTE:.0f} MB"
        words = [row["title"], row["languages"], size, row["licence"]]
        words.append(places_of[row["installed"]])
        if row["in_use"]:
            words.append("in use")
        yield f"{row['name']:<13} {' · '.join(words)}"
        if row["path"]:
            yield f"{'':<13} {row['path']}"
    if answer["reason"]:
        yield f"search by meaning is off: {answer['reason']}"
    else:
        yield f"search by meaning is on: {answer['kind']}, model {answer['model']}"
    if answer["fix"]:
        yield f"hint: {answer['fix']}"


def _install(context: Context, model: "Model", options: ModelOptions) -> None:
    size = f"{model.wheel.size / MEGABYTE:.0f} MB"
    context.say(f"fetching {model.title} ({size}) unless it is here already")
    with context.progress() as progress:
        fetched = model_store.fetch_model(
            model,
            _cache(),
            file=Path(options.file) if options.file else None,
            progress=_reporter(progress),
        )
    config_file = ""
    if options.use:
        with context.open() as memory:
            values = {"kind": "auto", "model": model.name}
            change = config_change.change_table(memory.vault, "embedding", values)
            config_file = str(change.file)
    next_command = _next_command(context, model, is_used=options.use)
    answer: ModelInstalledJson = {
        "model": model.name,
        "source": fetched.source,
        "path": str(fetched.weights),
        "config_file": config_file,
        "next": next_command,
    }
    context.emit(answer, lambda: "\n".join(_installed_lines(answer)))


def _reporter(progress: "Progress | None") -> "Progress | None":
    if progress is None:
        return None
    return lambda name, received, total: progress("fetching", received, total)


def _next_command(context: Context, model: "Model", *, is_used: bool) -> str:
    """Return the command that is still missing for search by meaning with this model."""
    if embedders.missing_modules(model):
        return embedders.install_command(model.extra)
    settings = _settings(context)
    is_configured = settings.kind in ("auto", "onnx") and settings.model == model.name
    if is_used or is_configured:
        return "vault-memory index"
    return f"vault-memory models install {model.name} --use"


def _installed_lines(answer: "ModelInstalledJson") -> Iterator[str]:
    if answer["source"] == "present":
        yield f"{answer['model']} is here already: {answer['path']}"
    else:
        yield f"{answer['model']} from {FROM[answer['source']]}: {answer['path']}"
    if answer["config_file"]:
        yield f"this vault uses it: {answer['config_file']}"
    yield f"next: {answer['next']}"


def _remove(context: Context, model: "Model") -> None:
    removed = model_store.remove_model(model, _cache())
    location = catalog.locate(model, _cache())
    if not removed and location is not None:
        package = model.wheel.requirement.partition("=")[0]
        raise UsageError(
            f"the model `{model.name}` belongs to the installed package `{package}`",
            hint=f"pip uninstall {package}",
        )
    answer: ModelRemovedJson = {"model": model.name, "removed": [str(folder) for folder in removed]}
    context.emit(answer, lambda: _removed_text(answer))


def _removed_text(answer: "ModelRemovedJson") -> str:
    if not answer["removed"]:
        return f"{answer['model']} is not installed"
    return "\n".join(f"removed {folder}" for folder in answer["removed"])
