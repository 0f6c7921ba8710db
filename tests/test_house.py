"""The house rules that no other tool checks: sizes, names, purity, and nothing of the machine it was written on."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.every import every

PROJECT = Path(__file__).resolve().parent.parent
TOP_FOLDERS = {
    ".ci",
    ".github",
    "benchmarks",
    "docs",
    "packaging",
    "sample_vault",
    "tests",
    "tools",
    "vault_memory",
}
PACKAGE = PROJECT / "vault_memory"
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_MODULE = 500
VAGUE = {
    "base_classes",
    "common",
    "helper",
    "helpers",
    "manager",
    "misc",
    "services",
    "util",
    "utils",
}
PURE = ("contract", "markdown", "rules")
UNPURE_CALLS = {"open", "print", "input", "breakpoint"}
CLOCKS = {"now", "today", "utcnow"}

OWNERS_OF_DATABASES = {"database", "index", "sync", "vault"}
"""Packages with a database of their own, the index among them, and the one that opens all of them"""
OTHER_DATABASES = {Path("addons/fleet/bundle.py"), Path("addons/transfer/istota.py")}
"""Modules that open a file that is not the index: one to copy, or one of another program"""
DRIVERS = {
    "apsw",
    "psycopg",
    "psycopg_pool",
    "sqlite3",
    "vault_memory.database.connection.Connection",
    "vault_memory.database.connection.connect",
}
OTHER_CONNECTIONS = ("sync.connection", "urllib3.connection")
"""Connections to servers"""
SQL = re.compile(
    r"\b(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(CREATE|DROP|ALTER)\s+(TABLE|INDEX)\s|SAVEPOINT|PRAGMA\s|BEGIN\s+IMMEDIATE)"
)

# Spelt in halves, so that this file does not hold what it looks for.
MACHINE = re.compile(r"(?<![\w.}])/(?:wo" + r"rk|ro" + r"ot|op" + r"t/[a-z]+)/|\bseed-" + r"\d")

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True)
    if listing.returncode != 0:
        pytest.skip("not a git working tree, so nobody knows which files belong to the project")
    return [
        path for name in listing.stdout.split("\0") if name and (path := PROJECT / name).is_file()
    ]


@every("module", MODULES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_module_has_a_docstring_and_a_readable_length(module: Path) -> None:
    text = module.read_text(encoding="utf-8")

    assert ast.get_docstring(ast.parse(text)), "a module opens with what it is for"
    assert text.count("\n") <= LONGEST_MODULE


def test_no_package_or_module_has_a_vague_name() -> None:
    vague = [
        str(path.relative_to(PROJECT))
        for path in MODULES
        if VAGUE & set(path.relative_to(PROJECT).with_suffix("").parts)
    ]

    assert not vague


@pytest.mark.parametrize("room", PURE)
def test_pure_packages_read_no_clock_and_open_no_file(room: str) -> None:
    found = []
    for module in sorted((PACKAGE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Name) and called.id in UNPURE_CALLS:
                found.append(f"{module.name}:{node.lineno} {called.id}")
            if isinstance(called, ast.Attribute) and called.attr in CLOCKS:
                found.append(f"{module.name}:{node.lineno} .{called.attr}")

    assert not found


def is_owner_of_a_database(module: Path) -> bool:
    path = module.relative_to(PACKAGE)
    is_ledger = path.is_relative_to("addons/fleet/ledger")
    return is_ledger or path.parts[0] in OWNERS_OF_DATABASES or path in OTHER_DATABASES


def docstrings(tree: ast.Module) -> set[ast.AST]:
    """Each string that is a statement: a docstring, or the note below a constant."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def queries_in(module: Path) -> list[str]:
    """What a module has of a database: its statements, its library, and connections."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    prose = docstrings(tree)
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in prose:
                if SQL.search(text):
                    found.append(f"{module.name}:{node.lineno} a statement")
            case ast.Attribute(attr="connection"):
                if not ast.unparse(node).endswith(OTHER_CONNECTIONS):
                    found.append(f"{module.name}:{node.lineno} {ast.unparse(node)}")
            case ast.Import(names=names):
                drivers = DRIVERS & {alias.name for alias in names}
                found += [f"{module.name}:{node.lineno} {name}" for name in drivers]
            case ast.ImportFrom(module=source, names=names):
                sources = {source, *(f"{source}.{alias.name}" for alias in names)}
                drivers = DRIVERS & sources
                found += [f"{module.name}:{node.lineno} {name}" for name in drivers]
    return found


def test_only_the_owner_of_a_database_queries_it() -> None:
    found = [
        query
        for module in MODULES
        if not is_owner_of_a_database(module)
        for query in queries_in(module)
    ]

    assert not found


@pytest.mark.parametrize(
    "text",
    [
        'rows = run("SELECT path FROM note")',
        'run(f"DELETE FROM {table} WHERE id = 1")',
        "rows = index.connection.run(text)",
        "import apsw",
        "from vault_memory.database.connection import Connection",
    ],
)
def test_a_query_above_the_index_is_noticed(text: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(text, encoding="utf-8")

    assert queries_in(module)


def test_no_file_mentions_the_machine_it_was_written_on() -> None:
    found = []
    for path in tracked_files():
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if hit := MACHINE.search(line):
                found.append(f"{path.relative_to(PROJECT)}:{number} {hit.group()}")

    assert not found


def test_every_relative_link_in_the_documentation_has_a_target() -> None:
    pages = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    links = [
        (page, target)
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
    ]

    broken = [
        f"{page.name} → {target}"
        for page, target in links
        if "://" not in target and not (page.parent / target).exists()
    ]

    assert not broken


def test_the_project_has_no_folder_that_a_program_left_at_its_top() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True)
    folders = {name.partition("/")[0] for name in tracked.stdout.split("\0") if "/" in name}

    assert folders <= TOP_FOLDERS


def test_every_package_is_listed_in_the_import_contract() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms, pure, *_ = settings["tool"]["importlinter"]["contracts"]

    assert rooms["exhaustive"]
    assert {name.rsplit(".")[-1] for name in pure["source_modules"]} == set(PURE)


def test_the_wheel_contains_what_the_program_needs_at_run_time() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PROJECT / "sample_vault" / ".vault-memory").exists() is False, (
        "a marker is written on first use, never shipped"
    )
    assert list((PROJECT / "sample_vault").rglob("*.md"))


def test_no_class_or_module_name_uses_a_word_the_glossary_avoids() -> None:
    glossary = tomllib.loads((PROJECT / "docs" / "glossary.toml").read_text("utf-8"))
    avoided = {word for term in glossary["term"] for word in term.get("avoid", [])}
    names = {path.stem for path in MODULES}
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                words = re.findall(r"[A-Z][a-z]+", node.name)
                names.update(word.lower() for word in words)

    assert not avoided & names
