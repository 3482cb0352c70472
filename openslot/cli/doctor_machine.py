"""The doctor's checks of the machine: variables, data directory, secret key, disk, addresses and backups."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values

from openslot.cli.doctor_mail import look_at_mail
from openslot.cli.doctor_oidc import look_at_oidc
from openslot.cli.finding import Finding, ok, problem, warning
from openslot.core.clock import system_clock
from openslot.core.config import Settings, environment_name
from openslot.core.embedded import has_cluster
from openslot.core.errors import StartupError
from openslot.core.key_file import KEY_FILE
from openslot.core.secrets import Secrets

# Names that are documented but not read by this version yet.
LATER = {
    "OPENSLOT_CHAT_WEBHOOK",
    "OPENSLOT_IMAGES_URL",
    "OPENSLOT_CODEBASE_ROOT",
}
LITTLE_SPACE, NO_SPACE = 1_000_000_000, 200_000_000
BACKUP_EVERY = timedelta(days=7)


def find_unknown_variables(environ: Mapping[str, str] = os.environ, dotenv: Path = Path(".env")) -> Finding:
    """List variables that nothing reads; most of them are misspelled."""
    known = {environment_name(field) for field in Settings.__struct_fields__} | LATER
    given = {name for name in (*environ, *dotenv_values(dotenv)) if name.startswith("OPENSLOT_")}
    unknown = sorted(given - known)
    if not unknown:
        return ok("variables", "Every OPENSLOT_ variable is known.")
    guesses = [guess for name in unknown for guess in get_close_matches(name, known, n=1)]
    meant = f" Did you mean {', '.join(guesses)}?" if guesses else ""
    return warning("variables", f"Unknown variables: {', '.join(unknown)}.{meant}", f"unset {' '.join(unknown)}")


def look_at_machine(chosen: Settings) -> Iterator[Finding]:
    """Run every check that needs no database."""
    yield look_at_directory(chosen.data_dir)
    yield look_at_key(chosen)
    yield look_at_space(chosen.data_dir)
    yield look_at_address(chosen)
    yield look_at_proxies(chosen)
    yield look_at_mail(chosen)
    yield look_at_oidc(chosen)
    yield look_at_backups(chosen, now=system_clock())


def look_at_directory(data_dir: Path) -> Finding:
    """Check whether the data directory can be written, and only by us."""
    if not data_dir.exists():
        return warning("data directory", f"{data_dir} does not exist; the first start creates it.", "openslot serve")
    if not data_dir.is_dir() or not os.access(data_dir, os.W_OK | os.X_OK):
        return problem("data directory", f"{data_dir} can't be written.", f"chown -R $(whoami) {data_dir}")
    if data_dir.stat().st_mode & stat.S_IWOTH:
        return problem("data directory", f"Everyone on this machine can write to {data_dir}.", f"chmod o-w {data_dir}")
    return ok("data directory", f"{data_dir.absolute()} can be written.")


def look_at_key(chosen: Settings) -> Finding:
    """Check whether the secret key exists, is strong and is private."""
    path = chosen.data_dir / KEY_FILE
    is_file = chosen.secret_key is None
    if is_file and not path.exists():
        if chosen.database_url is None and not has_cluster(chosen.data_dir):
            return ok("secret key", "The first start creates one.")
        meaning = f"{path} is missing; a new one can't decrypt an existing database."
        return warning("secret key", meaning, "Restore secret.key from a backup: tar xf BACKUP secret.key")
    if is_file and path.stat().st_mode & 0o077:
        return problem("secret key", f"{path} can be read by others.", f"chmod 600 {path}")
    try:
        Secrets(tuple((chosen.secret_key or path.read_text("utf-8")).replace(",", "\n").split()))
    except (StartupError, OSError, UnicodeDecodeError) as fault:
        return problem("secret key", f"The key can't be used: {fault}", "openssl rand -base64 48")
    return ok("secret key", f"{path} is private." if is_file else "Set by OPENSLOT_SECRET_KEY.")


def look_at_space(data_dir: Path) -> Finding:
    """Check how much space is left on the data directory's disk."""
    place = next(path for path in (data_dir.absolute(), *data_dir.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    words = f"{free / 1e9:.1f} GB are free at {place}."
    if free < NO_SPACE:
        return problem("disk space", words, f"du -sh {data_dir}/*")
    return warning("disk space", words, f"du -sh {data_dir}/*") if free < LITTLE_SPACE else ok("disk space", words)


def look_at_address(chosen: Settings) -> Finding:
    """Check whether sign-ins and keys are encrypted when they leave this machine."""
    public = urlsplit(chosen.public_url)
    if public.scheme == "https":
        return ok("address", f"The service is at {chosen.public_url}.")
    if chosen.base_url is None and not _is_loopback(chosen.host):
        meaning = f"The service listens on {chosen.host}, and its links begin with {chosen.public_url}."
        return warning("address", meaning, "Set OPENSLOT_BASE_URL=https://… and put a proxy with TLS in front")
    if not _is_loopback(public.hostname or ""):
        meaning = f"{chosen.public_url} is not encrypted: passwords and keys can be read in transit."
        return warning("address", meaning, "Set OPENSLOT_BASE_URL=https://… and put a proxy with TLS in front")
    return ok("address", f"The service is at {chosen.public_url}, reachable from this machine only.")


def look_at_proxies(chosen: Settings) -> Finding:
    """Check whether clients' addresses can be trusted."""
    believed = ", ".join(map(str, chosen.trusted_proxies))
    if any(network.prefixlen == 0 for network in chosen.trusted_proxies):
        meaning = "Everyone is believed to be a proxy: a forged X-Forwarded-For passes every limit by address."
        return problem("proxies", meaning, "Set OPENSLOT_TRUSTED_PROXIES to the proxy's own network")
    public = [str(network) for network in chosen.trusted_proxies if not network.is_private]
    if public:
        meaning = f"Public networks are trusted as proxies: {', '.join(public)}."
        return warning("proxies", meaning, "Set OPENSLOT_TRUSTED_PROXIES to the proxy's own network")
    if chosen.public_url.startswith("https://") and not chosen.trusted_proxies:
        meaning = "Requests come through a proxy that is not trusted: all visitors count as one address."
        return warning("proxies", meaning, "Set OPENSLOT_TRUSTED_PROXIES, for instance to 127.0.0.1")
    return ok("proxies", f"X-Forwarded-For is trusted from {believed}." if believed else "No proxy is trusted.")


def look_at_backups(chosen: Settings, *, now: datetime) -> Finding:
    """Check whether there is a recent backup."""
    from openslot.cli.backup import find_backups

    made = [backup.created_at for backup in find_backups(chosen) if backup.created_at is not None]
    if not made:
        return warning("backups", "There is no backup in the data directory.", "openslot backup create")
    age = now - max(made)
    words = f"The newest backup is {age.days} day{'' if age.days == 1 else 's'} old."
    return warning("backups", words, "openslot backup create") if age > BACKUP_EVERY else ok("backups", words)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
