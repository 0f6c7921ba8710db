"""A vault with what the sample vault has not: other scripts, Windows lines, conflict copies."""

from tests.goldens.sandbox import Sandbox

NOTES: dict[str, str] = {
    "SOUL.md": "# Soul\n\n## Voice\n\n- speaks plainly\n\n## Session Compaction 2026-05-01\n\n- talked of soup\n",
    "MEMORY.md": "# Memory\n\n- the house has two lanterns\n- the well is deep [topic: water]\n",
    "USER.md": "# Me\n\n- keeps the house\n",
    "FACTS.md": "## alder\n\n- is_a: tree\n- stands_by: the well (since 2020-01-01)\n- also: black alder\n",
    "Users/zoë/bot/config/USER.md": (
        "# Zoë\n\n## About\n\n- breeds quokkas (2026-03-01)\n- [identity] was born in Bergen\n\n"
        "## Food\n\n- eats soup on Fridays\n  - with bread\n  - and with butter\n- 茶 ☕ before noon\n"
    ),
    "Users/zoë/bot/config/FACTS.md": (
        "## zoë\n\n- is_a: person\n- also: Zo\n- lives_in: Bergen (2019-01-01 to 2025-05-01)\n"
        "- ~~works_at: the mill~~ (2018-01-01 to 2020-01-01)\n- works_at: the bakery (since 2020-02-01)\n"
        "- has_friend: Li Wei (confidence: 0.7)\n"
    ),
    "Users/zoë/bot/config/RULES.md": "# Rules\n\n- Always greet in Norwegian\n- Never wake her before nine\n",
    "Users/zoë/memories/2026-05-25.md": "# 2026-05-25\n\n- planted an alder by the gate\n- bought a lantern\n",
    "Users/zoë/memories/2025-12-24.md": "# 2025-12-24\n\n- the first snow; lit every lantern\n",
    "Users/zoë/memories/reflections/2026-W20.md": "# 2026-W20\n\nA quiet week of soup and lanterns.\n",
    "Users/li wei/bot/config/USER.md": "# Li Wei\n\n- 喜欢喝茶\n- sails a junk\n",
    "Users/li wei/memories/long.md": (
        "# Boats\n\n| boat | length |\n|---|---|\n"
        + "".join(f"| boat {number} | {number} m |\n" for number in range(1, 41))
        + "\n```python\n# not a heading\nprint('alder')\n```\n\n"
        + "".join(
            f"## Trip {number}\n\n- sailed to island {number}; saw {number} alders\n\n"
            for number in range(1, 31)
        )
    ),
    "Channels/kitchen/CHANNEL.md": "# Kitchen\n\n## Rules\n\n- soup is at noon\n- the alder table is for four\n",
    "Channels/kitchen/FACTS.md": "## kitchen\n\n- is_a: room\n- stove: wood-fired\n",
    "Channels/kitchen/memories/2026-05-24.md": "- Li Wei cooked dumplings\n- Zoë washed up\n",
    "groups/club/MEMORY.md": "# Club\n\n## Meetings\n\n- meets on Tuesdays\n",
    "groups/global/MEMORY.md": "- the office is shut on Mondays\n",
    "notes/Crème brûlée.md": "# Crème brûlée\n\n## Steps\n\n1. boil\n2. burn\n",
    "notes/windows.md": "# Windows\r\n\r\n## One\r\n\r\n- first\r\n\r\n## Two\r\n\r\n- second\r\n",
    "notes/frontmatter.md": "---\ntags: [a, b]\ndate: 2026-01-02\n---\n# Front\n\n## Body\n\n- text\n",
    "notes/no-newline.md": "# Short\n\n- ends without a newline",
    "notes/empty.md": "",
    "notes/links.md": "# Links\n\n[[windows]] and [front](frontmatter.md) <!-- hidden alder -->\n",
    "Users/zoë/memories/boats.md": "# Boats\n\n- the red boat\n- the blue boat\n",
    "Users/zoë/memories/boats (conflicted copy 2026-05-20 101010).md": (
        "# Boats\n\n- the red boat\n- the blue boat\n- the green boat\n"
    ),
    "Users/zoë/memories/tea.md": "# Tea\n\n- green tea at three\n- black tea at eight\n",
    "Users/zoë/memories/tea.sync-conflict-20260521-120000-ABCDEFG.md": (
        "# Tea\n\n- green tea at four\n- black tea at eight\n"
    ),
    "notes/plain.txt": "not a note: alder\n",
    ".hidden/secret.md": "- hidden alder\n",
}


def build(sandbox: Sandbox) -> None:
    """Write the vault, and beside it what can be imported."""
    for path, text in NOTES.items():
        sandbox.write(path, text)
    claude = sandbox.base / "claude"
    claude.mkdir()
    (claude / "CLAUDE.md").write_text("# Project\n\n- use tabs\n- be kind\n")
    workspace = sandbox.base / "openclaw"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("# Memory\n\n- the cat is called Biscuit\n")
    (workspace / "USER.md").write_text("# User\n\n- Name: Zoë\n")
    (workspace / "memory" / "2026-05-02.md").write_text("# 2026-05-02\n\n- Biscuit slept\n")
