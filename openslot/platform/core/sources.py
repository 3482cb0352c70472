"""Where visitors come from: names of campaigns and sites, without personal data."""

import re
from urllib.parse import urlsplit

DIRECT, INTERNAL, OTHER = "direct", "internal", "other"
LONGEST_SOURCE = 60

_NAME = re.compile(r"[a-z0-9][a-z0-9 ._+-]*", re.ASCII)
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+", re.ASCII)
# More digits than a campaign needs may be a phone number or a person's id.
_MANY_DIGITS = re.compile(r"(\d[ ._+-]*){7}")
_SHARED_ENDINGS = frozenset({"ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "ne", "net", "or", "org"})


def name_source(*, campaign: str, embedded_in: str | None, referrer: str, own_hosts: set[str]) -> str:
    """Name where a visit comes from: the campaign, the embedding site or the referring site, without personal data."""
    site = _name_site(referrer, own_hosts) if referrer else DIRECT
    # Pages of ours name the campaign and the embedding site again; the first page has counted them.
    if site == INTERNAL:
        return site
    if campaign.strip():
        return name_campaign(campaign)
    return site if embedded_in is None else _name_site(embedded_in, own_hosts)


def name_campaign(campaign: str) -> str:
    """Return a name as it is counted; one that may be a person's is counted with others."""
    name = " ".join(campaign.lower().split())
    is_plain = len(name) <= LONGEST_SOURCE and _NAME.fullmatch(name) and not _MANY_DIGITS.search(name)
    return name if is_plain else OTHER


def _name_site(url: str, own_hosts: set[str]) -> str:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".").lower()
    except ValueError:
        return OTHER
    if parts.netloc.lower() in own_hosts:
        return INTERNAL
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        return OTHER
    site = _registrable(host)
    return site if len(site) <= LONGEST_SOURCE else OTHER


def _registrable(host: str) -> str:
    """Return the part of a host name that somebody registered, so that no subdomain names a person."""
    labels = host.split(".")
    is_shared = len(labels) > 2 and labels[-2] in _SHARED_ENDINGS and len(labels[-1]) == 2
    return ".".join(labels[-3 if is_shared else -2 :])
