"""Pages: turn two-factor authentication on, in two steps."""

import base64

from openslot.access import two_factor
from openslot.access.errors import SetupExpired, TwoFactorIsOn, WrongCode
from openslot.access.totp import grouped, setup_url
from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.http.refusals import status_of
from openslot.routing import Form, Response, get, post
from openslot.web.booking_page.qr import draw_qr
from openslot.web.dashboard.security.codes import codes_page
from openslot.web.dashboard.security.forms import BeginTwoFactorForm, FirstCodeForm
from openslot.web.dashboard.security.overview import HERE, security_page
from openslot.web.pages import page, redirect

SETUP = f"{HERE}/two-factor"


@post("/settings/security/two-factor", transaction="none")
async def begin_two_factor(work: Work, user: User, form: Form[BeginTwoFactorForm]) -> Response:
    """Make a secret for the user's app if the password is right."""
    if form.faults:
        return await security_page(work, user, form=form, status=400)
    try:
        await two_factor.begin_setup(work, user, password=form.get().current)
    except TwoFactorIsOn:
        return redirect(HERE)
    except (Invalid, Conflict) as refusal:
        faults = refusal.faults or {"current": refusal.sentence}
        return await security_page(work, user, form=form.with_faults(faults), status=status_of(refusal))
    return redirect(SETUP)


@get("/settings/security/two-factor")
async def show_two_factor_setup(work: Work, user: User) -> Response:
    """Show the secret to the session that has begun the set-up."""
    try:
        return await _show(work, user, Form())
    except SetupExpired:
        return redirect(HERE)


@post("/settings/security/two-factor/confirm", transaction="none")
async def confirm_two_factor(work: Work, user: User, form: Form[FirstCodeForm]) -> Response:
    """Turn two-factor authentication on if the app shows the right code, and show the recovery codes once."""
    try:
        if form.faults:
            return await _show(work, user, form)
        try:
            codes = await two_factor.confirm_setup(work, user, code=form.get().code)
        except WrongCode as refusal:
            return await _show(work, user, form.with_faults(refusal.faults))
    except SetupExpired:
        return redirect(f"{HERE}?done=expired")
    return codes_page(work, user, codes, is_new=True)


async def _show(work: Work, user: User, form: Form[FirstCodeForm]) -> Response:
    secret = await two_factor.get_setup(work, user)
    image = base64.b64encode(draw_qr(setup_url(secret, user.email))).decode()
    return page(
        "dashboard/security/setup.html",
        user,
        status=400 if form.faults else 200,
        here=HERE,
        image=f"data:image/svg+xml;base64,{image}",
        secret=grouped(secret),
        form=form,
    )
