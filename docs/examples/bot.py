"""A bot for the terminal, with a memory: it talks to any server that speaks OpenAI's chat protocol.

    python bot.py --vault ~/vault --user ann --url http://localhost:11434/v1 --model llama3.2

`/correct WRONG => RIGHT` mends what it has wrong, `/quit` ends. What was said is learned at night: leave
`vault-memory --vault ~/vault run` running, or say `vault-memory --vault ~/vault sleep`.
"""

import argparse
import json
import os
import secrets
import urllib.request
from contextlib import suppress

from vault_memory import Caller, VaultMemory, VaultMemoryError

SYSTEM = "You are a friendly companion. What you remember of the person stands quoted before what they say."


def ask(url: str, model: str, messages: list[dict[str, str]]) -> str:
    """The server's next line."""
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
    }
    body = json.dumps({"model": model, "messages": messages}).encode()
    request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=120) as response:
        return str(json.load(response)["choices"][0]["message"]["content"] or "")


def correct(memory: VaultMemory, scope: str, wrong: str, right: str) -> str:
    """Facts get the right words, what was no fact is remembered rightly, and lines that say it wrongly are removed.

    `vault-memory undo` takes each of it back.
    """
    if not (wrong and right):
        return "say it as: /correct WRONG => RIGHT"
    facts = [
        fact for fact in memory.facts(scopes=[scope]) if wrong.casefold() in fact.object.casefold()
    ]
    for fact in facts:
        memory.correct_fact(fact.id, scopes=[scope], object=right)
    if wrong.casefold() not in right.casefold():
        memory.forgetting.take_back(wrong, scopes=[scope], source="cli")
    if not facts:
        memory.remember(right, scope=scope, source="cli")
    return "corrected"


def chat(memory: VaultMemory, user: str, url: str, model: str) -> None:
    session, said = secrets.token_hex(8), list[dict[str, str]]()
    scopes = Caller(user).reads(memory.layout)
    while (prompt := input(f"{user}> ").strip()) != "/quit":
        try:
            if prompt.startswith("/correct "):
                wrong, _, right = (
                    part.strip() for part in prompt.removeprefix("/correct ").partition("=>")
                )
                print(correct(memory, f"user:{user}", wrong, right))
            elif prompt:
                block = memory.context(prompt, scopes=scopes, session=session)
                asked = {"role": "user", "content": f"{block.text}\n\n{prompt}".strip()}
                answer = ask(url, model, [{"role": "system", "content": SYSTEM}, *said, asked])
                print(f"bot> {answer}")
                said += [
                    {"role": "user", "content": prompt},
                    {"role": "assistant", "content": answer},
                ]
                memory.record_turn(session=session, role="user", user=user, text=prompt)
                memory.record_turn(session=session, role="assistant", user=user, text=answer)
        except (VaultMemoryError, OSError) as error:
            print(f"bot> (that went wrong: {error})")
    memory.end_session(session, user=user)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("--vault", "--user", "--url", "--model"):
        parser.add_argument(name, required=True)
    told = parser.parse_args()
    with VaultMemory.open(told.vault) as opened, suppress(EOFError, KeyboardInterrupt):
        chat(opened, told.user, told.url, told.model)
