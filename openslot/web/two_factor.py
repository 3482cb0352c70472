"""Pages: the second step of a sign-in, which asks for a code."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.access.errors import SignInExpired, WrongCode
from openslot.access.operations import finish_sign_in
from openslot.access.two_factor import has_pending
from openslot.accounts.models import User
from openslot.core.text import LINE
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.cookies import browser_of, device_of
from openslot.web.pages import page, redirect
from openslot.web.short_cookies import PENDING_COOKIE, no_short_cookie, pending_of
from openslot.web.sign_in import local_path
from openslot.web.sign_in_response import respond_signed_in

TypedCode = Annotated[str, Meta(pattern=LINE, max_length=100), WhenEmpty(Text("Enter a code"))]


class SecondStepForm(Struct, frozen=True, kw_only=True):
    """A code of the app or a recovery code, and the page to open next."""

    code: TypedCode
    next: str = ""


@get("/login/two-factor")
async def show_second_step(request: Request, work: Work, user: User | None) -> Response:
    """Ask for the code of a sign-in that waits for it."""
    wanted = request.query.get("next", "")
    if user is not None:
        return redirect(local_path(wanted))
    if not await has_pending(work, pending_of(request, work)):
        return redirect("/login")
    return _show(Form(), wanted=wanted)


@post("/login/two-factor", transaction="none")
async def send_code(request: Request, work: Work, user: User | None, form: Form[SecondStepForm]) -> Response:
    """Start the session if the code is right."""
    if user is not None:
        return redirect(local_path(form["next"]))
    if form.faults:
        return _show(form, wanted=form["next"], status=400)
    sent = form.get()
    try:
        signed_in = await finish_sign_in(
            work,
            token=pending_of(request, work),
            code=sent.code,
            device=device_of(request, work),
            address=request.address,
            user_agent=browser_of(request),
        )
    except SignInExpired:
        return _show(Form(), wanted=sent.next, status=401, has_expired=True)
    except WrongCode as refusal:
        return _show(form.with_faults(refusal.faults), wanted=sent.next, status=401)
    return respond_signed_in(work, signed_in, local_path(sent.next), no_short_cookie(work, PENDING_COOKIE))


def _show(form: Form[SecondStepForm], *, wanted: str, status: int = 200, has_expired: bool = False) -> Response:
    return page("two_factor.html", None, status=status, form=form, wanted=local_path(wanted), has_expired=has_expired)
