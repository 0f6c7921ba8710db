"""How well search finds: `make bench-recall DATA=FOLDER`, with the product's own ingest and search.

FOLDER holds conversations (`*/topics.jsonl` beside folders of dated notes, one a space: each topic names the block ids
of the lines that answer it) and passages (`*/LANG.jsonl`: each line a passage and questions about it), or is one of
the two. Run files are written to a temporary folder. Without an embedder only the keyword rows are printed.

turnR@10: share of the gold lines in the first ten hits · MRR: of the first gold line · evid@4000: share of the gold
lines within the first 4,000 letters of text · fileAny@5: one of the right notes is among the first five.
"""

import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from vault_memory import VaultMemory
from vault_memory.config.sections import Config, EmbeddingSettings, LayoutPattern, LayoutSettings

HITS = 20
BUDGET = 4_000
ADVERSARIAL = "adversarial"
BLOCK_ID = re.compile(r"\^([A-Za-z0-9]+(?:-\d+)?)\b")

Found = list[tuple[str, str]]
"""Of each hit the note and the text"""


def score(gold: set[str], files: set[str], found: Found) -> dict[str, float]:
    """The figures of one topic."""
    ids = [BLOCK_ID.findall(text) for _, text in found]
    notes = list(dict.fromkeys(note for note, _ in found))
    first = next((at for at, here in enumerate(ids, start=1) if gold & set(here)), 0)
    used, seen = 0, set[str]()
    for (_, text), here in zip(found, ids, strict=True):
        if used and used + len(text) > BUDGET:
            break
        used += len(text)
        seen |= set(here)
    return {
        "turnR@10": len({one for here in ids[:10] for one in here} & gold) / len(gold),
        "turnMRR": 1 / first if first else 0.0,
        "evid@4000": len(seen & gold) / len(gold),
        "fileAny@5": float(bool(set(notes[:5]) & files)),
    }


def opened(
    root: Path, folder: Path, patterns: Sequence[LayoutPattern], *, embed: bool
) -> VaultMemory:
    """The product over a folder of notes, brought up to date."""
    embedding = EmbeddingSettings() if embed else EmbeddingSettings(kind="off")
    config = Config(layout=LayoutSettings(patterns=tuple(patterns)), embedding=embedding)
    memory = VaultMemory.open(
        root, config, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
    )
    memory.index(embed=embed)
    return memory


def conversations(folder: Path, runs: Path, modes: Sequence[str]) -> None:
    """One scope a space, each topic asked as of its own time."""
    topics = [
        json.loads(line)
        for line in (folder / "topics.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    topics = [topic for topic in topics if topic["cat"] != ADVERSARIAL]
    spaces = sorted({topic["space"] for topic in topics})
    patterns = [
        LayoutPattern(f"{space}/{{date}}_{{name}}.md", "dated", f"group:{space}")
        for space in spaces
    ]
    with tempfile.TemporaryDirectory() as state:
        memory = opened(
            _copy(folder, Path(state)),
            Path(state),
            patterns,
            embed=any(mode != "keyword" for mode in modes),
        )
        for mode in modes:
            if mode != "keyword" and memory.warm():
                print(f"{folder.name:12} {mode:9} no embedder: {memory.warm()}")
                continue
            rows, seconds = [], 0.0
            with (runs / f"{folder.name}-{mode}.jsonl").open("w", encoding="utf-8") as run:
                for topic in topics:
                    found, spent = _ask(
                        memory, topic["q"], f"group:{topic['space']}", mode, topic["now"], HITS
                    )
                    seconds += spent
                    rows.append(score(set(topic["gold"]), set(topic["gold_files"]), found))
                    hits = [{"file": note, "text": text} for note, text in found]
                    run.write(
                        json.dumps({"qid": topic["qid"], "ms": 1000 * spent, "hits": hits}) + "\n"
                    )
            _row(folder.name, mode, rows, seconds)


def passages(folder: Path) -> None:
    """All passages of a language are one scope, and each is the answer to its own questions."""
    for file in sorted(folder.glob("*.jsonl")):
        cases = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        with tempfile.TemporaryDirectory() as state:
            root = Path(state) / "vault" / "memory"
            root.mkdir(parents=True)
            for number, case in enumerate(cases):
                (root / f"{number:04}.md").write_text(case["passage"] + "\n", encoding="utf-8")
            memory = opened(root.parent, Path(state), (), embed=False)
            rows, seconds = [], 0.0
            for number, case in enumerate(cases):
                for question in case["questions"]:
                    found, spent = _ask(
                        memory, question, "group:main", "keyword", "2024-01-01T00:00:00", 1
                    )
                    seconds += spent
                    rows.append(
                        {"R@1": float(bool(found) and found[0][0] == f"memory/{number:04}.md")}
                    )
        _row(f"{folder.name}/{file.stem}", "keyword", rows, seconds)


def _copy(folder: Path, into: Path) -> Path:
    """The notes as a vault of their own: a search must not write beside the data."""
    root = into / "vault"
    for note in folder.glob("*/*.md"):
        target = root / note.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(note.read_bytes())
    return root


def _ask(
    memory: VaultMemory, query: str, scope: str, mode: str, now: str, limit: int
) -> tuple[Found, float]:
    """The hits and the CPU seconds they took."""
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    before = time.process_time()
    answer = memory.search(query, scopes=[scope], mode=mode, limit=limit, now=at, refresh=False)
    return [(hit.note, hit.text) for hit in answer.hits], time.process_time() - before


def _row(name: str, mode: str, rows: list[dict[str, float]], seconds: float) -> None:
    means = "  ".join(
        f"{key} {100 * sum(row[key] for row in rows) / len(rows):5.1f}" for key in rows[0]
    )
    print(
        f"{name:12} {mode:9} n={len(rows):5}  {means}  {1000 * seconds / len(rows):6.2f} CPU ms",
        flush=True,
    )


def main(arguments: Sequence[str]) -> None:
    data = Path(arguments[0])
    runs = Path(tempfile.mkdtemp(prefix="recall-"))
    for folder in sorted({data, *(path for path in data.iterdir() if path.is_dir())}):
        if (folder / "topics.jsonl").exists():
            conversations(folder, runs, ("keyword", "balanced", "rrf"))
        elif any(folder.glob("*.jsonl")):
            passages(folder)
    print(f"run files: {runs}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.recall DATA")
    main(sys.argv[1:])
