"""Where settings come from: flags, the environment, files that it names, and .env; checked once at startup."""

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from dotenv import dotenv_values
from msgspec import inspect

from openslot.platform.core.config import SECRET, Networks, Settings, environment_name, file_variable
from openslot.platform.core.dollars import Dollars, DollarsByName
from openslot.platform.core.errors import StartupError
from openslot.platform.core.smtp import MailFrom, SmtpUrl
from openslot.platform.core.text import find_setting_fault

# Types that parse themselves from a text.
PARSED = (Networks, SmtpUrl, MailFrom, Dollars, DollarsByName)
RAW_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
LAST_PORT = 65_535
PORT_FAULT = f"a port is a number from 1 to {LAST_PORT}"
LARGEST_SECRET = 16 * 1024
# Addresses of other services, which may have a path.
URLS = (
    "hubspot_url",
    "images_url",
    "jitsi_url",
    "stripe_url",
    "twilio_url",
    "google_auth_url",
    "google_token_url",
    "google_api_url",
    "microsoft_login_url",
    "microsoft_graph_url",
)
DATABASES = ("database_url", "direct_database_url", "read_database_url")
CODES = "@ as %40, / as %2F, ? as %3F, # as %23, % as %25"
FIELDS = msgspec.structs.fields(Settings)


def load_settings(
    flags: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    dotenv: Path = Path(".env"),
) -> Settings:
    """Read all settings, or raise a `StartupError` that names the invalid one."""
    found = {**{k: v for k, v in dotenv_values(dotenv).items() if v is not None}, **environ}
    values: dict[str, object] = {k: v for k, v in (flags or {}).items() if v is not None}
    for field in Settings.__struct_fields__:
        if field not in values and (text := _find_text(field, found)):
            values[field] = text
    if not all(map(_is_port, environ.get("PGPORT", "").split(","))):
        raise StartupError(f"PGPORT is wrong: {PORT_FAULT}.")
    return _checked(values)


def _find_text(field: str, found: Mapping[str, str]) -> str:
    """Return what a variable says, or the file that it names; empty if neither is set."""
    name, file_name = environment_name(field), file_variable(field)
    text = found.get(name, "").strip()
    path = found.get(file_name, "").strip() if field in SECRET else ""
    if not path:
        return text
    if text:
        raise StartupError(f"{name} and {file_name} are both set: remove one of them.")
    try:
        return _read_secret(Path(path))
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or fault
        raise StartupError(f"{file_name} is wrong: the file can't be used: {reason}.") from None


def list_secret_files(environ: Mapping[str, str] = os.environ, dotenv: Path = Path(".env")) -> list[Path]:
    """List the files that hold settings: those that variables name, and .env itself."""
    found = {**dotenv_values(dotenv), **environ}
    named = [found.get(file_variable(field)) for field in SECRET]
    return [dotenv, *(Path(path.strip()) for path in named if path and path.strip())]


def find_unknown(environ: Mapping[str, str] = os.environ, dotenv: Path = Path(".env")) -> dict[str, str | None]:
    """Find variables with our prefix that nothing reads, each with the one that it resembles."""
    known = {environment_name(field) for field in Settings.__struct_fields__} | set(map(file_variable, SECRET))
    given = {name for name in (*environ, *dotenv_values(dotenv)) if name.startswith("OPENSLOT_")}
    return {name: next(iter(get_close_matches(name, known, n=1)), None) for name in sorted(given - known)}


def _read_secret(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST_SECRET + 1)
    if len(content) > LARGEST_SECRET:
        raise ValueError(f"it is larger than {LARGEST_SECRET // 1024} KiB")
    text = content.decode("utf-8", "replace").strip()
    if not text:
        raise ValueError("it is empty")
    if not text.isprintable() or "\ufffd" in text:
        raise ValueError("it must be one line of text")
    return text


def _checked(values: dict[str, object]) -> Settings:
    for field in FIELDS:
        if field.name not in values:
            continue
        try:
            values[field.name] = msgspec.convert(values[field.name], field.type, strict=False, dec_hook=_decode)
        except msgspec.ValidationError as fault:
            raise StartupError(f"{environment_name(field.name)} is wrong: {_describe(field.type) or fault}.") from None
    settings = msgspec.convert(values, Settings, dec_hook=_decode)
    _check_addresses(settings)
    if settings.codebase_root is not None and not os.path.isdir(settings.codebase_root):
        raise StartupError("OPENSLOT_CODEBASE_ROOT is wrong: it must be a directory.")
    _check_pooler(settings)
    _check_plans(settings)
    _check_oidc(settings)
    _check_client("google", "Google Calendar", settings.google_client_id, settings.google_client_secret)
    _check_client("microsoft", "Microsoft 365", settings.microsoft_client_id, settings.microsoft_client_secret)
    if settings.smtp_url is not None and settings.mail_from is None:
        raise StartupError("OPENSLOT_MAIL_FROM is missing: OPENSLOT_SMTP_URL requires a sender address.")
    return settings


def _check_addresses(settings: Settings) -> None:
    for name in DATABASES:
        if (url := getattr(settings, name)) is not None:
            _check_url(name, _find_database_fault(url))
    if settings.base_url is not None:
        _check_url("base_url", find_setting_fault(settings.base_url))
    if settings.chat_webhook is not None:
        _check_url("chat_webhook", find_setting_fault(settings.chat_webhook, has_path=True, has_query=True))
    for name in URLS:
        if (url := getattr(settings, name)) is not None:
            _check_url(name, find_setting_fault(url, has_path=True))


def _describe(kind: Any) -> str | None:
    """Say what a value of a type must be; None if the type says so itself."""
    info = inspect.type_info(kind)
    examples: Sequence[str] = ()
    while isinstance(info, inspect.Metadata | inspect.UnionType):
        if isinstance(info, inspect.UnionType):
            info = next(one for one in info.types if not isinstance(one, inspect.NoneType))
        else:
            examples = (info.extra_json_schema or {}).get("examples", examples)
            info = info.type
    if examples:
        return f"it must look like {examples[0]}"
    match info:
        case inspect.BoolType():
            return "it must be true or false"
        case inspect.IntType(ge=least, le=most):
            return f"it must be a whole number from {least} to {most}"
        case inspect.LiteralType(values=values):
            return f"it must be one of {', '.join(map(str, values))}"
        case inspect.StrType(min_length=least, max_length=most):
            return f"it must have {least or 1} to {most} characters, none of them a space"
    return None


def _find_database_fault(url: str) -> str | None:
    """Return what is wrong with a database's address, without repeating it."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in {"postgresql", "postgres"}:
        return "it must begin with postgresql://"
    try:
        parts = urlsplit(url)
    except ValueError:
        return "it is not a valid address"
    login, _, hosts = parts.netloc.rpartition("@")
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    is_cut = "#" in url or ("@" in url and not all(map(_is_port_text, ports)))
    if is_cut or "@" in login or RAW_PERCENT.search(login):
        return f"the user or the password has a character that must be written as a code: write {CODES}"
    asked = [each for name, text in parse_qsl(parts.query) if name == "port" for each in text.split(",")]
    return None if all(map(_is_port, [*ports, *asked])) else PORT_FAULT


def _is_port_text(text: str) -> bool:
    return not text or (text.isascii() and text.isdecimal())


def _is_port(text: str) -> bool:
    """Return whether this is a port, or nothing, which is the usual one."""
    return _is_port_text(text) and (not text or 0 < int(text) <= LAST_PORT)


def _check_url(field: str, fault: str | None) -> None:
    if fault:
        raise StartupError(f"{environment_name(field)} is wrong: {fault}.")


def _check_pooler(settings: Settings) -> None:
    if settings.database_pooler and settings.direct_database_url is None:
        raise StartupError(
            "OPENSLOT_DIRECT_DATABASE_URL is missing: with OPENSLOT_DATABASE_POOLER, workers and migrations need the "
            "address of the database itself."
        )


def _check_plans(settings: Settings) -> None:
    has_price = settings.stripe_price_pro is not None or settings.stripe_price_business is not None
    if settings.stripe_key is not None and not has_price:
        raise StartupError(
            "OPENSLOT_STRIPE_KEY is set, but no price: set OPENSLOT_STRIPE_PRICE_PRO or OPENSLOT_STRIPE_PRICE_BUSINESS."
        )
    if settings.stripe_key is None and has_price:
        raise StartupError("OPENSLOT_STRIPE_KEY is missing: prices of plans require it.")


def _check_oidc(settings: Settings) -> None:
    given = {
        environment_name(field): getattr(settings, field)
        for field in ("oidc_issuer", "oidc_client_id", "oidc_client_secret")
    }
    missing = [name for name, value in given.items() if value is None]
    if 0 < len(missing) < len(given):
        raise StartupError(f"{missing[0]} is missing: sign-in through a provider needs {', '.join(given)}.")
    text = settings.oidc_issuer or "https://none"
    fault = find_setting_fault(text, has_path=True)
    issuer = urlsplit(text if fault is None else "https://none")
    is_local = issuer.scheme == "http" and issuer.hostname in {"localhost", "127.0.0.1", "::1"}
    if not text.startswith("https://") and not is_local:
        fault = "it must begin with https://"
    _check_url("oidc_issuer", fault)


def _check_client(vendor: str, name: str, client_id: str | None, secret: str | None) -> None:
    names = [environment_name(f"{vendor}_{field}") for field in ("client_id", "client_secret")]
    missing = [client_id is None, secret is None]
    if any(missing) and not all(missing):
        raise StartupError(f"{names[missing.index(True)]} is missing: {name} needs {' and '.join(names)}.")


def _decode(kind: type, value: object) -> object:
    if isinstance(value, kind):
        return value
    return kind.parse(str(value)) if kind in PARSED else Path(str(value))
