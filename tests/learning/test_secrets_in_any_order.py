"""A secret is kept nowhere, wherever it stands in its sentence, in six languages and at each door."""

import pytest

from tests.every import every
from vault_memory.models.llm.policy_tables import policy_cues
from vault_memory.rules.learning.policy.secret_signs import MASK, cue_tables, has_sign
from vault_memory.rules.learning.write_policy import DROP, Candidate, decide

VALUE = "quayfish"
ORDERS = {
    "en": (
        "Remember the {cue} {value}",
        "remember: my {cue} is {value}",
        "Remember my {cue}: {value}",
        "{value} is my {cue}",
        "Remember that {value} is the {cue}",
        "{value}, that's my {cue}, keep it in mind",
        "From now on use {value} as my {cue}",
        "Please note the guest {cue} {value}",
        "keep in mind that the {cue} for the portal is {value}",
        "Always use the {cue} {value}",
        "The {cue} here: {value}",
        "{cue} for us {value}",
    ),
    "de": (
        "Merk dir das {cue} {value}",
        "Merk dir, dass mein {cue} {value} ist",
        "Merk dir, dass mein {cue} {value} lautet",
        "Merke dir mein {cue}: {value}",
        "{value} ist mein {cue}",
        "{value} lautet mein {cue}. Bitte merken",
        "Ab jetzt nimm {value} als {cue}",
        "Notiere bitte mein {cue} {value}",
        "Das {cue} fürs Portal lautet {value}",
        "Verwende immer das {cue} {value}",
        "Das {cue} bei uns {value}",
        "{cue} hier {value}",
    ),
    "es": (
        "Recuerda mi {cue}: {value}",
        "Recuerda que mi {cue} es {value}",
        "Recuerda mi {cue} {value}",
        "{value} es mi {cue}",
        "Anota que {value} es mi {cue}",
        "Apunta mi {cue} del portal: {value}",
        "A partir de ahora usa {value} como {cue}",
        "Guarda la {cue} {value}",
        "Usa siempre la {cue} {value}",
        "{cue} aquí {value}",
        "{cue} de nosotros {value}",
    ),
    "fr": (
        "Retiens mon {cue} : {value}",
        "Retiens que mon {cue} est {value}",
        "Retiens mon {cue} {value}",
        "{value} est mon {cue}",
        "{value}, c'est mon {cue}",
        "Note le {cue} du portail : {value}",
        "Désormais utilise {value} comme {cue}",
        "Note que le {cue} est {value}",
        "Utilise toujours le {cue} {value}",
        "{cue} chez nous {value}",
        "{cue} ici {value}",
    ),
    "ru": (
        "Запомни {cue} {value}",
        "Запомни: мой {cue} {value}",
        "Запомни, что мой {cue} — {value}",
        "Запиши мой {cue}: {value}",
        "{value} — мой {cue}",
        "{value} — это мой {cue}, запомни",
        "Используй {value} как {cue}",
        "Запомни {cue} от портала {value}",
        "Всегда используй {cue} {value}",
        "{cue} от сети у нас {value}",
        "{cue} у нас дома {value}",
        "У нас {cue} {value}",
    ),
    "zh": (
        "记住{cue}{value}",
        "请记住我的{cue}是{value}",
        "记住我的{cue}：{value}",
        "{value}是我的{cue}",
        "记一下，{value}就是我的{cue}",
        "从现在起用{value}当{cue}",
        "请记住{cue} {value}",
        "以后总是用{cue}{value}",
    ),
}
"""Sentences of each language, with the value before the cue and after it"""
KINDS = ("rule", "remember", "memory", "fact")
NUMBERS = (
    "My account is DE89370400440532013000.",
    "ES91 2100 0418 4502 0005 1332 es mi cuenta",
    "gb29-nwbk-6016-1331-9268-19",
    "Notez FR14 2004 1010 0505 0001 3M02 606 pour le loyer",
    "Die Bankverbindung ist AT61 1904 3002 3457 3201 bitte merken",
    "my card 4111 1111 1111 1111",
    "My tax number is 12 345 67890",
    "Meine Steuernummer lautet 181/815/08155",
    "Mein Steuer-ID: 86095742719",
    "Mon numéro fiscal est le 3023217600053",
    "Mi NIF es 12345678Z",
    "мой ИНН 500100732259",
    "我的税号是91110108MA01",
    "postgres://keeper:quayfish@db.example/log",
)
CLAUSES = {
    "en": ("for the harbour meeting: {cue} {value}", "Boat trip on Friday, {cue} {value}"),
    "de": ("Für das Treffen am Hafen: {cue} {value}", "Ausflug am Freitag, {cue} {value}"),
    "es": ("para la reunión del puerto: {cue} {value}", "El viernes al lago, {cue} {value}"),
    "fr": ("pour la réunion au port : {cue} {value}", "Vendredi au lac, {cue} {value}"),
    "ru": ("для встречи в порту: {cue} {value}", "В пятницу на озеро, {cue} {value}"),
    "zh": ("港口会议：{cue} {value}", "周五去湖边，{cue} {value}"),
}
"""The same without a verb, behind another clause"""
CODES = (
    "the alarm is 4 4 1 7",
    "the alarm is 4-4-1-7",
    "The alarm of the boathouse is four four one seven",
    "4417 is the code for the garage",
    "The code for the garage is 4417",
    "The code of the old shed by the lake is 44 17",
    "garage code 4417",
    "code 4417",
    "We changed the code of the gate to 4417",
    "front door: 4417",
    "der Code für die Garage ist 4417",
    "Der Code von der Garage lautet 4 4 1 7",
    "Merk dir, dass der Code für die Garage 4417 ist",
    "4417 ist der Code für die Garage",
    "Die Kombination für das Schloss am Rad ist 4417",
    "Der Alarm ist 4417",
    "el código del garaje es 4417",
    "la alarma es 4 4 1 7",
    "4417 es el código para la puerta del lago",
    "le code pour le garage est 4417",
    "le code du garage au bord du lac : 44 17",
    "l'alarme est 4 4 1 7",
    "4417 est le code du cadenas",
    "код для гаража 4417",
    "код от нашего гаража у озера — 4417",
    "сигнализация — 4 4 1 7",
    "4417 — код от ворот",
    "车库的代码是4417",
    "警报是 4 4 1 7",
    "4417是车库的代码",
    "Use 4417 for the door",
    "4417 opens the garage",
    "Den Code 4417 brauchst du für das Tor",
    "Mit 4417 geht das Tor auf",
    "pin for the gate 4417",
    "Zahlenschloss am Fahrrad: 4417",
    "Remember: router login admin / quayfish",
    "router login: admin/quayfish",
    "The username is admin / quayfish.",
    "wifi login guest | quayfish",
    "Router-Login admin / quayfish",
    "Zugangsdaten: admin / quayfish",
    "usuario: admin / quayfish",
    "identifiants admin / quayfish",
    "логин admin / quayfish",
    "登录 admin / quayfish",
    "admin / quayfish for the router login",
    "Use admin / quayfish for the router login",
    "admin / quayfish für den Router-Login",
    "admin / quayfish para el login del router",
    "admin / quayfish pour le login du routeur",
    "admin / quayfish для входа в роутер",
    "admin / quayfish是路由器的登录",
    "路由器登录用admin / quayfish",
    "user admin pass quayfish",
    "user: admin, pass: quayfish",
    "user=admin pass=quayfish",
    "The user is admin and the pass is quayfish",
    "router login admin pw quayfish",
    "Benutzer admin Passwort quayfish",
    "Zugang admin, Kennwort: quayfish",
    "usuario admin contraseña quayfish",
    "utilisateur admin mdp quayfish",
    "логин admin пароль quayfish",
    "Our gate: 4417#",
    "gate 4417#",
    "gate: *4417",
    "gate:4417",
    "The gate is #4417",
    "For the garage press 4417 #",
    "Unser Tor: 4417#",
    "Tor 4417#",
    "portail 4417#",
    "El portal: 4417#",
    "Nuestra puerta: #4417",
    "Ворота: 4417#",
    "наш домофон 4417#",
    "大门：4417#",
    "大门4417#",
)
SPOKEN = (
    "The alarm code is four four one seven",
    "My PIN is four, four, one, seven",
    "my pin: nine oh two one",
    "Meine PIN ist vier vier eins sieben",
    "Türcode: vier vier eins sieben",
    "mi PIN es cuatro cuatro uno siete",
    "mon code pin est quatre quatre un sept",
    "мой пин-код четыре четыре один семь",
)
HARMLESS = (
    "issue #4417 is about the gate",
    "PR #4417 fixes the door",
    "room 4417#2 is beside the door",
    "gate 4417 boards at noon",
    "It was 12:3045 at the gate",
    "read / write access for the account",
    "Ana / Bertil for the login page",
    "My user story is about login / logout",
    "und/oder bei der Anmeldung",
    "user admin pass the test",
    "The owner of the account will pass quayfish",
    "She will pass quayfish to me",
    "Пароль у меня в сейфе",
    "у нас пароль забыли",
    "Пароль у моей мамы",
    "Das Passwort bei meiner Mutter",
    "Das Passwort bei uns ändert der Admin",
    "The password here is with us",
    "Le mot de passe chez nous change souvent",
    "the spare fuses are in the blue tin",
    "the code review is at 4",
    "the code review is at 1630",
    "the code of conduct is in MEMORY.md",
    "The error code is 4041",
    "the zip code of Husum is 25813",
    "The code is 4000 lines long",
    "The alarm rings at 0630",
    "the garage is 2400 mm wide",
    "The door was painted in 2019",
    "The door code was changed in 2019",
    "We met at the gate on 24 05",
    "I have access to the wiki/forum",
    "Der Fehlercode ist 4041",
    "Das Tor ist von 1998",
    "Die Postleitzahl ist 25813",
    "Die Garage ist 2400 mm breit",
    "le code postal est 29200",
    "Le garage est de 1998",
    "el código postal es 28001",
    "El garaje es de 1998",
    "код города 4012",
    "Гараж 1998 года",
    "邮政编码是25813",
    "For the harbour meeting: the password is in the safe",
    "The gate opens at 0700",
    "The garage is on the left",
    "We moved the safe to the cellar in 2021",
    "The lock was made in 1904",
    "Gate 4 is closed",
    "The train leaves from gate 24",
    "The house number is 4417",
    "My flight is LH 4417",
    "The order number is 441723",
    "The library has 4417 books",
    "Code review with Jo on Friday 2026",
    "We wrote 4417 lines of code",
    "The source code has 4417 lines",
    "Please review the code",
    "The dress code is black tie",
    "The door is locked at 2200",
    "Der Code-Review ist um 16 Uhr",
    "Das Tor schließt um 2200",
    "Im Safe liegen 4000 Euro",
    "Die Alarmanlage kostet 1200 Euro",
    "Die Garage kostet 1200",
    "Der Alarm geht um 0630",
    "Die Tür ist 2010 mm hoch",
    "El portal cierra a las 2200",
    "La puerta es de 1998",
    "le portail ferme à 2200",
    "La porte est rouge",
    "Сейф стоит 12000 рублей",
    "Гараж построен в 1998",
    "Дверь — 2010 года",
    "代码有4417行",
    "门是红色的",
    "My login works again",
    "The login page is slow",
    "Login: I forgot it",
    "The login form / the button",
    "the username is taken",
    "Access to the boat / the shed is on the left",
    "I use the gate/door on the left",
    "Please check the wiki/login page",
    "The combination of tea and milk is fine",
    "For the garage sale we earned 4417",
    "alarm at 6 30 tomorrow",
    "set the alarm to 0630",
    "I set an alarm for 0630",
    "The alarm is at 0630",
    "The alarm clock is 4417 days old",
    "The lock has 4 digits",
    "The cottage is 2400 euros a month",
    "The cottage: 2 rooms, 4 beds",
    "The zip is 25813, the gate is green",
    "The safe deposit costs 1200",
    "phone of the locksmith: 0461 123 45 67",
    "for the meeting: change the password",
    "my pin has four digits",
    "My PIN is one of two, three at most",
    "The gate code was changed one week ago by two of us",
    "Remember that the password hint is the cat",
    "Remember that the API key lives in 1Password",
    "Remember the password is in the safe",
    "Remember to change the wifi password tomorrow",
    "Remember that my password expires in June",
    "I forgot my password again",
    "My wifi password works again",
    "Merk dir, dass das Passwort im Safe liegt",
    "Merk dir, dass ich mein Passwort morgen ändern muss",
    "Recuerda que la contraseña está en la caja fuerte",
    "Retiens que le mot de passe est dans le coffre",
    "Запомни, что пароль в сейфе",
    "记住密码写在冰箱上",
    "The order is AB12 3456 7890 1234",
    "I moved to flat DE12 in 2024",
    "My account at the library has a fine of 1200",
    "Use the password manager for the portal",
    "The spare fuses are in the blue tin (2026-05-04)",
    "Saw the card number twice (2026-05-04)",
    "Das Auto hat einen neuen TÜV und eine TAN (2026-05-04)",
)


def words_of(language: str) -> list[str]:
    """The words for a secret of one language, as its table lists them."""
    cues = [cue for cue in cue_tables()[language]["secret"] if cue[-1] not in ":="]
    assert cues
    return cues


@pytest.mark.sampled
@every("kind", KINDS)
@every("language", sorted(ORDERS))
def test_no_word_order_lets_a_secret_through(language: str, kind: str) -> None:
    cues = policy_cues()
    let_through = [
        text
        for cue in words_of(language)
        for order in ORDERS[language]
        if not _is_dropped(text := order.format(cue=cue, value=VALUE), kind, cues)
    ]

    assert let_through == []


@pytest.mark.sampled
@every("language", sorted(ORDERS))
def test_every_secret_has_a_sign_that_needs_no_table_of_phrases(language: str) -> None:
    numbers = cue_tables()[language]["secret_numbers"]
    texts = [
        order.format(cue=cue, value=VALUE)
        for cue in (*words_of(language), *numbers)
        for order in ORDERS[language]
    ]
    texts += [text for text in (*NUMBERS, *SPOKEN) if policy_cues().is_secret(text)]

    without_sign = [
        text
        for plain in texts
        for text in (plain, plain.upper(), f"I was at the quay. {plain} Bye.")
        if policy_cues().is_secret(text) and not has_sign(text)
    ]

    assert without_sign == []
    assert not has_sign("The heron is back at the quay, and Mira spins wool")


@every("language", sorted(CLAUSES))
def test_no_clause_before_it_lets_a_secret_through(language: str) -> None:
    let_through = [
        text
        for words in sorted(CLAUSES)
        for cue in words_of(words)
        for clause in CLAUSES[language]
        if not policy_cues().is_secret(text := clause.format(cue=cue, value=VALUE))
    ]

    assert let_through == []


@every("text", CODES)
def test_the_number_of_a_door_or_a_pair_is_a_secret(text: str) -> None:
    assert policy_cues().is_secret(text)
    assert has_sign(text)


@every("text", NUMBERS)
def test_the_number_of_an_account_or_of_a_person_is_a_secret(text: str) -> None:
    assert policy_cues().is_secret(text)


@every("text", SPOKEN)
def test_a_code_in_words_is_a_secret(text: str) -> None:
    assert policy_cues().is_secret(text)


@every("text", HARMLESS)
def test_what_only_speaks_of_a_secret_is_none(text: str) -> None:
    assert not policy_cues().is_secret(text)


def _is_dropped(text: str, kind: str, cues) -> bool:  # type: ignore[no-untyped-def]
    turns = (text,)
    if kind == "fact":
        triple = ("mira", "uses", VALUE)
        candidate = Candidate("fact", f"mira uses: {VALUE}", triple, turns)
    else:
        candidate = Candidate(kind, text, turns=turns, is_asked=True)  # type: ignore[arg-type]
    decision = decide(candidate, cues)
    return (decision.policy_class, decision.reason) == (DROP, "secret")


def test_the_words_that_replace_a_secret_are_kept_by_no_model() -> None:
    candidate = Candidate("memory", MASK, turns=(f"The heron is back. {MASK}",))

    assert decide(candidate, policy_cues()).policy_class == DROP
