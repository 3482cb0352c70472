"""Where settings come from: flags, the environment, files that it names, and .env; checked once at startup."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from dotenv import dotenv_values

from openslot.core.config import SECRET, Networks, Settings, environment_name, file_variable
from openslot.core.dollars import Dollars, DollarsByName
from openslot.core.errors import StartupError
from openslot.core.smtp import MailFrom, SmtpUrl
from openslot.core.text import find_setting_fault

# Types that parse themselves from a text.
PARSED = (Networks, SmtpUrl, MailFrom, Dollars, DollarsByName)
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
            raise StartupError(f"{environment_name(field.name)} is wrong: {fault}.") from None
    settings = msgspec.convert(values, Settings, dec_hook=_decode)
    if settings.base_url is not None:
        _check_url("base_url", find_setting_fault(settings.base_url))
    if settings.chat_webhook is not None:
        _check_url("chat_webhook", find_setting_fault(settings.chat_webhook, has_path=True, has_query=True))
    for name in URLS:
        if (url := getattr(settings, name)) is not None:
            _check_url(name, find_setting_fault(url, has_path=True))
    if settings.codebase_root is not None and not settings.codebase_root.is_dir():
        raise StartupError("OPENSLOT_CODEBASE_ROOT is wrong: it must be a directory.")
    _check_pooler(settings)
    _check_plans(settings)
    _check_oidc(settings)
    _check_client("google", "Google Calendar", settings.google_client_id, settings.google_client_secret)
    _check_client("microsoft", "Microsoft 365", settings.microsoft_client_id, settings.microsoft_client_secret)
    if settings.smtp_url is not None and settings.mail_from is None:
        raise StartupError("OPENSLOT_MAIL_FROM is missing: OPENSLOT_SMTP_URL requires a sender address.")
    return settings


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
