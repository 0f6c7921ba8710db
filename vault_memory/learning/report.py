"""What a person reads in the morning. Pure: a Markdown text of what the night did in each scope."""

from collections.abc import Iterable, Mapping
from typing import Any

COUNTS = (
    ("memories", "remembered", "remembered"),
    ("facts", "fact", "facts"),
    ("rules", "rule", "rules"),
    ("curated", "edit of USER.md", "edits of USER.md"),
    ("reflected", "line of reflection", "lines of reflection"),
    ("pruned", "file aged out", "files aged out"),
    ("proposed", "waits for you in INBOX", "wait for you in INBOX"),
    ("refused", "refused", "refused"),
    (
        "waiting",
        "write waits until its note is left alone",
        "writes wait until their notes are left alone",
    ),
)


def morning_report(
    night: str, outcomes: Iterable[Mapping[str, Any]], *, dry_run: bool = False
) -> str:
    """All scopes of one night."""
    told = [_told(one) for one in outcomes]
    title = f"# The night of {night}" + (
        " (dry run: nothing was written)" if dry_run else ""
    )
    return "\n\n".join([title, *(told or ["There was nobody to learn about."])]) + "\n"


def _told(out: Mapping[str, Any]) -> str:
    lines = [f"## {out['scope']}", "", f"- {_gathered(out)}"]
    counts = [
        f"{out[name]} {one if out[name] == 1 else many}"
        for name, one, many in COUNTS
        if out.get(name)
    ]
    lines += [f"- {', '.join(counts)}"] if counts else []
    if out.get("rung"):
        lines.append(
            f"- answered by {out['model']} ({out['rung']})"
            + (f": {out['reason']}" if out["reason"] else "")
        )
    elif out.get("reason"):
        lines.append(f"- {out['reason']}")
    if out.get("more"):
        turns = "1 turn" if out["more"] == 1 else f"{out['more']} turns"
        lines.append(f"- {turns} found no room; the next run begins there")
    if out.get("idle", 0) > 1:
        lines.append(f"- nothing was learned for {out['idle']} nights")
    lines += [f"- written: {', '.join(out['notes'])}"] if out.get("notes") else []
    lines += (
        ["", *(f"> {line}" for line in out["learned"])] if out.get("learned") else []
    )
    return "\n".join(lines)


def _gathered(out: Mapping[str, Any]) -> str:
    match out["state"]:
        case "failed":
            return "failed; it is tried again"
        case "quiet":
            heard = out.get("heard", 0)
            return (
                f"{heard} turns were read when their conversations ended"
                if heard
                else "nothing was said"
            )
    return f"{out['gathered']} turn{'s' * (out['gathered'] != 1)} read"


def joined(whole: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What several runs of one scope in one night did."""
    told = dict(found)
    for name, before in whole.items():
        now = told.get(name)
        if isinstance(now, list):
            told[name] = [*before, *(one for one in now if one not in before)]
        elif isinstance(now, int) and name not in ("idle", "more"):
            told[name] = before + now
        elif name in ("rung", "model", "reason"):
            told[name] = now or before
    if whole and told["state"] == "quiet" and told["gathered"]:
        told["state"] = "done"
    return told
