"""The configuration says everything that is wrong with it at once, and where."""

import pytest

from vault_memory import config
from vault_memory.errors import ConfigError


def load(tmp_path, text="", **environment):
    file = tmp_path / "vault-memory.toml"
    file.write_text(text, encoding="utf-8")
    return config.load(file, {f"VAULT_MEMORY_{name}": value for name, value in environment.items()})


def test_without_a_file_every_setting_has_a_default(tmp_path):
    assert config.load(tmp_path / "absent.toml", {}) == config.Config()


def test_the_environment_overrides_the_file(tmp_path):
    loaded = load(
        tmp_path, "[recall]\nmemory_budget = 3\nmode = 'keyword'\n", RECALL_MEMORY_BUDGET="0"
    )

    assert loaded.recall.memory_budget == 0
    assert loaded.recall.mode == "keyword"


def test_patterns_of_a_custom_layout_are_read(tmp_path):
    loaded = load(
        tmp_path,
        "[[layout.patterns]]\npath = 'journal/{date}.md'\nkind = 'dated'\nscope = 'group:journal'\n",
    )

    assert loaded.layout.patterns == (
        config.LayoutPattern("journal/{date}.md", "dated", "group:journal"),
    )


def test_one_error_lists_all_problems_with_their_places(tmp_path):
    with pytest.raises(ConfigError) as error:
        load(
            tmp_path,
            "[embeding]\nkind = 'x'\n[embedding]\nkind = 'x'\ndimensions = 'many'\n",
            NONSENSE_KEY="1",
        )

    said = error.value.message
    assert "did you mean `embedding`?" in said
    assert "`embedding.kind` = 'x'" in said
    assert "`embedding.dimensions` = 'many'" in said
    assert "VAULT_MEMORY_NONSENSE_KEY" in said
    assert len(error.value.details["problems"]) == 4
    assert error.value.exit_code == 3


@pytest.mark.parametrize("text", ["[embedding", "embedding = 3", "\x00"])
def test_an_error_names_the_invalid_configuration_file(tmp_path, text):
    with pytest.raises(ConfigError) as error:
        load(tmp_path, text)

    assert "vault-memory.toml" in error.value.message


def test_a_pattern_with_an_unknown_key_is_refused(tmp_path):
    with pytest.raises(ConfigError) as error:
        load(
            tmp_path,
            "[[layout.patterns]]\npath = 'a'\nkind = 'note'\nscope = 'group:a'\nsocpe = 'x'\n",
        )

    assert "socpe" in error.value.message


@pytest.mark.parametrize(
    "cron", ["* 2 * * *", "0 2 * * 1", "0 24 * * *", "60 2 * * *", "@daily", "", "0 2 * *", "2"]
)
def test_a_schedule_other_than_one_time_a_day_is_refused_with_the_reason(tmp_path, cron):
    with pytest.raises(ConfigError) as error:
        load(tmp_path, f"[sleep_cycle]\ncron = '{cron}'\n")

    assert "`sleep_cycle.cron`" in error.value.message
    assert "MINUTE HOUR * * *" in error.value.message


def test_an_unknown_time_zone_is_an_error(tmp_path):
    with pytest.raises(ConfigError) as error:
        load(tmp_path, "[channel_sleep_cycle]\nzone = 'Europe/Atlantis'\n")

    assert "`channel_sleep_cycle.zone`" in error.value.message


def test_nights_have_hours_zones_and_retention(tmp_path):
    loaded = load(
        tmp_path,
        "[sleep_cycle]\ncron = ' 30  1 * * *'\nmemory_retention_days = 0\n"
        "[[sleep_cycle.zones]]\nuser = 'mira'\nzone = 'Europe/Oslo'\n[retention]\ntranscript_days = 90\n",
        CHANNEL_SLEEP_CYCLE_LOOKBACK_HOURS="48",
    )

    assert loaded.sleep_cycle.zones == (config.PersonZone("mira", "Europe/Oslo"),)
    assert loaded.channel_sleep_cycle.lookback_hours == 48
    assert loaded.retention.transcript_days == 90


ISTOTA = "max_memory_chars = 9000\nmax_knowledge_facts = 12\n[memory_search]\nauto_recall = true\n"


def test_istota_names_are_accepted_at_the_top_level_and_in_their_table(tmp_path):
    loaded = load(tmp_path, ISTOTA, MAX_MEMORY_CHARS="800", MEMORY_SEARCH_AUTO_RECALL_LIMIT="2")

    assert (loaded.max_memory_chars, loaded.facts.max_knowledge_facts) == (800, 12)
    assert loaded.memory_search == config.MemorySearch(auto_recall=True, auto_recall_limit=2)


def test_the_environment_overrides_a_top_level_key(tmp_path):
    assert load(tmp_path, ISTOTA, MAX_KNOWLEDGE_FACTS="3").facts.max_knowledge_facts == 3


def test_a_key_given_at_the_top_level_and_in_its_table_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="keep one of them"):
        load(tmp_path, "max_knowledge_facts = 12\n[facts]\nmax_knowledge_facts = 12\n")


def test_a_time_that_would_lose_items_at_once_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"lifecycle\.purge_days"):
        load(tmp_path, "[lifecycle]\npurge_days = -1\n")


@pytest.mark.parametrize("key", config.NO_SETTINGS)
def test_a_key_of_an_earlier_version_is_named_with_the_reason_and_not_read(tmp_path, caplog, key):
    section, _, name = key.partition(".")
    value = "{ plan = 7 }" if name == "stability" else "0.5"

    loaded = load(tmp_path, f"[{section}]\n{name} = {value}\n")

    assert loaded == config.Config()
    [told] = caplog.messages
    assert f"`{key}` is no longer a setting: {config.NO_SETTINGS[key]}; delete it" in told


def test_a_variable_of_an_earlier_version_is_named_too(tmp_path, caplog):
    assert load(tmp_path, "", BRAIN_ROOM="4000") == config.Config()
    [told] = caplog.messages
    assert told.startswith("environment: VAULT_MEMORY_BRAIN_ROOM is no longer a setting")


def test_a_variable_of_a_table_of_an_earlier_version_is_named_too(tmp_path, caplog):
    assert load(tmp_path, "", SESSIONS_IDLE_MINUTES="4") == config.Config()
    [told] = caplog.messages
    assert told.startswith("environment: VAULT_MEMORY_SESSIONS_IDLE_MINUTES is no longer a setting")


def test_an_unknown_key_of_a_table_of_an_earlier_version_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"`sessions\.idle_hours` is not known"):
        load(tmp_path, "[sessions]\nidle_hours = 1\n")


def test_no_setting_is_listed_as_one_of_an_earlier_version():
    for key in config.NO_SETTINGS:
        section, _, name = key.partition(".")
        assert name not in getattr(getattr(config.Config(), section, ()), "_fields", ())


def test_a_predicate_has_its_number_of_values_and_its_mode(tmp_path):
    loaded = load(
        tmp_path,
        "[facts]\nconflicts = 'use_new'\n[[facts.predicates]]\nname = 'Married to'\n"
        "mode = 'ask'\n[[facts.predicates]]\nname = 'dating'\nvalues = 'many'\n",
    )

    assert "married_to" in loaded.facts.single
    assert "dating" not in loaded.facts.single
    assert loaded.facts.modes == {"born_on": "ask", "married_to": "ask"}


def test_a_predicate_that_is_named_twice_is_reported(tmp_path):
    row = "[[facts.predicates]]\nname = 'dating'\n"

    with pytest.raises(config.ConfigError, match="names `dating` 2 times"):
        load(tmp_path, row + row)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('[brain]\nkind = "ollama"\n', "`openai`, `command`, `rules`"),
        ('[embedding]\nkind = "torch"\n', "`onnx`, `sentence`, `api`, `off`"),
        ('[remote]\nmode = "both"\n', "`two-way`, `pull`, `push`"),
        ('[curation]\nhuman_items = "ask"\n', "`propose`, `edit`"),
        ('[recall]\nmode = "clever"\n', "`balanced`"),
    ],
)
def test_a_value_out_of_a_few_is_refused_with_what_is_valid(tmp_path, text, names):
    with pytest.raises(ConfigError, match="Expected one of `") as refused:
        load(tmp_path, text)

    assert names in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "is_valid"),
    [
        ("fleet.address", "10.0.0.5:8377", False),
        ("fleet.address", "host.example.org", False),
        ("fleet.address", "http://", False),
        ("fleet.address", "http://10.0.0.5:port", False),
        ("fleet.address", "ftp://10.0.0.5", False),
        ("fleet.address", "http://10.0.0.5:8377", True),
        ("fleet.address", "https://memory.example.org", True),
        ("fleet.address", "http://[::1]:8377", True),
        ("fleet.address", "", True),
        ("brain.base_url", "localhost:11434/v1", False),
        ("brain.base_url", "http://localhost:11434/v1", True),
        ("embedding.base_url", "localhost:11434/v1", False),
    ],
)
def test_the_address_of_a_server_begins_with_its_scheme(tmp_path, key, value, is_valid):
    section, name = key.split(".")
    text = f'[{section}]\n{name} = "{value}"\n'

    if is_valid:
        assert getattr(getattr(load(tmp_path, text), section), name) == value
    else:
        with pytest.raises(ConfigError, match="begins with http:// or https://"):
            load(tmp_path, text)
