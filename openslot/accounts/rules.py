"""What an account must look like."""

import msgspec

from openslot.accounts.models import UserWanted
from openslot.accounts.usernames import find_fault, suggest
from openslot.core.errors import Invalid
from openslot.core.text import NOT_AN_ADDRESS, is_line, parse_email
from openslot.core.zones import NOT_A_ZONE, find_zone
from openslot.i18n import Text


def check_user(wanted: UserWanted) -> UserWanted:
    """Normalise what is wanted, or refuse it with every fault."""
    faults: dict[str, str] = {}
    email = wanted.email
    try:
        email = parse_email(wanted.email.strip())
    except ValueError:
        faults["email"] = NOT_AN_ADDRESS
    name = wanted.name.strip()
    if not 1 <= len(name) <= 200 or not is_line(name):
        faults["name"] = Text("must be 1 to 200 characters on one line")
    username = suggest(name, email) if wanted.username is None else wanted.username.strip().lower()
    if fault := find_fault(username):
        faults["username"] = fault
    zone = find_zone(wanted.zone)
    if zone is None:
        faults["timezone"] = NOT_A_ZONE
    if faults:
        raise Invalid(details=faults)
    return msgspec.structs.replace(wanted, email=email, name=name, username=username, zone=str(zone))
