"""What every command prints: each session is a list of command lines on one vault, once for people and once as JSON."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.contract.shapes import problems
from tests.goldens import product
from tests.goldens.sandbox import Sandbox
from tests.goldens.sessions import SESSIONS, Command, Save, Session

PLACEHOLDER = re.compile(r"\{(\w+)( [^}]*)?\}")


def transcript(session: Session, folder: Path, *, as_json: bool) -> str:
    """Every command of a session with its exit code and all that it printed, and the files that it changed."""
    sandbox = Sandbox(folder)
    session.prepare(sandbox)
    before = files_of(sandbox.vault)
    out: list[str] = []
    for step in session.steps:
        if isinstance(step, Save):
            sandbox.write(step.path, step.text)
            out.append(f"# somebody saves {step.path}\n")
        else:
            out.append(answer(sandbox, step, as_json=as_json))
    if session.changes:
        out += changed_files(before, files_of(sandbox.vault), sandbox)
    return "\n".join(out)


def answer(sandbox: Sandbox, command: Command, *, as_json: bool) -> str:
    """One command and what it printed."""
    arguments = shlex.split(fill(sandbox, command.line))
    arguments += ["--json"] if as_json and command.json else []
    if command.process:
        code, out, err = sandbox.process(*arguments, stdin=command.stdin)
    elif command.bare:
        code, out, err = sandbox.bare(*arguments, stdin=command.stdin)
    else:
        code, out, err = sandbox.run(*arguments, stdin=command.stdin)
    lines = [f"$ {command.line}"]
    if as_json and command.json:
        wrong = problems(arguments, out)
        assert not wrong, wrong
        out = readable(out)
    lines += [line.rstrip() for line in sandbox.scrub(out).splitlines()]
    lines += [f"stderr: {line}".rstrip() for line in sandbox.scrub(err).splitlines()]
    return "\n".join([*lines, f"exit {code}", ""])


def readable(out: str) -> str:
    """JSON with one key a line; other text as it is."""
    try:
        return json.dumps(json.loads(out), indent=1, ensure_ascii=False)
    except ValueError:
        return out


def fill(sandbox: Sandbox, line: str) -> str:
    """A command line with places, and with an id for each `{last}` and its like; `nothing` where there is none."""

    def looked_up(match: re.Match[str]) -> str:
        try:
            return IDS[match[1]](sandbox, (match[2] or "").strip())
        except LookupError:
            return "nothing"

    line = line.replace("<VAULT>", str(sandbox.vault)).replace("<BASE>", str(sandbox.base))
    return PLACEHOLDER.sub(looked_up, line)


def asked(sandbox: Sandbox, *arguments: str) -> dict[str, list[dict[str, str]]]:
    """What a command answers as JSON."""
    _, out, err = sandbox.run(*arguments, "--json")
    assert out, err
    answer: dict[str, list[dict[str, str]]] = json.loads(out)
    return answer


def fact_id(sandbox: Sandbox, of: str) -> str:
    """The id of the fact that these words state."""
    facts = asked(sandbox, "facts")["facts"]
    ids = {f"{fact['subject']} {fact['predicate']} {fact['object']}": fact["id"] for fact in facts}
    matches = [ids[text] for text in ids if of in text]
    if not matches:
        raise LookupError(of)
    return matches[0]


IDS: dict[str, Callable[[Sandbox, str], str]] = {
    "last": lambda sandbox, of: asked(sandbox, "log", *([of] if of else []))["records"][-1]["id"],
    "proposal": lambda sandbox, of: asked(sandbox, "inbox")["items"][0]["id"],
    "copy": lambda sandbox, of: asked(sandbox, "conflicts")["items"][0]["id"],
    "trash": lambda sandbox, of: asked(sandbox, "trash")["items"][0]["id"],
    "oldest": lambda sandbox, of: asked(sandbox, "history", of)["versions"][-1]["revision"],
    "fact": fact_id,
}
"""What stands in braces in a command line → how its id is looked up"""


def files_of(folder: Path) -> dict[str, bytes]:
    """Path → content of every file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def changed_files(
    before: dict[str, bytes], after: dict[str, bytes], sandbox: Sandbox
) -> Iterator[str]:
    """Each file that is new, gone or another."""
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        yield f"=== {sandbox.scrub(path)}{' (gone)' if path not in after else ''}"
        text = after.get(path, b"").decode(errors="backslashreplace").replace("\r", "\\r")
        yield sandbox.scrub(text)


@dataclass(frozen=True)
class Golden:
    """One stored file of a session."""

    session: Session
    as_json: bool

    def __call__(self, folder: Path) -> str:
        return transcript(self.session, folder, as_json=self.as_json)


def command_help(folder: Path) -> str:
    """`--help` of the program and of every command."""
    sandbox = Sandbox(folder)
    lines: Sequence[tuple[str, ...]] = [
        ("--help",),
        ("--version",),
        ("help", "all"),
        *((name, "--help") for name in (*product.COMMANDS, "fact", "help")),
    ]
    out = []
    for words in lines:
        code, text, err = sandbox.bare(*words)
        version = "vault-memory <VERSION>\n"
        out.append(
            f"$ {' '.join(words)}\n{version if words == ('--version',) else text}{err}exit {code}\n"
        )
    return "\n".join(out)


GOLDENS: dict[str, Callable[[Path], str]] = {"commands/help.txt": command_help}
for session in SESSIONS:
    GOLDENS[f"commands/{session.name}.txt"] = Golden(session, as_json=False)
    if session.json:
        GOLDENS[f"commands/{session.name}.json.txt"] = Golden(session, as_json=True)
