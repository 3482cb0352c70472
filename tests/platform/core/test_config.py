"""Settings: where they come from, and what is said of a wrong one."""

import re
from pathlib import Path

import pytest

from openslot.platform.core.config import Networks, Settings, environment_name
from openslot.platform.core.connecting import hide_password
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError


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
        ("OPENSLOT_JITSI_URL", "meet.example"),
        ("OPENSLOT_JITSI_URL", "https://ann:pw@meet.example"),
        ("OPENSLOT_JITSI_URL", "https://meet.example/?room="),
        ("OPENSLOT_JITSI_URL", "https://meet.example/" + "x" * 200),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(name: str, value: str) -> None:
    with pytest.raises(StartupError, match=f"^{name} is wrong: .+\\.$"):
        load_settings(environ={name: value})


SCHEME, HOST = "it must begin with http:// or https://", "it must have a host name"
EXTRA, USER, SPACES = "it must not contain a query", "it must not contain a user name", "it must not contain spaces"
BASE_URLS = [
    ("https://book.example?x=1", EXTRA),
    ("https://book.example/?", EXTRA),
    ("https://book.example/#top", EXTRA),
    ("https://book.example#", EXTRA),
    ("https://ann@book.example", USER),
    ("https://ann:secret@book.example/", USER),
    ("https://book.example/calendar", "it must not contain a path"),
    ("https://book.example//x/", "it must not contain a path"),
    ("ftp://book.example", SCHEME),
    ("//book.example", SCHEME),
    ("https:book.example", SCHEME),
    ("javascript:alert(1)", SCHEME),
    ("https://", HOST),
    ("https:///x", HOST),
    ("https://:443", HOST),
    ("https://book.example:0", HOST),
    ("https://book.example:70000", "it is not a valid URL"),
    ("https://[::1", "it is not a valid URL"),
    ("https://book example", SPACES),
    ("https://book.example\u00a0", SPACES),
    ("https://book.example\\evil", SPACES),
    ("https://book.example/\x07", SPACES),
]


@pytest.mark.parametrize(("url", "fault"), BASE_URLS)
def test_a_base_url_that_would_break_links_is_refused(url: str, fault: str) -> None:
    with pytest.raises(StartupError, match=f"^OPENSLOT_BASE_URL is wrong: {re.escape(fault)}") as refused:
        load_settings({"base_url": url}, environ={})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("https://book.example", "https://book.example"),
        ("https://book.example///", "https://book.example"),
        ("HTTPS://Book.Example:8443/", "HTTPS://Book.Example:8443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
    ],
)
def test_a_base_url_may_end_with_a_slash(url: str, public: str) -> None:
    assert load_settings(environ={"OPENSLOT_BASE_URL": url}).public_url == public


@pytest.mark.parametrize("field", Settings.__struct_fields__)
def test_no_setting_is_refused_in_the_words_of_a_library(field: str) -> None:
    name = environment_name(field)
    for value in ("wrong value", "-1", "1" * 600):
        try:
            load_settings(environ={name: value})
        except StartupError as refused:
            said = str(refused)
            assert not re.search(r"`|Expected|Invalid|matching|literal|appear|\.\.|got", said), said


CODED = "write @ as %40, / as %2F, ? as %3F, # as %23, % as %25"


@pytest.mark.parametrize("name", ["DATABASE_URL", "OPENSLOT_READ_DATABASE_URL", "OPENSLOT_DIRECT_DATABASE_URL"])
@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("postgresql://ann:s@cret@db/x", CODED),
        ("postgresql://ann:s/cret@db/x", CODED),
        ("postgresql://ann:s?cret@db/x", CODED),
        ("postgresql://ann:s#cret@db/x", CODED),
        ("postgresql://ann:s%cret@db/x", CODED),
        ("postgresql://db:70000/x", "a port is a number from 1 to 65535"),
        ("postgresql://db:0/x", "a port is a number from 1 to 65535"),
        ("postgresql://db:abc/x", "a port is a number from 1 to 65535"),
        ("postgresql://db:\u0663/x", "a port is a number from 1 to 65535"),
        ("postgresql://one:1,two:zwei/x", "a port is a number from 1 to 65535"),
        ("postgresql:///x?host=db&port=abc", "a port is a number from 1 to 65535"),
        ("postgresql:///x?host=one,two&port=5432,70000", "a port is a number from 1 to 65535"),
        ("mysql://db/x", "it must begin with postgresql://"),
        ("host=db dbname=x", "it must begin with postgresql://"),
        ("postgresql://[broken", "it is not a valid address"),
    ],
)
def test_what_a_database_address_must_have_as_a_code_is_named_and_nothing_repeated(
    name: str, url: str, fault: str
) -> None:
    with pytest.raises(StartupError) as refused:
        load_settings(environ={name: url})
    assert str(refused.value).startswith(f"{name} is wrong: ")
    assert str(refused.value).endswith(f"{fault}.")
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgres://ann:s%40cret@db:5432/x?sslmode=require",
        "postgresql://postgres@/openslot?host=/run/x&port=5432",
        "postgresql:///x?host=/run/x",
        "postgresql://ann:secret@one:5432,two:5433/x",
        "postgresql://ann:a:b@[::1]:5432/x",
    ],
)
def test_addresses_of_databases_are_accepted_as_they_are_written(url: str) -> None:
    assert load_settings(environ={"DATABASE_URL": url}).database_url == url


def test_a_pooler_is_refused_without_the_address_of_the_database_itself() -> None:
    pooled = {"DATABASE_URL": "postgresql://pooler/openslot", "OPENSLOT_DATABASE_POOLER": "true"}
    with pytest.raises(
        StartupError, match=r"^OPENSLOT_DIRECT_DATABASE_URL is missing: .*OPENSLOT_DATABASE_POOLER.*\.$"
    ):
        load_settings(environ=pooled)

    direct = {"OPENSLOT_DIRECT_DATABASE_URL": "postgresql://db/openslot"}
    assert load_settings(environ={**pooled, **direct}).database_pooler
    assert not load_settings(environ={**pooled, "OPENSLOT_DATABASE_POOLER": "false"}).database_pooler


OIDC = {
    "OPENSLOT_OIDC_ISSUER": "https://id.example",
    "OPENSLOT_OIDC_CLIENT_ID": "a",
    "OPENSLOT_OIDC_CLIENT_SECRET": "b",
}
SMTP = {"OPENSLOT_MAIL_FROM": "a@book.example"}


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("OPENSLOT_CHAT_WEBHOOK", "hooks.example/hidden"),
        ("OPENSLOT_CHAT_WEBHOOK", "https:///hidden"),
        ("OPENSLOT_CHAT_WEBHOOK", "https://ann:hidden@hooks.example/x"),
        ("OPENSLOT_CHAT_WEBHOOK", "https://hooks.example/hidden#x"),
        ("OPENSLOT_CHAT_WEBHOOK", "https://hooks.example/hidden x"),
        ("OPENSLOT_OIDC_ISSUER", "https://id.example?x=hidden"),
        ("OPENSLOT_OIDC_ISSUER", "https://id.example#hidden"),
        ("OPENSLOT_OIDC_ISSUER", "https://ann:hidden@id.example"),
        ("OPENSLOT_OIDC_ISSUER", "https://id.example/hid den"),
        ("OPENSLOT_SMTP_URL", "smtp://mail.example#hidden"),
        ("OPENSLOT_SMTP_URL", "smtp://ann:hidden@mail.example:587/#x"),
        ("OPENSLOT_SMTP_URL", "smtp://ann:hid den@mail.example"),
        ("OPENSLOT_SMTP_URL", "smtp://ann:hidden@/"),
    ],
)
def test_other_urls_are_refused_by_name_and_not_repeated(name: str, url: str) -> None:
    with pytest.raises(StartupError, match=f"^{name} is wrong: .+\\.$") as refused:
        load_settings(environ={**OIDC, **SMTP, name: url})
    assert "hid" not in str(refused.value)


def test_urls_with_what_they_may_have_are_accepted() -> None:
    chosen = {
        **OIDC,
        **SMTP,
        "OPENSLOT_OIDC_ISSUER": "https://id.example/realms/a/",
        "OPENSLOT_CHAT_WEBHOOK": "https://hooks.example/services/T0/B0?thread=1",
        "OPENSLOT_SMTP_URL": "smtp://ann%40x:p%23%20ss@mail.example:587?starttls=always",
    }
    settings = load_settings(environ=chosen)

    assert settings.chat_webhook == chosen["OPENSLOT_CHAT_WEBHOOK"]
    assert settings.smtp_url is not None
    assert settings.smtp_url.server.password == "p# ss"


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


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"OPENSLOT_STRIPE_KEY": "sk_test_123456789"}, "OPENSLOT_STRIPE_KEY is set, but no price"),
        ({"OPENSLOT_STRIPE_PRICE_PRO": "price_1"}, "OPENSLOT_STRIPE_KEY is missing"),
        ({"OPENSLOT_STRIPE_KEY": "pk_test_123456789"}, "OPENSLOT_STRIPE_KEY is wrong"),
        ({"OPENSLOT_STRIPE_PRICE_PRO": "prod_1"}, "OPENSLOT_STRIPE_PRICE_PRO is wrong"),
        ({"OPENSLOT_PLAN_GRACE_DAYS": "-1"}, "OPENSLOT_PLAN_GRACE_DAYS is wrong"),
    ],
)
def test_settings_of_plans_are_whole_or_refused(given: dict[str, str], fault: str) -> None:
    with pytest.raises(StartupError, match=f"^{fault}") as refused:
        load_settings(environ=given)
    assert "123456789" not in str(refused.value)


@pytest.mark.parametrize("port", ["abc", "0", "70000", "5432,x", "8_0"])
def test_the_drivers_own_variable_for_the_port_is_checked_too(port: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"^PGPORT is wrong: a port is a number from 1 to 65535"):
        load_settings(environ={"PGPORT": port}, dotenv=tmp_path / "no")
    assert load_settings(environ={"PGPORT": "5433,5434"}, dotenv=tmp_path / "no").port == 8000
