"""Every public call refuses a wrong value with a UsageError that names the argument, and never with an error from inside."""

import inspect
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Unpack, get_args, get_origin

import pytest

from tests.every import every
from vault_memory import UsageError, VaultMemory, VaultMemoryError

ME = "user:mira"
GOOD: dict[str, Any] = {
    "query": "lamp",
    "prompt": "lamp",
    "scopes": [ME],
    "scope": ME,
    "session": "s",
    "role": "user",
    "text": "The lamp is mended by Ove",
    "user": "mira",
    "channel": "harbour",
    "note": "MEMORY.md",
    "ops": [{"op": "append", "heading": "Lamps", "line": "a red lamp"}],
    "record_id": "0123456789",
    "proposal_id": "0123456789",
    "candidate_id": "0123456789",
    "copy_id": "0123456789",
    "thrown_id": "0123456789",
    "fact_id": "0123456789",
    "revision": "0123456789",
    "entity": "Ove",
    "name": "Ove",
    "subject": "Ove",
    "predicate": "keeps",
    "object": "bees",
    "verdict": "drop",
    "ids": ["0123456789"],
    "ref": "MEMORY.md:1",
    "ts": "2026-01-31",
    "paths": ["MEMORY.md"],
    "right": {"object": "wasps"},
    "program": "chatgpt",
    "source": "no-such-folder",
    "target": "vault/copy",
}
"""Values that a call takes for its arguments without a default"""
PARTS = {
    "": (
        "search context record_turn end_session memory_tool apply undo log history restore approve"
        " reject timeline add_fact correct_fact remember sleep forget read notes index refresh"
        " status doctor"
    ),
    "facts": "__call__ timeline entity relevant find scope_for correct invalidate delete confirm",
    "edits": "undo log history restore read_version approve reject",
    "conflicts": "__call__ merge take discard untrash",
    "conversations": "is_incognito open_conversation end_session",
    "learning": "held decide_held feedback next_night status compact append_summary",
    "source": "__call__",
    "forgetting": "forget take_back",
    "searcher": "index notes stats read",
    "transfer": "import_from import_chats export",
}
"""Part → its calls that a bot makes"""
CALLS = [(part, name) for part, names in PARTS.items() for name in names.split()]
WRONG_TYPES: tuple[Any, ...] = (7.5, object(), b"mira", {"a": 1}, [3], {3}, ...)
WRONG_TEXTS = ("", " ", "\0", "\ud800", "x" * 5000, "a\nb", "../x", "/etc", "🦑", "-1")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULT_MEMORY_EMBEDDING_KIND", "off")
    # A target such as `-1` is a folder below the current one.
    monkeypatch.chdir(tmp_path)
    vault = tmp_path / "vault"
    (vault / "Users/mira/memories").mkdir(parents=True)
    (vault / "Users/mira/memories/a.md").write_text("# A\n\n- the lamp is red\n")
    (vault / "MEMORY.md").write_text("# M\n\n## Lamps\n\n- the lamp is green\n")
    with VaultMemory.open(vault) as opened:
        yield opened


def call_of(memory: VaultMemory, part: str, name: str) -> Any:
    owner = getattr(memory, part) if part else memory
    return owner if name == "__call__" else getattr(owner, name)


def good_arguments(call: Any) -> dict[str, Any]:
    """Values for the arguments without a default."""
    return {
        parameter.name: GOOD[parameter.name]
        for parameter in inspect.signature(call).parameters.values()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }


def parameters_of(call: Any) -> list[str]:
    names = []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(parameter.name)
        elif get_origin(parameter.annotation) is Unpack:
            (keywords,) = get_args(parameter.annotation)
            names += keywords.__annotations__
    return names


@pytest.mark.sampled
@pytest.mark.parametrize(("part", "name"), CALLS, ids=str)
def test_a_value_of_a_wrong_type_is_a_usage_error(memory: VaultMemory, part: str, name: str):
    call = call_of(memory, part, name)
    arguments = good_arguments(call)
    for argument in parameters_of(call):
        for wrong in WRONG_TYPES:
            if fits(argument, wrong):
                continue
            with pytest.raises(UsageError) as refused:
                call(**{**arguments, argument: wrong})
            assert str(refused.value), (argument, wrong)
            assert refused.value.hint, (argument, wrong)


def fits(argument: str, value: object) -> bool:
    """Whether a value of `WRONG_TYPES` is right for an argument."""
    numbers = {"below", "confidence", "right"}
    if argument == "ops":
        # An impossible op is refused by itself, with its reason in the answer.
        return isinstance(value, list | set)
    return (argument in numbers and value == 7.5) or (
        argument in ("right", "where") and isinstance(value, dict)
    )


@pytest.mark.sampled
@pytest.mark.parametrize(("part", "name"), CALLS, ids=str)
def test_a_strange_text_is_taken_or_refused_with_the_next_step(
    memory: VaultMemory, part: str, name: str
):
    call = call_of(memory, part, name)
    arguments = good_arguments(call)
    for argument in parameters_of(call):
        for text in WRONG_TEXTS:
            value: Any = [text] if argument in ("scopes", "ids", "paths") else text
            # Any other error, such as UnicodeEncodeError, fails the test.
            with suppress(VaultMemoryError):
                call(**{**arguments, argument: value})


@pytest.mark.parametrize("argument", ["since", "until"])
def test_a_search_takes_dates_times_and_texts(memory: VaultMemory, argument: str):
    (memory.root / "Users/mira/memories/2026-05-03.md").write_text("- the lamp\n")
    answers = [
        memory.search("lamp", scopes=[ME], **{argument: day})  # type: ignore[arg-type]
        for day in (date(2026, 5, 3), datetime(2026, 5, 3, 12, 0), "2026-05-03", "2026-05-03T12:00")
    ]

    assert len({answer.hits[0].note for answer in answers}) == 1
    assert answers[0].hits[0].date == "2026-05-03"


@every("path", [3, b"vault", ["vault"], "\0", object()])
def test_a_vault_that_is_no_path_is_a_usage_error(path: Any):
    with pytest.raises((UsageError, VaultMemoryError)):
        VaultMemory.open(path)


@pytest.mark.parametrize("config", [3, b"x", ["x"], {"a": 1}])
def test_a_configuration_that_is_no_file_is_a_usage_error(tmp_path: Path, config: Any):
    with pytest.raises(UsageError):
        VaultMemory.open(tmp_path, config)


def test_an_error_names_the_argument_and_what_it_takes(memory: VaultMemory):
    with pytest.raises(UsageError) as refused:
        memory.search("lamp", scopes=[ME], limit="three")  # type: ignore[arg-type]

    assert refused.value.message == "`limit` is a whole number or None, not 'three'"
    assert refused.value.hint == "pass `limit` as a whole number or None"


@pytest.mark.parametrize("kind", [str, Path, lambda place: None])
def test_a_vault_that_is_not_open_is_told_how_to_open_it(tmp_path: Path, kind: Any):
    with pytest.raises(UsageError) as refused:
        VaultMemory(kind(tmp_path))

    assert refused.value.hint == "write `VaultMemory.open(PATH)`"
