"""Writes the reference pages that follow from the code: the configuration, the errors, the
glossary, HTTP, and the manual page of the command line.

python docs/generate.py            writes docs/reference/{configuration,errors,glossary,http}.md
                                   and docs/man/vault-memory.1
python docs/generate.py --check    says which of them are out of date, and exits with 1
"""

import ast
import importlib
import inspect
import pkgutil
import sys
import textwrap
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import vault_memory
from vault_memory import config, errors

REFERENCE = Path(__file__).resolve().parent / "reference"
GLOSSARY = Path(__file__).resolve().parent / "glossary.toml"
NOTICE = "<!-- Generated from the code by docs/generate.py; `make docs` writes it again. -->"


# --- The command line ---------------------------------------------------------------------------------------------

EXIT_CODES = {
    0: "done",
    1: "the command failed",
    2: "the command line is wrong",
    3: "the configuration is missing or wrong",
    4: "the vault or the server cannot be reached",
    5: "a person has to decide, for instance about a conflict",
    6: "another process holds the lock",
    75: "kept, and done later: an edit or an upload waits; what was not kept exits with 1",
}


def manual_page() -> str:
    """The page that `man vault-memory` shows."""
    from manual import page

    from vault_memory.cli.root import cli as root

    return page(root, EXIT_CODES)


# --- The configuration --------------------------------------------------------------------------------------------


def configuration() -> str:
    """One section for each table of the file, with type, default and meaning of each key."""
    out = [
        "# Configuration",
        NOTICE,
        "Every key has a default, so no file is needed. The file is TOML. `--config` or `VAULT_MEMORY_CONFIG` names it; "
        "the default is `vault-memory.toml` in the state folder of the vault. Environment variables override the file: "
        f'`{config.ENVIRONMENT_PREFIX}EMBEDDING_KIND=off` is `kind = "off"` under `[embedding]`. Options of the command '
        "line override both. An unknown key or a wrong value is an error. It names the place and the expected value. One "
        "error reports all problems. A key that is no longer a setting is not read, and a remark says why.",
        "Four variables name places. `VAULT_MEMORY_VAULT` is the vault, and `VAULT_MEMORY_CONFIG` the configuration file. "
        "`VAULT_MEMORY_STATE` is the folder for the indexes of all vaults. `VAULT_MEMORY_CACHE` is the folder for "
        "downloaded models. `VAULT_MEMORY_AUTOMATED=1` marks the turns that a process records as those of a job. "
        "`VAULT_MEMORY_USER` names the person for [a package](../addons/hosts.md#packages) that asks nothing.",
    ]
    tables = {
        name: kind
        for name, kind in get_type_hints(config.Config).items()
        if name in config.SECTIONS
    }
    moved = ", ".join(
        f"`{key}` (the same as under [{table}])" for key, table in config.ALSO_AT_TOP.items()
    )
    out += [
        "## At the top",
        f"Before the first table, where {moved} may stand as well.",
        _keys(config.Config, tables),
    ]
    nested = []
    for name, section in tables.items():
        out += [
            f"## [{name}]",
            _prose(inspect.getdoc(section)),
            _keys(section, _tables_of(section)),
        ]
        for key, table in _tables_of(section).items():
            out += [f"## [{name}.{key}]", _prose(inspect.getdoc(table)), _keys(table)]
        nested += [inner for kind in get_type_hints(section).values() if (inner := _item(kind))]
    for table in nested:
        out += [f"## {table.__name__}", _prose(inspect.getdoc(table)), _keys(table)]
    return _page(out)


def _tables_of(section: Any) -> dict[str, Any]:
    """The tables inside a table, by key."""
    hints = get_type_hints(section)
    return {key: kind for key, kind in hints.items() if config.is_table(kind)}


def _item(kind: object) -> Any:
    """What a list of tables is a list of."""
    return next((inner for inner in get_args(kind) if config.is_table(inner)), None)


PLAIN = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}


def _keys(table: Any, without: Collection[str] = ()) -> str:
    meanings, types = _field_docs(table), get_type_hints(table)
    rows = []
    for name in (name for name in table._fields if name not in without):
        default = (
            f"`{_toml(table._field_defaults[name])}`"
            if name in table._field_defaults
            else "required"
        )
        # The default of a text, a number or a flag shows its type.
        kind = "" if default != "required" and types[name] in PLAIN else f" ({_type(types[name])})"
        meaning = _one_line(meanings.get(name, ""))
        rows.append(f"- `{name}` = {default}{kind}: {meaning}".removesuffix(": "))
    return "\n".join(rows)


def _field_docs(table: type) -> dict[str, str]:
    """The strings under the fields, as they stand in the source."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(table))).body
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for line, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            docs[ast.unparse(line.target)] = str(after.value.value)
    return docs


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
    return str(value)


def _type(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind) if choice)
    if get_args(kind)[:1] == (str,):
        return "list of texts"
    if inner := _item(kind):
        return f"list of [{inner.__name__}](#{inner.__name__.lower()})"
    return PLAIN.get(kind) or str(kind).replace("|", "or")


# --- The errors ---------------------------------------------------------------------------------------------------


def error_classes() -> str:
    """Every situation that has a name, by the exit code of a command."""
    out = [
        "# Errors",
        NOTICE,
        "What goes wrong is said in one sentence, followed by what to do next. With `--json` the same stands in one "
        'object, `{"error": {"code", "message", "hint", …}}`, and the code is one of these. They stay the same '
        "from version to version; the sentences may change. The number behind a code is the status over HTTP.",
    ]
    named = {kind for kind in _descendants(errors.VaultMemoryError) if "code" not in vars(kind)}
    kinds = sorted(named, key=lambda kind: (_code(kind), kind.__module__))
    for exit_code, meaning in EXIT_CODES.items():
        rows = [
            f"- `{_code(kind)}` ({kind.http_status}): {_situation(kind)}"
            for kind in kinds
            if kind.exit_code == exit_code
        ]
        out += [f"## Exit code {exit_code}", f"{meaning[0].upper()}{meaning[1:]}.", "\n".join(rows)]
    return _page(out)


def _descendants(kind: type[errors.VaultMemoryError]) -> Iterator[type[errors.VaultMemoryError]]:
    for module in pkgutil.walk_packages(vault_memory.__path__, "vault_memory."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting = list(kind.__subclasses__())
    while waiting:
        waiting += (found := waiting.pop()).__subclasses__()
        yield found


def _situation(kind: type[errors.VaultMemoryError]) -> str:
    return _one_line(inspect.getdoc(kind) or "")


def _code(kind: type[errors.VaultMemoryError]) -> str:
    return str(kind.code.fget(kind.__new__(kind)))  # type: ignore[attr-defined]


# --- HTTP ---------------------------------------------------------------------------------------------------------


def http_calls() -> str:
    """One section for each call, with its fields and what it answers."""
    from vault_memory.contract.calls import ROUTES
    from vault_memory.http.openapi import document

    told = document(ROUTES)
    out = [
        "# Calls over HTTP",
        NOTICE,
        "What `vault-memory serve` answers. The same stands in the OpenAPI document at `/openapi.json`. Each call but "
        "those marked as open needs `Authorization: Bearer TOKEN`; bodies and answers are JSON. Keys are stable, and "
        "more may be added to answers. A field that is not listed is refused.",
    ]
    for path, operations in told["paths"].items():
        for method, said in operations.items():
            is_open = " Open: no token is needed." if said.get("security") == [] else ""
            out += [
                f"## {method.upper()} {path}",
                f"{said['summary']}.{is_open}",
                _fields(told, said),
            ]
            answer = said["responses"]["200"]["content"]["application/json"]["schema"]
            keys = _schema(told, answer).get("properties", {})
            out += [f"Gives {', '.join(f'`{key}`' for key in keys)}."] if keys else []
    out += [
        "## Refusals",
        'Errors are `{"error": {"code", "message", "hint"}}`; the [codes](errors.md) are listed.',
    ]
    rows = [
        f"- {status}: {_one_line(one['description'])}"
        for status, one in told["components"]["responses"].items()
    ]
    return _page([*out, "\n".join(rows)])


def _schema(told: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rsplit("/")[-1]
    found: dict[str, Any] = told["components"]["schemas"][name] if name else schema
    return found


def _fields(told: dict[str, Any], said: dict[str, Any]) -> str:
    fields = [
        (one["name"], one["schema"] | one, one["required"]) for one in said.get("parameters", [])
    ]
    if "requestBody" in said:
        body = _schema(told, said["requestBody"]["content"]["application/json"]["schema"])
        required = body.get("required", [])
        fields = [(name, kind, name in required) for name, kind in body["properties"].items()]
    rows = []
    for name, kind, required in fields:
        needed = ", required" if required else ""
        meaning = _one_line(kind.get("description", ""))
        rows.append(f"- `{name}` ({_json_type(kind)}{needed}): {meaning}".removesuffix(": "))
    return "\n".join(rows)


def _json_type(kind: dict[str, Any]) -> str:
    if "anyOf" in kind:
        return " or ".join(_json_type(one) for one in kind["anyOf"] if one.get("type") != "null")
    if "enum" in kind:
        return ", ".join(f"`{choice}`" for choice in sorted(kind["enum"]))
    if kind.get("type") == "array":
        return f"list of {_json_type(kind['items'])}"
    names = {"string": "text", "integer": "whole number", "boolean": "`true` or `false`"}
    return "day" if kind.get("format") == "date" else names.get(kind.get("type", ""), "any")


# --- Pages --------------------------------------------------------------------------------------------------------


# --- The glossary -------------------------------------------------------------------------------------------------


def glossary() -> str:
    """One line for each term of `docs/glossary.toml`, in the order of the alphabet."""
    with GLOSSARY.open("rb") as file:
        terms = tomllib.load(file)["term"]
    lines = [
        f"- **{term['name']}**: {term['means']}{_avoided(term.get('avoid', []))}"
        for term in sorted(terms, key=lambda term: term["name"])
    ]
    introduction = (
        "The words of the code, the documentation and the messages. Each means one thing."
    )
    return _page(["# Glossary", NOTICE, introduction, "\n".join(lines)])


def _avoided(words: list[str]) -> str:
    if not words:
        return ""
    return f" Not: {', '.join(words)}."


# --- Pages --------------------------------------------------------------------------------------------------------


def _prose(text: str | None) -> str:
    paragraphs = inspect.cleandoc(text or "").replace("``", "`").split("\n\n")
    return "\n\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    """A paragraph that keeps its line breaks in the help, after `\\b`, keeps them on the page."""
    if not text.startswith("\b\n"):
        return text
    lines = text.removeprefix("\b\n").split("\n")
    title = lines.pop(0) + "\n\n" if lines[0].endswith(":") else ""
    table = textwrap.dedent("\n".join(lines))
    return f"{title}```text\n{table}\n```"


def _one_line(text: str) -> str:
    first = _prose(text).split("\n\n")[0]
    return " ".join(first.split())


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


PAGES = {
    "configuration.md": configuration,
    "errors.md": error_classes,
    "glossary.md": glossary,
    "http.md": http_calls,
    "../man/vault-memory.1": manual_page,
}


def main() -> int:
    """Writes, or compares; the result is the exit code."""
    stale = []
    for name, write in PAGES.items():
        page, text = REFERENCE / name, write()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
    if not stale:
        return 0
    if "--check" in sys.argv:
        print(f"error: out of date: {', '.join(stale)}\n\nhint: make docs", file=sys.stderr)
        return 1
    print(f"wrote {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
