"""Settings: where they come from, and what is said of a wrong one."""

from pathlib import Path

import pytest

from openslot.core.config import Networks, load_settings
from openslot.core.db import hide_password
from openslot.core.errors import StartupError


def test_flags_stand_above_the_environment_and_the_environment_above_the_file(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("OPENSLOT_PORT=1001\nOPENSLOT_HOST=10.0.0.1\nOPENSLOT_LIMIT_KEY=7\n")
    settings = load_settings(
        {"port": 1003, "host": None}, environ={"OPENSLOT_PORT": "1002", "OPENSLOT_HOST": "10.0.0.2"}, dotenv=dotenv
    )

    assert (settings.port, settings.host, settings.limit_key) == (1003, "10.0.0.2", 7)


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert load_settings(environ={"OPENSLOT_PORT": " ", "DATABASE_URL": ""}).database_url is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENSLOT_PORT", "eighty"),
        ("OPENSLOT_PORT", "65536"),
        ("OPENSLOT_LIMIT_KEY", "0"),
        ("OPENSLOT_LIMIT_KEY", "1.5"),
        ("OPENSLOT_TRUSTED_PROXIES", "10.0.0.0/8,proxy"),
        ("OPENSLOT_OUTBOUND_ALLOW", "300.0.0.0/8"),
        ("OPENSLOT_LOG_LEVEL", "loud"),
        ("OPENSLOT_DATABASE_POOLER", "maybe"),
        ("OPENSLOT_BASE_URL", "example.com"),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(name: str, value: str) -> None:
    with pytest.raises(StartupError, match=f"^{name} is wrong: .+\\.$"):
        load_settings(environ={name: value})


def test_networks_are_read_by_commas() -> None:
    networks = load_settings(environ={"OPENSLOT_OUTBOUND_ALLOW": "10.0.0.0/8, ::1 ,"}).outbound_allow

    assert networks == Networks.parse("10.0.0.0/8,::1/128")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"OPENSLOT_HOST": "0.0.0.0", "OPENSLOT_PORT": "80"}, "http://127.0.0.1:80"),
        ({"OPENSLOT_HOST": "::1"}, "http://[::1]:8000"),
        ({"OPENSLOT_BASE_URL": "https://book.example/"}, "https://book.example"),
    ],
)
def test_links_begin_with_the_public_address(environ: dict[str, str], expected: str) -> None:
    assert load_settings(environ=environ).public_url == expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:secret@db/x", "postgresql://ann:…@db/x"),
        ("postgresql://ann:p@ss@db/x", "postgresql://ann:…@db/x"),
        ("postgresql://ann@db/x", "postgresql://ann@db/x"),
        ("postgresql://db/x", "postgresql://db/x"),
        ("postgresql://db/x?user=a&password=secret&ssl=1", "postgresql://db/x?user=a&password=…&ssl=1"),
    ],
)
def test_a_password_never_shows(url: str, shown: str) -> None:
    assert hide_password(url) == shown
