"""Pages: the recovery codes, which are shown once, and new ones in their place."""

import base64

from openslot.access import two_factor
from openslot.access.errors import TwoFactorIsOff
from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.routing import Form, Response, get, post
from openslot.web.dashboard.security.forms import BothFactorsForm
from openslot.web.dashboard.security.overview import HERE
from openslot.web.pages import page, redirect


@get("/settings/security/recovery-codes")
async def ask_to_renew_codes(work: Work, user: User) -> Response:
    """Ask for password and code before the earlier codes are replaced."""
    state = await two_factor.get_state(work, user)
    return _ask(user, Form()) if state.on_since else redirect(HERE)


@post("/settings/security/recovery-codes", transaction="none")
async def renew_codes(work: Work, user: User, form: Form[BothFactorsForm]) -> Response:
    """Replace the recovery codes, and show the new ones once."""
    if form.faults:
        return _ask(user, form)
    sent = form.get()
    try:
        codes = await two_factor.renew_recovery_codes(work, user, password=sent.current, code=sent.code)
    except TwoFactorIsOff:
        return redirect(HERE)
    except Invalid as refusal:
        return _ask(user, form.with_faults(refusal.faults))
    return codes_page(work, user, codes, is_new=False)


def codes_page(work: Work, user: User, codes: tuple[str, ...], *, is_new: bool) -> Response:
    """Show recovery codes with a link that downloads them; it holds them itself, because they are stored nowhere."""
    file = "\n".join((work.runtime.settings.public_url, user.email, "", *codes, ""))
    return page(
        "dashboard/security/codes.html",
        user,
        here=HERE,
        codes=codes,
        is_new=is_new,
        file=f"data:text/plain;charset=utf-8;base64,{base64.b64encode(file.encode()).decode()}",
    )


def _ask(user: User, form: Form[BothFactorsForm]) -> Response:
    return page("dashboard/security/renew.html", user, status=400 if form.faults else 200, here=HERE, form=form)
