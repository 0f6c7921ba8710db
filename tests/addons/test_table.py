"""The core finds each add-on by its name, and says what it lacks."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import vault_memory
from vault_memory.addons import table
from vault_memory.cli import COMMANDS, root
from vault_memory.errors import AddonMissing, VaultMemoryError
from vault_memory.remote import remotes
from vault_memory.remote.http_transport import Account

PACKAGE = Path(vault_memory.__file__).parent
FOLDERS = {path.parent.name for path in (PACKAGE / "addons").glob("*/__init__.py")}


def parts_asked_for() -> set[str]:
    """The parts that the package names: the only way to an add-on."""
    names = set()
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="part" | "optional_part"),
                    args=[ast.Constant(value=str(name))],
                ):
                    names.add(name)
    return names


def test_the_table_has_each_folder() -> None:
    assert table.OFFERS.keys() == FOLDERS


@pytest.mark.sampled
def test_each_part_that_the_core_asks_for_exists() -> None:
    names = parts_asked_for()

    assert {name.partition(".")[0] for name in names} <= FOLDERS
    assert len(names) > 5
    for name in names:
        assert table.part(name) is import_module(f"vault_memory.addons.{name}")


def test_each_command_of_an_add_on_is_a_command_of_the_program() -> None:
    for commands in table.COMMANDS.values():
        for name, summary in commands.items():
            assert COMMANDS[name][1] == summary
            assert table.commands_of(name) is not None


def test_a_missing_add_on_is_named_by_what_it_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.OFFERS, "lamps", "the light of lamps")

    with pytest.raises(AddonMissing, match="no add-on for the light of lamps"):
        table.part("lamps.wicks")
    assert table.optional_part("lamps.wicks") is None


def test_a_fault_in_an_add_on_does_not_look_like_a_missing_one() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_part"):
        table.part("s3.no_such_part")


@pytest.fixture
def lamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another package that brings a command and a scheme."""
    package = tmp_path / "lamp_addon"
    info = tmp_path / "lamp_addon-1.dist-info"
    files = {
        package / "__init__.py": 'COMMANDS = {"lamp": "Trim the lamp."}\nSCHEMES = ("lamp",)\n',
        package / "commands.py": "import click\n\n\n@click.command()\n"
        'def lamp():\n    click.echo("trimmed")\n',
        package / "homes.py": "from tests.remote.ram_remote import RamRemote, RamServer\n\n"
        "SERVER = RamServer()\n\n\ndef one_spelling(url):\n    return url.lower()\n\n\n"
        "def open_home(url, account, **place):\n    return RamRemote(SERVER)\n",
        info / "METADATA": "Metadata-Version: 2.1\nName: lamp-addon\nVersion: 1\n",
        info / "entry_points.txt": "[vault_memory.addons]\nlamp = lamp_addon\n",
    }
    for file, text in files.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in ("lamp_addon", "lamp_addon.commands", "lamp_addon.homes"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_an_add_on_of_another_package_brings_a_command_and_a_scheme(
    lamps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert root.run(["lamp"]) == 0
    assert capsys.readouterr().out == "trimmed\n"
    root.run(["--help"])
    assert "\n52 more: `vault-memory help all`\n" in capsys.readouterr().out
    root.run(["help", "all"])
    assert "Trim the lamp." in capsys.readouterr().out
    assert remotes.one_spelling("lamp://LIGHT") == "lamp://light"
    assert remotes.find("lamp://light/", Account()) == "lamp://light"


def test_a_command_that_no_group_of_the_help_has_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Add-ons" not in root.grouped_commands()

    monkeypatch.setitem(root.COMMANDS, "wick", ("", "Cut the wick."))

    assert root.grouped_commands()["Add-ons"] == {"wick": "Cut the wick."}


def test_a_vault_is_synced_with_a_home_that_an_add_on_opens(
    lamps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = lamps / "vault"
    (vault / "memory").mkdir(parents=True)
    (vault / "memory" / "oil.md").write_text("- whale oil\n")
    place = ("--vault", str(vault))

    assert root.run(["remote", "add", "lamp://light", *place]) == 0, capsys.readouterr()
    assert root.run(["sync", "--once", *place]) == 0, capsys.readouterr()

    homes = import_module("lamp_addon.homes")
    assert homes.RamRemote(homes.SERVER).get("memory/oil.md", max_bytes=99).raw == b"- whale oil\n"


def test_an_address_that_no_add_on_knows_is_refused(
    lamps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert root.run(["remote", "add", "lantern://light", "--vault", str(lamps)]) == 3
    assert "is not the URL of a WebDAV folder" in capsys.readouterr().err


@pytest.mark.sampled
@pytest.mark.parametrize("fault", ["import wick\n", "COMMANDS = 1 / 0\n"])
def test_an_add_on_that_cannot_be_imported_is_named_and_breaks_no_other_command(
    lamps: Path, fault: str
) -> None:
    (lamps / "lamp_addon" / "__init__.py").write_text(fault, encoding="utf-8")
    reason = "wick" if "wick" in fault else "ZeroDivisionError: division by zero"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = (sys.executable, "-m", "vault_memory", *words)
        environment = {**os.environ, "PYTHONPATH": str(lamps)}
        return subprocess.run(program, capture_output=True, text=True, env=environment)

    for words, code in ((["--help"], 0), (["help", "all"], 0), (["lamp"], 2), (["serach"], 2)):
        done = run(*words)
        assert done.returncode == code, done
        assert "the add-on `lamp` is left out, as `lamp_addon` cannot be imported" in done.stderr
        assert reason in done.stderr
        assert "this is a bug" not in done.stderr
    assert "Did you mean `search`?" in run("serach").stderr
    assert run("search", "--help").stderr == ""


def test_a_command_of_an_add_on_that_cannot_be_imported_says_why(
    lamps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lamps / "lamp_addon" / "commands.py").write_text("import wick\n", encoding="utf-8")

    assert root.run(["lamp"]) == 3
    said = capsys.readouterr().err
    assert "`lamp_addon.commands` cannot be imported: ModuleNotFoundError" in said
    assert "update or remove the package that brings `lamp_addon`" in said


def test_an_add_on_of_another_package_may_bring_no_scheme(
    lamps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lamps / "lamp_addon" / "__init__.py").write_text('COMMANDS = {"lamp": "Trim the lamp."}\n')

    assert root.run(["help", "all"]) == 0
    assert "\nlamp_addon:\n  lamp  Trim the lamp.\n" in capsys.readouterr().out
    with pytest.raises(VaultMemoryError, match="is not the address of a WebDAV folder"):
        remotes.find("lamp://light/", Account())


def test_a_search_does_not_read_what_is_installed() -> None:
    program = (
        "import sys\nfrom vault_memory.cli import root\n"
        "root.cli.get_command(None, 'search')\n"
        "print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "False\n", done.stderr
