"""Creates the configured brain; phrase rules answer when its model cannot."""

import os
from typing import TYPE_CHECKING, assert_never

from vault_memory.errors import BrainUnavailable
from vault_memory.models.base import Brain, BrainAnswer
from vault_memory.models.llm import command, labels, openai, self_test
from vault_memory.models.llm.model_access import BARE, ModelAccess
from vault_memory.models.llm.phrase_rules import RulesBrain

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.config.sections import BrainSettings as Settings
    from vault_memory.models.llm.command import CommandBrain
    from vault_memory.models.llm.openai import OpenAIBrain
    from vault_memory.models.llm.self_test import Way
    from vault_memory.rules.learning.model_prompt import Prompt, Role


class BackedBrain:
    """Answers with a model, or with the phrase rules when the model fails.

    The answer names its source and the reason for a fallback.
    """

    def __init__(self, model: Brain, rules: Brain) -> None:
        self._model, self._rules = model, rules
        self.name = model.name

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        try:
            return self._model.answer(prompt)
        except BrainUnavailable as error:
            fallback = self._rules.answer(prompt)
            return BrainAnswer(fallback.text, fallback.rung, fallback.model, error.message)


def load_brain(
    settings: "Settings",
    role: "Role",
    *,
    backed: bool = True,
    state: "Path | None" = None,
    access: ModelAccess = BARE,
) -> Brain:
    """Return the brain for a role. Without `backed`, a failing model raises `BrainUnavailable`.

    Raises `BrainUnavailable` at once when the configuration is incomplete. `state` is the state
    folder of the vault, with the verdict whether the model fills JSON objects; without it, every
    model is asked for one.
    """
    if settings.kind == "rules":
        return RulesBrain()
    model = _model(settings, role, access)
    brain: Brain = model if state is None else AdaptedBrain(settings, model, state)
    return BackedBrain(brain, RulesBrain()) if backed else brain


def chosen_way(settings: "Settings", state: "Path", access: ModelAccess = BARE) -> "Way":
    """Return how the configured model is asked; tests it when there is no verdict.

    Raises `BrainUnavailable`.
    """
    model = _model(settings, "extraction", access)
    return self_test.way_of(settings, state, lambda: model)


class AdaptedBrain:
    """Asks a model in the way that it can answer. The first answer may wait for its test."""

    def __init__(
        self, settings: "Settings", model: "CommandBrain | OpenAIBrain", state: "Path"
    ) -> None:
        self._settings, self._model, self._state = settings, model, state
        self.name = model.name

    def answer(self, prompt: "Prompt") -> BrainAnswer:
        way = self_test.way_of(self._settings, self._state, lambda: self._model)
        match way:
            case "full":
                return self._model.answer(prompt)
            case "labels":
                return labels.LabelBrain(self._model).answer(prompt)
            case _:
                assert_never(way)


def brain_trouble(
    settings: "Settings", *, seconds: float = 5.0, vault: "Path | None" = None
) -> str:
    """Return why the configured brain cannot answer now, or "". Requests the model list of a server."""
    try:
        for role in ("extraction", "curation"):
            if settings.kind != "rules":
                _model(settings, role, ModelAccess(vault))
    except BrainUnavailable as error:
        return error.message
    match settings.kind:
        case "command":
            from shutil import which

            return (
                "" if which(settings.command[0]) else f"there is no program `{settings.command[0]}`"
            )
        case "openai":
            return openai.reachable(settings, seconds=seconds, vault=vault)
    return ""


def _model(settings: "Settings", role: "Role", access: ModelAccess) -> "CommandBrain | OpenAIBrain":
    if settings.kind == "command":
        environment = access.environment
        if environment is None:
            environment = os.environ
        return command.CommandBrain(settings, environment, meter=access.meter)
    reads_turns = role in ("extraction", "facts", "channel")
    named = settings.extraction_model if reads_turns else settings.curation_model
    model = named or settings.model
    if not model:
        raise BrainUnavailable("`brain.model` is not set", hint="set it to a model of the server")
    return openai.OpenAIBrain(settings, model, access)
