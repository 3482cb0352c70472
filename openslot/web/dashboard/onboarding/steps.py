"""The four steps in their order, and the page of one of them."""

from typing import Any

from msgspec import Struct

from openslot.accounts.models import User
from openslot.i18n import Text
from openslot.routing import Form, Response
from openslot.web.pages import page


class WelcomeStep(Struct, frozen=True, kw_only=True):
    """One of the first steps."""

    number: int
    path: str
    name: Text


STEPS = (
    WelcomeStep(number=1, path="/welcome/zone", name=Text("Time zone")),
    WelcomeStep(number=2, path="/welcome/hours", name=Text("Hours")),
    WelcomeStep(number=3, path="/welcome/calendar", name=Text("Calendar")),
    WelcomeStep(number=4, path="/welcome/link", name=Text("Your link")),
)


def step_page(user: User, number: int, *, form: Form[Any] | None = None, status: int = 200, **values: Any) -> Response:
    """Show one step, with how far the user has come."""
    return page(
        f"dashboard/onboarding/{STEPS[number - 1].path.rpartition('/')[2]}.html",
        user,
        here="/welcome",
        status=status,
        steps=STEPS,
        number=number,
        reached=user.welcome_step or len(STEPS) + 1,
        form=form or Form(),
        **values,
    )
