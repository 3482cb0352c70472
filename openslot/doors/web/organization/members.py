"""Pages: the members of an organization, and invitations."""

from typing import Annotated

from msgspec import Struct

from openslot.domains.accounts.errors import (
    EmailAlreadyExists,
    InvitationLimitExceeded,
    MemberAlreadyExists,
    OwnerRequired,
)
from openslot.domains.accounts.members.operations import list_grantable, search_members
from openslot.domains.accounts.models import MemberFilter, MemberState, Role, User
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.mail.operations import sends_mail
from openslot.domains.people import departures
from openslot.domains.people.errors import DeparturePending
from openslot.domains.people.operations import invite_member
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared.list_queries import read_list_query
from openslot.doors.web.shared.organization import (
    ROLE_WORDS,
    STATE_WORDS,
    begin_administrator_change,
    get_administered_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.text import EmailAddress, ShortLine
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

NOTICES = {
    "created": Text("The organization was created, and you are its owner. Invite the first members below."),
    "invited": Text("The invitation was sent."),
    "kept": Text("The invitation is in the mailbox: no mail server is set up, so nobody gets it by email."),
    "added": Text("The member was added. The address is in a domain that you have verified."),
    "role": Text("The role was changed."),
    "reinstated": Text("The member was reinstated. Cancelled bookings stay cancelled."),
    "withdrawn": Text("The invitation was withdrawn. Its link no longer works."),
}
MOST = 1_000_000
ROWS = 25
HERE = "/organization/members"
LISTED = (MemberState.ACTIVE, MemberState.INVITED, MemberState.SUSPENDED)


def find_member_notice(request: Request) -> Text | None:
    """Return what the address says was done; after a removal with how much was cancelled."""
    done = request.query.get("done", "")
    if done == "removed":
        return _format_cancelled(request, Text("The member was removed."))
    if done == "suspended":
        return _format_cancelled(request, Text("The member was suspended."))
    return NOTICES.get(done)


def _format_cancelled(request: Request, what: Text) -> Text:
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


class InviteForm(Struct, frozen=True, kw_only=True):
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter an email address"))]
    name: ShortLine = ""
    role: Role = Role.MEMBER


@get("/organization/members")
async def show_members(request: Exchange, work: Work, user: User, form: Form[InviteForm] = Form()) -> Response:
    own = get_administered_membership(request)
    query = read_list_query(request, user, HERE, "q", "role", "state", choices={"role": set(Role), "state": LISTED})
    wanted = MemberFilter(search=query["q"], role=query["role"], state=query["state"])
    found, total = await search_members(work, own.organization_id, wanted, page=query.page, limit=ROWS)
    return organization_page(
        "members.html",
        request,
        own,
        here=HERE,
        rows=found,
        member_states=STATE_WORDS,
        query=query,
        roles=ROLE_WORDS,
        states={state: STATE_WORDS[state][0] for state in LISTED},
        grantable=[(role, ROLE_WORDS[role]) for role in list_grantable(own.role)],
        form=form,
        pager=query.pager(total, ROWS),
        notice=find_member_notice(request),
    )


@post(
    "/organization/members",
    shows=show_members,
    at={
        OwnerRequired: "role",
        MemberAlreadyExists: "email",
        DeparturePending: "email",
        EmailAlreadyExists: "email",
        InvitationLimitExceeded: "email",
    },
)
async def invite(request: Exchange, work: Work, user: User, form: Form[InviteForm]) -> Response:
    change, sent = await begin_administrator_change(request, work, user), form.get()
    email, name = str(sent.email), sent.name.strip()
    await departures.check_decided(work, change.organization, email)
    listed = await invite_member(work, change.administration, email=email, name=name, role=sent.role)
    member = listed.member
    action = ChangeAction.MEMBER_INVITED if listed.can_be_invited else ChangeAction.MEMBER_ADDED
    await change.log(action, member.user.email, member.id, after={"role": member.role})
    if listed.can_be_invited and not sends_mail(work.runtime):
        return redirect(f"{HERE}/{member.id}?done=kept")
    return redirect(f"{HERE}?done={'invited' if listed.can_be_invited else 'added'}")
