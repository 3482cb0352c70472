"""Pages: an invitation to set a first password or to join an organization."""

from typing import Annotated

from msgspec import Struct

from openslot.access import operations as access
from openslot.access.passwords import STRANGERS, check_password, hash_password
from openslot.accounts.invitations import get_invitation
from openslot.accounts.models import Invitation
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.people import operations as people
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.account import NewPassword
from openslot.web.cookies import browser_of
from openslot.web.pages import page, redirect
from openslot.web.sign_in import HOME
from openslot.web.sign_in_response import respond_signed_in

CHOOSE = Text("Choose a password")


class InvitationForm(Struct, frozen=True, kw_only=True):
    """The first password of an account that has none."""

    password: Annotated[NewPassword | None, WhenEmpty(CHOOSE)] = None


@get("/invite/{token}")
async def show_invitation(work: Work, token: str) -> Response:
    """Show who invites, and what there is to do."""
    return _show(await get_invitation(work, token), Form(), token=token)


@post("/invite/{token}", transaction="none")
async def accept_invitation(request: Request, work: Work, token: str, form: Form[InvitationForm]) -> Response:
    """Accept an invitation; users who set a first password are signed in, others sign in with their own."""
    invitation = await get_invitation(work, token)
    if invitation.has_password:
        async with work.transaction():
            await people.accept_invitation(work, invitation, password_hash=None)
        return redirect("/login")
    if form.faults or not form["password"]:
        return _show(invitation, form.with_faults(form.faults or {"password": CHOOSE}), token=token)
    password = form["password"]
    try:
        check_password(password)
    except Invalid as refusal:
        return _show(invitation, form.with_faults(refusal.faults), token=token)
    password_hash = await hash_password(password, STRANGERS)
    async with work.transaction():
        await people.accept_invitation(work, invitation, password_hash=password_hash)
        result = await access.let_in(work, invitation.user, password_hash=password_hash, user_agent=browser_of(request))
    return respond_signed_in(work, result, HOME)


def _show(invitation: Invitation, form: Form[InvitationForm], *, token: str) -> Response:
    status = 400 if form.faults else 200
    return page("invite.html", None, status=status, invitation=invitation, form=form, token=token)
