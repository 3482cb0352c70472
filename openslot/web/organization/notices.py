"""What is said after a decision about a member, and after a new organization."""

from openslot.i18n import PluralText, Text
from openslot.routing import Request

NOTICES = {
    "created": Text("The organization was created, and you are its owner. Invite the first members below."),
    "invited": Text("The invitation was sent."),
    "added": Text("The member was added. The address is in a domain that you have verified."),
    "role": Text("The role was changed."),
    "reinstated": Text("The member was reinstated. Cancelled bookings stay cancelled."),
    "withdrawn": Text("The invitation was withdrawn. Its link no longer works."),
}
MOST = 1_000_000


def find_member_notice(request: Request) -> Text | None:
    """Return what the address says was done; after a removal with how much was cancelled."""
    done = request.query.get("done", "")
    if done == "removed":
        return _say_cancelled(request, Text("The member was removed."))
    if done == "suspended":
        return _say_cancelled(request, Text("The member was suspended."))
    return NOTICES.get(done)


def _say_cancelled(request: Request, what: Text) -> Text:
    """Say how many bookings were cancelled, and whether the preview had shown others."""
    cancelled, added, gone = (_count(request, name) for name in ("cancelled", "added", "gone"))
    if not cancelled and not added and not gone:
        return what
    said = PluralText("%(count)s booking was cancelled.", "%(count)s bookings were cancelled.", count=cancelled)
    if not added and not gone:
        return Text("%(what)s %(cancelled)s", what=what, cancelled=said)
    changed = Text(
        "The list has changed since you saw it: %(added)s more were booked, %(gone)s were cancelled or over.",
        added=added,
        gone=gone,
    )
    return Text("%(what)s %(cancelled)s %(changed)s", what=what, cancelled=said, changed=changed)


def _count(request: Request, name: str) -> int:
    text = request.query.get(name, "0")
    return min(int(text), MOST) if text.isascii() and text.isdecimal() and len(text) < 9 else 0
