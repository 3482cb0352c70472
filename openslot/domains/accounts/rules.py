"""What an account must look like: its name, username, zone and language."""

import re
import unicodedata

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from openslot.domains.accounts.models import RESERVED, UserSettings, UserWanted
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import INVISIBLE, NOT_AN_ADDRESS, fold_ascii, is_line, is_visible, parse_email
from openslot.platform.core.times import NOT_A_ZONE, find_zone
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import LANGUAGES

SHAPE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


def find_username_fault(username: str) -> str | None:
    if not SHAPE.fullmatch(username):
        return Text(
            "must be 1 to 50 lower-case letters, digits and hyphens, beginning and ending with a letter or digit"
        )
    if username in RESERVED:
        return Text("is reserved")
    return None


def suggest_username(name: str, email: str) -> str:
    for source in (name, email.partition("@")[0]):
        plain = unicodedata.normalize("NFKD", source).encode("ascii", "ignore").decode().lower()
        candidate = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-")
        if candidate and find_username_fault(candidate) is None:
            return candidate
    return "host"


def check_user(wanted: UserWanted) -> UserWanted:
    """Normalise what is wanted, or refuse it with every fault."""
    faults: dict[str, str] = {}
    email = wanted.email
    try:
        email = parse_email(wanted.email.strip())
    except ValueError:
        faults["email"] = NOT_AN_ADDRESS
    name = wanted.name.strip()
    if fault := find_name_fault(name):
        faults["name"] = fault
    username = suggest_username(name, email) if wanted.username is None else fold_ascii(wanted.username.strip())
    if fault := find_username_fault(username):
        faults["username"] = fault
    zone = find_zone(wanted.zone)
    if zone is None:
        faults["timezone"] = NOT_A_ZONE
    if faults:
        raise Invalid(details=faults)
    return msgspec.structs.replace(wanted, email=email, name=name, username=username, zone=str(zone))


def check_settings(wanted: UserSettings) -> dict[str, str]:
    """Normalise the settings that are given, or refuse them with every fault."""
    given: dict[str, str] = {name: value.strip() for name, value in asdict(wanted).items() if value is not UNSET}
    faults: dict[str, str] = {}
    if "name" in given and (fault := find_name_fault(given["name"])):
        faults["name"] = fault
    if "username" in given:
        given["username"] = fold_ascii(given["username"])
        if fault := find_username_fault(given["username"]):
            faults["username"] = fault
    if "zone" in given:
        zone = find_zone(given["zone"])
        given["zone"] = str(zone)
        if zone is None:
            faults["timezone"] = NOT_A_ZONE
    if "locale" in given and given["locale"] not in LANGUAGES:
        faults["locale"] = Text("must be one of %(choices)s", choices=", ".join(LANGUAGES))
    if faults:
        raise Invalid(details=faults)
    return given


def find_name_fault(name: str) -> str | None:
    if not 1 <= len(name) <= 200 or not is_line(name):
        return Text("must be 1 to 200 characters on one line")
    return None if is_visible(name) else INVISIBLE
