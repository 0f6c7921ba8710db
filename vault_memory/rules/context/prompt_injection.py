"""Detects prompt injection: text of mails and web pages that is worded like an order to the bot.

The table is small and careful. It knows the usual wording of such texts, not their meaning. A match
is shown to a person and never written without approval, so a wrong guess costs one tick.
"""

import re
import unicodedata
from functools import cache

HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]")

_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_TAG = re.compile("[\U000e0020-\U000e007e]+")
"""Tag characters encode ASCII. Readers do not see them, and models read them as letters."""

_BEFORE = "(?:previous|prior|earlier|above|preceding|system|your|former)"
_RULES = "(?:instructions?|rules?|prompts?|guidelines?|directives?|constraints?)"

PATTERNS = r"""
\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,30}\bBEFORE\b[^.]{0,20}\b(?:RULES|messages)\b
\b(?:ignore|disregard|forget|override|bypass) (?:all|any)(?: other| of the)? RULES\b
\bnew (?:system )?instructions? ?:
\b(?:reveal|print|show|repeat|output)\b[^.]{0,20}\bsystem prompt\b
\byou are now (?:an?|in|the|no longer)\b
\bfrom now on,? (?:you|always|never|ignore|act)\b
\bpretend (?:to be|that you are|you are)\b
\b(?:do not|don['’]t|never|without) (?:ever )?(?:tell|inform|alert|notify|warn)(?:ing)? the (?:user|owner|human)\b
\bwhen(?:ever)? [^.]{0,60}\b(?:asks?|asked|mentions?)\b[^.]{0,60}\b(?:always|you must|you should|respond with)\b
\b(?:you|the (?:assistant|agent|bot|ai|model)) must (?:always|never|now|obey|comply|ignore|run|call|send|execute)\b
\b(?:run|execute) (?:this|the following) (?:shell )?(?:command|code|script)\b
\b(?:send|forward|upload|post|exfiltrate)\b[^.]{0,60}\b(?:passwords?|credentials|api keys?|tokens?) to\b
\b(?:important|attention|note) (?:message )?(?:to|for) (?:the |any |all )?(?:ai|assistants?|agents?|llms?|bots?)\b

<\|[^|<>]{1,40}\|>|</?(?:start|end)_of_turn>
</?(?:system|instructions?|assistant|tool_call|function_calls?)>
\[/?(?:inst|system|system_prompt|available_tools|tool_calls|tool_results)\]|<<sys>>
^(?:system|assistant|developer) ?:|## ?(?:system|instructions?) ?:

\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie)\b[^.]{0,40}\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben|befehle|system-?prompt\w*)\b
\bdu bist (?:jetzt|ab sofort|von nun an|nun) (?:ein|eine|kein|keine|der|die|im)\b
\b(?:ab sofort|ab jetzt|von nun an) (?:musst|sollst|darfst|antwortest) du\b
\b(?:sag|sage|verrate|erzähl\w*) (?:es |das |dies )?(?:dem|der) (?:be)?nutzer\w* (?:nichts|nicht|nie)\b

\b(?:ignor\w+|oubli\w+)\b[^.]{0,40}\b(?:instructions?|consignes?|règles|directives)\b
\b(?:tu es|vous êtes) (?:maintenant|désormais) (?:un|une|le|la)\b
\bne (?:le )?(?:dis|dites|révèle\w*) (?:rien|pas)\b[^.]{0,15}\b(?:utilisateur|propriétaire)

\b(?:ignora\w*|olvida\w*|descarta\w*)\b[^.]{0,40}\b(?:instrucciones|reglas|indicaciones|órdenes)\b
\bahora eres (?:un|una|el|la)\b|\ba partir de ahora,? (?:debes|eres)\b
\bno (?:se )?(?:lo )?(?:digas|informes|menciones)\b[^.]{0,20}\b(?:usuario|propietario)\b

\b(?:ignor\w+|esqueç\w+|desconsider\w+)\b[^.]{0,40}\b(?:instruções|regras|orientações|ordens)\b
\bagora você é (?:um|uma|o|a)\b|\ba partir de agora,? (?:você|deve)\b
\bnão (?:diga|informe|conte)\b[^.]{0,20}\b(?:usuário|utilizador|proprietário)\b

\b(?:ignor\w+|dimentic\w+)\b[^.]{0,40}\b(?:istruzioni|regole|direttive|indicazioni)\b
\b(?:ora|adesso) sei (?:un|una|il|la)\b|\bd['’]ora in poi,? (?:devi|sei)\b
\bnon (?:dire|dirlo|informare)\b[^.]{0,20}\b(?:utente|proprietario)\b

\b(?:negeer|vergeet)\b[^.]{0,40}\b(?:instructies|regels|opdrachten|aanwijzingen)\b
\bje bent (?:nu|vanaf nu) (?:een|de)\b|\bvanaf nu (?:moet|ben) je\b

\b(?:ignorera|glöm|bortse från)\b[^.]{0,40}\b(?:instruktion\w*|regler\w*|anvisning\w*)\b
\bdu är nu (?:en|ett)\b|\bfrån och med nu (?:måste|ska) du\b

\b(?:zignoruj|ignoruj|zapomnij)\b[^.]{0,40}\b(?:instrukcj|polece|zasad|reguł)
\bod teraz (?:jesteś|musisz|masz)\b|\bjesteś teraz\b

\b(?:проигнорируй|игнорируй|забудь)\w*\b[^.]{0,40}\b(?:инструкци|указани|правил|команд)
\b(?:теперь ты|отныне ты|с этого момента ты)\b
\bне (?:говори|сообщай)\w*\b[^.]{0,20}\b(?:пользовател|владельц)

(?:忽略|无视|無視|忘记|忘記)[^。]{0,15}(?:指令|指示|规则|規則|提示词|命令)
(?:从现在开始|從現在開始)[,,]?[你您](?:必须|必須|要|是|将|將)|你现在是|你現在是
(?:不要|别|別)(?:告诉|告訴|通知)(?:用户|用戶|主人)

(?:指示|命令|ルール|プロンプト|規則)[^。]{0,10}(?:無視|忘れ)
あなたは(?:今から|これから)|(?:ユーザー|利用者)に(?:は)?(?:言わない|伝えない|知らせない)

(?:지시|명령|규칙|프롬프트)[^.]{0,12}(?:무시|잊어)
(?:너는|당신은) (?:이제|지금)부터|사용자에게 (?:말하지|알리지)
"""
"""One a line: of English, marks, German, French, Spanish, Portuguese, Italian, Dutch, Swedish, Polish,
Russian, Chinese, Japanese and Korean"""


def shaped_like_instruction(text: str) -> bool:
    """Returns whether a text is worded like an order, also in letters that only a model sees."""
    if _gives_orders(text):
        return True
    # Fault (H123): a person sees a harmless text, and the model also reads the tag
    # characters.
    invisible = " ".join(_TAG.findall(text)).translate(_TAGS)
    return bool(invisible) and _gives_orders(invisible)


def _gives_orders(text: str) -> bool:
    # Fault (H123): invisible letters and wide letters would hide a word from the
    # patterns.
    visible = HIDDEN.sub("", text)
    plain = " ".join(unicodedata.normalize("NFKC", visible).split())
    # The Turkish dotted and dotless i have other lower-case forms.
    lower = plain.lower().replace("i\u0307", "i").replace("\u0131", "i")
    return any(
        any(map(lower.__contains__, texts)) and _compiled(pattern).search(plain)
        for texts, pattern in _tries()
    )


@cache
def _tries() -> tuple[tuple[tuple[str, ...], str], ...]:
    """Returns each pattern with texts of which one must occur, else the pattern is not compiled."""
    # Fault: in a table that is filled in place, another thread would miss patterns.
    lines = PATTERNS.replace("BEFORE", _BEFORE).replace("RULES", _RULES).splitlines()
    return tuple((beginnings(pattern), pattern) for pattern in filter(None, lines))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def beginnings(pattern: str) -> tuple[str, ...]:
    """Returns texts of which each match of a pattern contains one."""
    texts: list[str] = []
    for alternative in _alternatives(pattern):
        alternative = alternative.removeprefix("^").removeprefix(r"\b")
        if not alternative.startswith("(?:"):
            texts.append(_literal_beginning(alternative))
            continue
        group = alternative[3 : _end_of_group(alternative)]
        for inner in _alternatives(group):
            texts += beginnings(inner)
    return tuple(texts) if all(texts) else ("",)


def _literal_beginning(pattern: str) -> str:
    """Returns the literal letters with which a pattern begins."""
    index = 0
    literal = ""
    while index < len(pattern) and pattern[index] not in "([.{?*+$^":
        if pattern[index] == "\\":
            if pattern[index + 1].isalnum():
                break
            index += 1
        literal += pattern[index]
        index += 1
    is_optional = pattern[index : index + 1] in ("?", "*", "{")
    return literal[:-1] if is_optional else literal


def _alternatives(pattern: str) -> list[str]:
    """Splits a pattern at the bars outside of brackets."""
    alternatives: list[str] = []
    depth = 0
    start = 0
    for index, letter in enumerate(pattern):
        if pattern[index - 1 : index] == "\\":
            continue
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and depth == 0:
            alternatives.append(pattern[start:index])
            start = index + 1
    return [*alternatives, pattern[start:]]


def _end_of_group(pattern: str) -> int:
    """Returns the index of the bracket that closes the first one."""
    depth = 0
    for index, letter in enumerate(pattern):
        if pattern[index - 1 : index] != "\\":
            depth += (letter == "(") - (letter == ")")
        if depth == 0 and index:
            return index
    return len(pattern)
