"""Text shaped like an instruction to the bot, as it comes in by mails and web pages that want to be remembered.

The table is small and careful: it knows how such texts are usually worded, not what they mean. What it finds is shown
to a person and never written by itself, so that a wrong guess costs one tick.
"""

import re
import unicodedata
from functools import cache

HIDDEN = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)

_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_TAG = re.compile("[\U000e0020-\U000e007e]+")
"""Tag letters stand for ASCII. No reader sees them, and models read them like any others."""

_BEFORE = "(?:previous|prior|earlier|above|preceding|system|your|former)"
_RULES = "(?:instructions?|rules?|prompts?|guidelines?|directives?|constraints?)"

PATTERNS: dict[str, tuple[str, ...]] = {
    "en": (
        rf"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{{0,30}}\b{_BEFORE}\b[^.]{{0,20}}\b(?:{_RULES}|messages)\b",
        rf"\b(?:ignore|disregard|forget|override|bypass) (?:all|any)(?: other| of the)? {_RULES}\b",
        r"\bnew (?:system )?instructions? ?:",
        r"\b(?:reveal|print|show|repeat|output)\b[^.]{0,20}\bsystem prompt\b",
        r"\byou are now (?:an?|in|the|no longer)\b",
        r"\bfrom now on,? (?:you|always|never|ignore|act)\b",
        r"\bpretend (?:to be|that you are|you are)\b",
        r"\b(?:do not|don['’]t|never|without) (?:ever )?(?:tell|inform|alert|notify|warn)(?:ing)? "
        r"the (?:user|owner|human)\b",
        r"\bwhen(?:ever)? [^.]{0,60}\b(?:asks?|asked|mentions?)\b[^.]{0,60}"
        r"\b(?:always|you must|you should|respond with)\b",
        r"\b(?:you|the (?:assistant|agent|bot|ai|model)) must "
        r"(?:always|never|now|obey|comply|ignore|run|call|send|execute)\b",
        r"\b(?:run|execute) (?:this|the following) (?:shell )?(?:command|code|script)\b",
        r"\b(?:send|forward|upload|post|exfiltrate)\b[^.]{0,60}\b(?:passwords?|credentials|api keys?|tokens?) to\b",
        r"\b(?:important|attention|note) (?:message )?(?:to|for) (?:the |any |all )?"
        r"(?:ai|assistants?|agents?|llms?|bots?)\b",
    ),
    "marks": (
        r"<\|[^|<>]{1,40}\|>|</?(?:start|end)_of_turn>",
        r"</?(?:system|instructions?|assistant|tool_call|function_calls?)>",
        r"\[/?(?:inst|system|system_prompt|available_tools|tool_calls|tool_results)\]|<<sys>>",
        r"^(?:system|assistant|developer) ?:|#{2,} ?(?:system|instructions?) ?:",
    ),
    "de": (
        r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie)\b[^.]{0,40}"
        r"\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben|befehle|system-?prompt\w*)\b",
        r"\bdu bist (?:jetzt|ab sofort|von nun an|nun) (?:ein|eine|kein|keine|der|die|im)\b",
        r"\b(?:ab sofort|ab jetzt|von nun an) (?:musst|sollst|darfst|antwortest) du\b",
        r"\b(?:sag|sage|verrate|erzähl\w*) (?:es |das |dies )?(?:dem|der) (?:be)?nutzer\w* (?:nichts|nicht|nie)\b",
    ),
    "fr": (
        r"\b(?:ignor\w+|oubli\w+)\b[^.]{0,40}\b(?:instructions?|consignes?|règles|directives)\b",
        r"\b(?:tu es|vous êtes) (?:maintenant|désormais) (?:un|une|le|la)\b",
        r"\bne (?:le )?(?:dis|dites|révèle\w*) (?:rien|pas)\b[^.]{0,15}\b(?:utilisateur|propriétaire)",
    ),
    "es": (
        r"\b(?:ignora\w*|olvida\w*|descarta\w*)\b[^.]{0,40}\b(?:instrucciones|reglas|indicaciones|órdenes)\b",
        r"\bahora eres (?:un|una|el|la)\b|\ba partir de ahora,? (?:debes|eres)\b",
        r"\bno (?:se )?(?:lo )?(?:digas|informes|menciones)\b[^.]{0,20}\b(?:usuario|propietario)\b",
    ),
    "pt": (
        r"\b(?:ignor\w+|esqueç\w+|desconsider\w+)\b[^.]{0,40}\b(?:instruções|regras|orientações|ordens)\b",
        r"\bagora você é (?:um|uma|o|a)\b|\ba partir de agora,? (?:você|deve)\b",
        r"\bnão (?:diga|informe|conte)\b[^.]{0,20}\b(?:usuário|utilizador|proprietário)\b",
    ),
    "it": (
        r"\b(?:ignor\w+|dimentic\w+)\b[^.]{0,40}\b(?:istruzioni|regole|direttive|indicazioni)\b",
        r"\b(?:ora|adesso) sei (?:un|una|il|la)\b|\bd['’]ora in poi,? (?:devi|sei)\b",
        r"\bnon (?:dire|dirlo|informare)\b[^.]{0,20}\b(?:utente|proprietario)\b",
    ),
    "nl": (
        r"\b(?:negeer|vergeet)\b[^.]{0,40}\b(?:instructies|regels|opdrachten|aanwijzingen)\b",
        r"\bje bent (?:nu|vanaf nu) (?:een|de)\b|\bvanaf nu (?:moet|ben) je\b",
    ),
    "sv": (
        r"\b(?:ignorera|glöm|bortse från)\b[^.]{0,40}\b(?:instruktion\w*|regler\w*|anvisning\w*)\b",
        r"\bdu är nu (?:en|ett)\b|\bfrån och med nu (?:måste|ska) du\b",
    ),
    "pl": (
        r"\b(?:zignoruj|ignoruj|zapomnij)\b[^.]{0,40}\b(?:instrukcj|polece|zasad|reguł)",
        r"\bod teraz (?:jesteś|musisz|masz)\b|\bjesteś teraz\b",
    ),
    "ru": (
        r"\b(?:проигнорируй|игнорируй|забудь)\w*\b[^.]{0,40}\b(?:инструкци|указани|правил|команд)",
        r"\b(?:теперь ты|отныне ты|с этого момента ты)\b",
        r"\bне (?:говори|сообщай)\w*\b[^.]{0,20}\b(?:пользовател|владельц)",
    ),
    "zh": (
        r"(?:忽略|无视|無視|忘记|忘記)[^。]{0,15}(?:指令|指示|规则|規則|提示词|命令)",
        r"(?:从现在开始|從現在開始)[,,]?[你您](?:必须|必須|要|是|将|將)|你现在是|你現在是",
        r"(?:不要|别|別)(?:告诉|告訴|通知)(?:用户|用戶|主人)",
    ),
    "ja": (
        r"(?:指示|命令|ルール|プロンプト|規則)[^。]{0,10}(?:無視|忘れ)",
        r"あなたは(?:今から|これから)|(?:ユーザー|利用者)に(?:は)?(?:言わない|伝えない|知らせない)",
    ),
    "ko": (
        r"(?:지시|명령|규칙|프롬프트)[^.]{0,12}(?:무시|잊어)",
        r"(?:너는|당신은) (?:이제|지금)부터|사용자에게 (?:말하지|알리지)",
    ),
}

_tries: list[tuple[tuple[str, ...], str]] = []
"""Each pattern with the texts of which one must be there, else it is not even compiled"""


def shaped_like_instruction(text: str) -> bool:
    """Whether a text reads as if it told the bot what to do, also in letters that only a model sees."""
    unseen = " ".join(_TAG.findall(text)).translate(_TAGS)
    return _gives_orders(text) or (bool(unseen) and _gives_orders(unseen))


def _gives_orders(text: str) -> bool:
    if not _tries:
        _tries.extend(
            (beginnings(one), one) for patterns in PATTERNS.values() for one in patterns
        )
    plain = " ".join(unicodedata.normalize("NFKC", HIDDEN.sub("", text)).split())
    small = plain.lower().replace("i\u0307", "i").replace("\u0131", "i")
    return any(
        any(map(small.__contains__, begins)) and _compiled(one).search(plain)
        for begins, one in _tries
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def beginnings(pattern: str) -> tuple[str, ...]:
    """How what a pattern finds may begin: each beginning is a text that stands in all that it finds."""
    found: list[str] = []
    for one in _alternatives(pattern):
        one = one.removeprefix("^").removeprefix(r"\b")
        if one.startswith("(?:"):
            inner = one[3 : _closing(one)]
            found += [
                begin for part in _alternatives(inner) for begin in beginnings(part)
            ]
        else:
            found.append(_literal(one))
    return tuple(found) if all(found) else ("",)


def _literal(pattern: str) -> str:
    """What it begins with, letter by letter."""
    at, found = 0, ""
    while at < len(pattern) and pattern[at] not in "([.{?*+$^":
        if pattern[at] == "\\":
            if pattern[at + 1].isalnum():
                break
            at += 1
        found += pattern[at]
        at += 1
    optional = at < len(pattern) and pattern[at] in "?*{"
    return found[:-1] if optional else found


def _alternatives(pattern: str) -> list[str]:
    """The parts between the bars that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(pattern):
        if pattern[at - 1 : at] == "\\":
            continue
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and depth == 0:
            parts.append(pattern[start:at])
            start = at + 1
    return [*parts, pattern[start:]]


def _closing(pattern: str) -> int:
    """Where the bracket closes that the pattern begins with."""
    depth = 0
    for at, letter in enumerate(pattern):
        if pattern[at - 1 : at] != "\\":
            depth += (letter == "(") - (letter == ")")
        if depth == 0 and at:
            return at
    return len(pattern)
