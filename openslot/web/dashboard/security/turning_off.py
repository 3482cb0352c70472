"""Page: turn two-factor authentication off."""

from openslot.access import two_factor
from openslot.access.errors import TwoFactorIsOff
from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.routing import Form, Response, get, post
from openslot.web.dashboard.security.forms import BothFactorsForm
from openslot.web.dashboard.security.overview import HERE
from openslot.web.pages import page, redirect


@get("/settings/security/two-factor/off")
async def ask_to_turn_off(work: Work, user: User) -> Response:
    """Ask for password and code before the second factor is removed."""
    state = await two_factor.get_state(work, user)
    return _ask(user, Form()) if state.on_since else redirect(HERE)


@post("/settings/security/two-factor/off", transaction="none")
async def turn_two_factor_off(work: Work, user: User, form: Form[BothFactorsForm]) -> Response:
    """Turn two-factor authentication off."""
    if form.faults:
        return _ask(user, form)
    sent = form.get()
    try:
        await two_factor.turn_off(work, user, password=sent.current, code=sent.code)
    except TwoFactorIsOff:
        return redirect(HERE)
    except Invalid as refusal:
        return _ask(user, form.with_faults(refusal.faults))
    return redirect(f"{HERE}?done=off")


def _ask(user: User, form: Form[BothFactorsForm]) -> Response:
    return page("dashboard/security/off.html", user, status=400 if form.faults else 200, here=HERE, form=form)
