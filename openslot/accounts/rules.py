"""What an account must look like."""

import msgspec

from openslot.accounts.models import UserWanted
from openslot.accounts.usernames import find_fault, suggest
from openslot.core.errors import Invalid
from openslot.core.text import is_line, parse_email
from openslot.core.zones import find_zone


def check_user(wanted: UserWanted) -> UserWanted:
    """Normalise what is wanted, or refuse it with every fault."""
    faults: dict[str, str] = {}
    email = wanted.email
    try:
        email = parse_email(wanted.email.strip())
    except ValueError as wrong:
        faults["email"] = str(wrong)
    name = wanted.name.strip()
    if not 1 <= len(name) <= 200 or not is_line(name):
        faults["name"] = "must be 1 to 200 characters on one line"
    username = suggest(name, email) if wanted.username is None else wanted.username.strip().lower()
    if fault := find_fault(username):
        faults["username"] = fault
    zone = find_zone(wanted.zone)
    if zone is None:
        faults["timezone"] = "is not a time zone"
    if faults:
        raise Invalid(details=faults)
    return msgspec.structs.replace(wanted, email=email, name=name, username=username, zone=str(zone))
