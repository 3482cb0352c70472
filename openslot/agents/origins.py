"""Whether a request is meant for this installation: its Host, and the page that a browser sends it from."""

from urllib.parse import urlsplit

from openslot.access.addresses import is_address, is_loopback
from openslot.agents.errors import ForeignOrigin
from openslot.core.config import Settings
from openslot.http.doors import Headers


def check_origin(headers: Headers, settings: Settings) -> None:
    """Refuse a request from another site's page, or to a name that is not ours but leads here."""
    host, origin = headers.get("host", "").strip().lower(), headers.get("origin")
    if host and not _is_own_host(host, settings):
        raise ForeignOrigin("Host")
    if origin is not None and not _is_own_origin(origin.strip().lower(), host, settings):
        raise ForeignOrigin("Origin")


def _is_own_host(host: str, settings: Settings) -> bool:
    """Accept the public name, this machine, and, while no public name is set, every plain address of it."""
    if is_loopback(host) or (settings.base_url is None and is_address(host)):
        return True
    return _name(f"//{host}") == _name(settings.public_url)


def _is_own_origin(origin: str, host: str, settings: Settings) -> bool:
    """Accept our own pages, and on this machine those of other programs of it."""
    own = urlsplit(settings.public_url.lower())
    if origin == f"{own.scheme}://{own.netloc}":
        return True
    return is_loopback(host) and is_loopback(_name(origin) or "")


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
