"""Secrets from files: every secret setting can be read from a file that another variable names."""

import os
from pathlib import Path

import pytest

from openslot.domains.doctor.finding import FindingState
from openslot.domains.doctor.machine import find_unknown_variables
from openslot.platform.core.config import SECRET, Settings, environment_name, file_variable
from openslot.platform.core.environment import LARGEST_SECRET, load_settings
from openslot.platform.core.errors import StartupError
from openslot.processes.environment import choose

ROOT = Path(__file__).parents[3]
VALID = {
    "database_url": "postgresql://ann:hidden@db/openslot",
    "direct_database_url": "postgresql://ann:hidden@db:5433/openslot",
    "read_database_url": "postgresql://ann:hidden@standby/openslot",
    "secret_key": "new-key-0123456789-0123456789-0123456789, old-key-0123456789-0123456789-0123",
    "smtp_url": "smtp://ann:hidden@mail.example:587",
    "chat_webhook": "https://hooks.example/services/hidden",
    "images_key": "sk-hidden",
    "api_key": "svc_live_0123456789",
    "metrics_token": "0123456789abcdef0123456789abcdef",
    "oidc_client_secret": "hidden secret with ünïcode",
    "stripe_key": "rk_test_hidden0123456789",
    "google_client_secret": "GOCSPX-hidden",
    "microsoft_client_secret": "8Q8~hidden",
}
OTHERS = {
    "OPENSLOT_MAIL_FROM": "a@book.example",
    "OPENSLOT_OIDC_ISSUER": "https://id.example",
    "OPENSLOT_OIDC_CLIENT_ID": "a",
    "OPENSLOT_OIDC_CLIENT_SECRET": "b",
    "OPENSLOT_GOOGLE_CLIENT_ID": "c",
    "OPENSLOT_GOOGLE_CLIENT_SECRET": "d",
    "OPENSLOT_MICROSOFT_CLIENT_ID": "e",
    "OPENSLOT_MICROSOFT_CLIENT_SECRET": "f",
    "OPENSLOT_STRIPE_KEY": "rk_test_other0123456789",
    "OPENSLOT_STRIPE_PRICE_PRO": "price_pro",
}
every_secret = pytest.mark.parametrize("field", sorted(SECRET))


def load(field: str, path: Path | str, **more: str) -> Settings:
    """Load settings in which only the file has this field's value."""
    others = {name: value for name, value in OTHERS.items() if name != environment_name(field)}
    return load_settings(environ={**others, file_variable(field): str(path), **more})


def test_every_secret_setting_is_in_this_table() -> None:
    assert set(VALID) == SECRET


@every_secret
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_a_file_says_the_same_as_the_variable(field: str, end: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes((VALID[field] + end).encode())

    read = getattr(load(field, file), field)
    told = getattr(load_settings(environ={**OTHERS, environment_name(field): VALID[field]}), field)

    assert read is not None
    assert getattr(read, "server", read) == getattr(told, "server", told)


@every_secret
def test_a_variable_and_a_file_are_refused_together(field: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(VALID[field])
    name = environment_name(field)

    with pytest.raises(StartupError, match=f"^{name} and {name}_FILE are both set: remove one of them.$"):
        load(field, file, **{name: VALID[field]})


BAD = [
    (b"", "it is empty"),
    (b" \r\n\t\n", "it is empty"),
    (b"hidden\x00hidden", "it must be one line of text"),
    (b"hidden\nhidden", "it must be one line of text"),
    (b"\xef\xbb\xbfhidden", "it must be one line of text"),
    (b"hidden\xff\xfe", "it must be one line of text"),
    (os.urandom(64) + b"\x00", "it must be one line of text"),
    (b"hidden" * LARGEST_SECRET, "it is larger than 16 KiB"),
]


@every_secret
@pytest.mark.parametrize(("content", "reason"), BAD)
def test_a_file_that_holds_no_secret_is_named_by_its_variable(
    field: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "hidden"
    file.write_bytes(content)

    with pytest.raises(StartupError, match=f"^{file_variable(field)} is wrong: the file can't be used: {reason}.$"):
        load(field, file)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("hidden-0123456789", "No such file or directory"),
        ("/", "Is a directory"),
        ("/dev/zero", "it is larger than 16 KiB"),
        ("/dev/null", "it is empty"),
        ("/dev/null/hidden", "Not a directory"),
        ("hidden" * 1000, "File name too long"),
        ("\x00hidden", "embedded null byte"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_repeated(path: str, reason: str) -> None:
    # Somebody may have put the secret itself where the path belongs.
    with pytest.raises(StartupError, match=f"^OPENSLOT_SECRET_KEY_FILE is wrong: .*{reason}.$") as refused:
        load("secret_key", path)
    assert "hidden" not in str(refused.value)


def test_a_wrong_secret_is_refused_as_if_the_variable_had_said_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("short")

    with pytest.raises(StartupError, match=r"^OPENSLOT_METRICS_TOKEN is wrong: .+\.$") as refused:
        load("metrics_token", file)
    assert "short" not in str(refused.value)


def test_an_empty_name_of_a_file_is_as_good_as_none() -> None:
    assert load("secret_key", " ").secret_key is None


def test_a_flag_stands_above_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("DATABASE_URL_FILE=/nowhere\n")
    for name in ("DATABASE_URL", "DATABASE_URL_FILE"):
        monkeypatch.setenv(name, "")
    monkeypatch.delenv("DATABASE_URL_FILE")

    assert load_settings({"database_url": "postgresql://db/a"}, environ={}, dotenv=dotenv).database_url
    choose(database_url="postgresql://db/x")

    assert load_settings(dotenv=dotenv).database_url == "postgresql://db/x"


def test_files_of_other_settings_are_unknown_to_the_doctor(tmp_path: Path) -> None:
    none = tmp_path / "none"
    known = {file_variable(field): "x" for field in SECRET}

    assert find_unknown_variables(known, none).state is FindingState.OK
    assert "OPENSLOT_PORT_FILE" in find_unknown_variables({"OPENSLOT_PORT_FILE": "x"}, none).meaning


@every_secret
def test_the_documentation_names_every_file(field: str) -> None:
    assert f"`{file_variable(field)}`" in (ROOT / "docs/secrets.md").read_text("utf-8")
