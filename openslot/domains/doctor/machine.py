"""The doctor's checks of the machine: variables, data directory, secret key, disk, addresses, backups, mail, OIDC."""

import asyncio
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from openslot.domains.doctor.finding import Finding, ok, problem, warning
from openslot.domains.mail.ports import MailDeferred, MailServers
from openslot.domains.oauth.client import GrantRefused, refresh_grant
from openslot.domains.oauth.models import OAuthClient, OAuthUnreachable, OAuthVendor, find_client
from openslot.domains.oidc.models import OidcUnreachable
from openslot.domains.oidc.provider import find_provider, get_provider, read_keys_of, read_metadata
from openslot.platform.backups.create import backups_directory, find_backups
from openslot.platform.core.build import describe_version
from openslot.platform.core.config import Settings, environment_name
from openslot.platform.core.embedded import has_cluster, has_owner
from openslot.platform.core.environment import find_unknown
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outages import FULL, read_free, reason
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.secrets import KEY_FILE, load_secrets
from openslot.platform.core.work import system_clock

LITTLE_SPACE, NO_SPACE = 1_000_000_000, 200_000_000
BACKUP_EVERY = timedelta(days=7)
CALENDARS = {
    OAuthVendor.GOOGLE: ("Google Calendar", "docs/google-calendar.md"),
    OAuthVendor.MICROSOFT: ("Microsoft 365", "docs/microsoft-365.md"),
}


def look_at_machine(chosen: Settings, servers: MailServers) -> Iterator[Finding]:
    """Run every check that needs no database."""
    yield ok("version", f"Openslot {describe_version()}.")
    yield look_at_directory(chosen)
    yield look_at_key(chosen)
    yield look_at_space(chosen.data_dir)
    yield look_at_address(chosen)
    yield look_at_proxies(chosen)
    yield look_at_mail(chosen, servers)
    yield look_at_oidc(chosen)
    for vendor in OAuthVendor:
        yield look_at_client(chosen, vendor)
    yield look_at_backups(chosen, now=system_clock())


def find_unknown_variables(environ: Mapping[str, str] = os.environ, dotenv: Path = Path(".env")) -> Finding:
    """List variables that nothing reads; most of them are misspelled."""
    unknown = find_unknown(environ, dotenv)
    names = ", ".join(unknown)
    if not unknown:
        return ok("variables", "Every OPENSLOT_ variable is known.")
    guesses = [guess for guess in unknown.values() if guess is not None]
    meant = f" Did you mean {', '.join(guesses)}?" if guesses else ""
    is_exported = all(name in environ for name in unknown)
    fix = f"unset {' '.join(unknown)}" if is_exported else f"Correct or remove them in {dotenv}: {names}"
    return warning("variables", f"Unknown variables, which have no effect: {names}.{meant}", fix)


def look_at_directory(chosen: Settings) -> Finding:
    """Check whether the data directory can be written, and only by us if anything of value is kept in it."""
    data_dir = chosen.data_dir
    if not data_dir.exists():
        where = f"{data_dir.absolute()} does not exist; the first start creates it."
        meaning = f"{where} If Openslot runs on this machine, it uses another directory."
        return warning("data directory", meaning, "openslot serve, or: openslot --data-dir DIRECTORY doctor")
    if not data_dir.is_dir() or not os.access(data_dir, os.W_OK | os.X_OK):
        meaning = f"{data_dir} can't be written, so neither the database nor a backup can be stored there."
        return problem("data directory", meaning, f"chown -R $(whoami) {data_dir}")
    if not data_dir.stat().st_mode & stat.S_IWOTH:
        # Beside a database of its own, `serve` leaves no trace there.
        user = "" if chosen.database_url else f"; {'' if has_owner(data_dir) else 'no '}openslot serve runs on it"
        return ok("data directory", f"{data_dir.absolute()} can be written{user}.")
    kept = ", ".join(_list_kept(chosen))
    if not kept:
        # Kubernetes makes an empty directory for everyone to write, and it does not belong to us.
        meaning = "can be written by everyone; neither the database nor the secret key nor a backup is kept there."
        return ok("data directory", f"{data_dir.absolute()} {meaning}")
    meaning = f"Everyone on this machine can write to {data_dir}, and so replace what is kept there: {kept}."
    return problem("data directory", meaning, f"chmod o-w {data_dir}")


def _list_kept(chosen: Settings) -> Iterator[str]:
    if not _is_database_elsewhere(chosen):
        yield "the database"
    if chosen.secret_key is None or (chosen.data_dir / KEY_FILE).exists():
        yield "the secret key"
    if backups_directory(chosen).exists():
        yield "backups"


def _is_database_elsewhere(chosen: Settings) -> bool:
    """Whether nothing of the database is in the data directory; serve sets its address, embedded or not."""
    return chosen.database_url is not None and not has_cluster(chosen.data_dir)


def look_at_key(chosen: Settings) -> Finding:
    """Check whether the secret key exists, is strong and is private."""
    path = chosen.data_dir / KEY_FILE
    is_file = chosen.secret_key is None
    if is_file and not path.exists():
        if chosen.database_url is None and not has_cluster(chosen.data_dir):
            return ok("secret key", "The first start creates one.")
        meaning = f"{path} is missing. A new key can't decrypt existing secrets, so an existing database won't start."
        return warning("secret key", meaning, f"tar xf BACKUP -C {chosen.data_dir} {KEY_FILE}")
    try:
        load_secrets(chosen.secret_key, chosen.data_dir)
    except StartupError as fault:
        fix = "Restore the former key; only for a new installation: openssl rand -base64 48"
        return problem("secret key", f"Openslot does not start. {fault}", fix)
    if is_file and path.stat().st_mode & 0o077:
        meaning = f"Other users of this machine can read {path}, and with it all encrypted secrets."
        return problem("secret key", meaning, f"chmod 600 {path}")
    return ok("secret key", f"{path} is private." if is_file else "Set by OPENSLOT_SECRET_KEY.")


def look_at_space(data_dir: Path) -> Finding:
    """Check how much space is left on the data directory's disk."""
    path = next(each for each in (data_dir.absolute(), *data_dir.absolute().parents) if each.exists())
    free = read_free(path)
    words = f"{free / 1e9:.1f} GB is free at {path}."
    if free >= LITTLE_SPACE:
        return ok("disk space", words)
    meaning = f"{words} The database stops when the disk is full."
    if free < FULL:
        meaning = f"The disk is full: {words} Nothing can be stored, and the database may stop."
    fix = f"Remove old backups, or find what takes the space: du -sh {data_dir}/*"
    return problem("disk space", meaning, fix) if free < NO_SPACE else warning("disk space", meaning, fix)


def look_at_address(chosen: Settings) -> Finding:
    """Check whether sign-ins and keys are encrypted when they leave this machine."""
    public = urlsplit(chosen.public_url)
    if public.scheme == "https":
        return ok("address", f"The service is at {chosen.public_url}.")
    if chosen.base_url is None and not _is_loopback(chosen.host):
        meaning = (
            f"The service listens on {chosen.host}, but OPENSLOT_BASE_URL is not set: links in emails begin with "
            f"{chosen.public_url}, and passwords and keys can be read in transit."
        )
        return warning("address", meaning, "Set OPENSLOT_BASE_URL=https://… and put a proxy with TLS in front")
    if not _is_loopback(public.hostname or ""):
        meaning = f"{chosen.public_url} is not encrypted: passwords and keys can be read in transit."
        return warning("address", meaning, "Set OPENSLOT_BASE_URL=https://… and put a proxy with TLS in front")
    return ok("address", f"The service is at {chosen.public_url}, reachable from this machine only.")


def look_at_proxies(chosen: Settings) -> Finding:
    """Check whether clients' addresses can be trusted."""
    believed = ", ".join(map(str, chosen.trusted_proxies))
    if any(network.prefixlen == 0 for network in chosen.trusted_proxies):
        meaning = (
            "Every address is trusted as a proxy: anyone can forge X-Forwarded-For and avoid the limits by address."
        )
        return problem("proxies", meaning, "Set OPENSLOT_TRUSTED_PROXIES to the proxy's own network")
    public = [str(network) for network in chosen.trusted_proxies if not network.is_private]
    if public:
        meaning = (
            f"Public networks are trusted as proxies: {', '.join(public)}. Anyone there can forge X-Forwarded-For and "
            "avoid the limits by address."
        )
        return warning("proxies", meaning, "Set OPENSLOT_TRUSTED_PROXIES to the proxy's own network")
    if chosen.public_url.startswith("https://") and not chosen.trusted_proxies:
        meaning = (
            "The public address is https, but no proxy is trusted: all visitors who come through a proxy count as one "
            "address and share its limits."
        )
        return warning("proxies", meaning, "Set OPENSLOT_TRUSTED_PROXIES, for example to 127.0.0.1")
    return ok("proxies", f"X-Forwarded-For is trusted from {believed}." if believed else "No proxy is trusted.")


def look_at_mail(chosen: Settings, servers: MailServers) -> Finding:
    """Check whether mail can be sent: connect to the server and log in, without sending anything."""
    if chosen.smtp_url is None and chosen.sign_up == "open":
        meaning = "Anyone can sign up (OPENSLOT_SIGN_UP=open), but emails are not sent, so nobody gets the link."
        return problem("mail", meaning, "Set OPENSLOT_SMTP_URL and OPENSLOT_MAIL_FROM")
    if chosen.smtp_url is None:
        meaning = (
            "No email is sent: all emails stay in the embedded mailbox (openslot mail list), and nobody gets them."
        )
        return warning("mail", meaning, "Set OPENSLOT_SMTP_URL and OPENSLOT_MAIL_FROM")
    try:
        asyncio.run(servers.check(chosen.smtp_url.server))
    except MailDeferred as fault:
        meaning = f"{chosen.smtp_url!r}: {reason(fault)}. Emails are retried for about 24 hours, then they fail."
        return problem("mail", meaning, "Correct OPENSLOT_SMTP_URL, or start the mail server")
    return ok("mail", f"{chosen.smtp_url!r} responds and accepts the login.")


def look_at_oidc(chosen: Settings) -> Finding:
    """Check the provider's description, without signing anyone in."""
    provider = find_provider(chosen)
    if provider is None:
        return ok("oidc", "OPENSLOT_OIDC_ISSUER is not set: people sign in with their passwords.")
    try:
        asyncio.run(_read(chosen))
    except OidcUnreachable as fault:
        fix = "Correct OPENSLOT_OIDC_ISSUER; for a provider in a private network, OPENSLOT_OUTBOUND_ALLOW too"
        return problem("oidc", f"Nobody can sign in with {chosen.oidc_name}: {fault.reason.rstrip('.')}.", fix)
    return ok(
        "oidc", f"{provider.issuer} responds. The redirect URI that is registered there must be {provider.redirect_uri}"
    )


async def _read(chosen: Settings) -> None:
    outbound = Outbound(allow=chosen.outbound_allow)
    try:
        await read_keys_of(outbound, await read_metadata(outbound, get_provider(chosen)))
    finally:
        await outbound.close()


def look_at_client(chosen: Settings, vendor: OAuthVendor) -> Finding:
    """Check that a vendor of calendars knows the client, by a token that it can't know."""
    client, (calendars, page) = find_client(chosen, vendor), CALENDARS[vendor]
    names = [environment_name(f"{vendor}_{field}") for field in ("client_id", "client_secret")]
    if client is None:
        return ok(vendor, f"{names[0]} is not set: hosts can't connect {calendars}.")
    try:
        asyncio.run(_try_client(chosen, client))
    except OAuthUnreachable as fault:
        fix = f"Correct {' and '.join(names)}; {page} has each step"
        return problem(vendor, f"Nobody can connect {calendars}: {fault.reason.rstrip('.')}.", fix)
    meaning = f"{client.name} knows the client. The redirect URI that is registered there must be {client.redirect_uri}"
    return ok(vendor, meaning)


async def _try_client(chosen: Settings, client: OAuthClient) -> None:
    outbound = Outbound(allow=chosen.outbound_allow)
    try:
        with suppress(GrantRefused):
            await refresh_grant(outbound, client, "openslot-doctor", now=system_clock())
    finally:
        await outbound.close()


def look_at_backups(chosen: Settings, *, now: datetime) -> Finding:
    """Check whether there is a recent backup."""
    made = [backup.created_at for backup in find_backups(chosen) if backup.created_at is not None]
    if not made and _is_database_elsewhere(chosen):
        return _look_at_backups_elsewhere(chosen)
    if not made:
        meaning = (
            "There is no backup in the data directory (other places are not checked): a lost disk loses everything."
        )
        return warning("backups", meaning, "openslot backup create")
    age = now - max(made)
    words = f"The newest backup in the data directory is {age.days} day{'' if age.days == 1 else 's'} old."
    if age <= BACKUP_EVERY:
        return ok("backups", words)
    return warning("backups", f"{words} Later changes would be lost.", "openslot backup create")


def _look_at_backups_elsewhere(chosen: Settings) -> Finding:
    """Whoever runs the database backs it up, but not the key in a file here, without which its secrets are lost."""
    if chosen.secret_key is not None:
        return ok(
            "backups", "Not checked: the database is elsewhere, and none of its backups is in the data directory."
        )
    meaning = (
        "There is no backup in the data directory (other places are not checked): backups of the database alone do not "
        f"have the secret key, which is only in {chosen.data_dir / KEY_FILE}."
    )
    return warning("backups", meaning, "openslot backup create")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
