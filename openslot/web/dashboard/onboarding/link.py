"""The last step: the link to share, with what can be booked there."""

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.routing import Response, get
from openslot.web.dashboard.onboarding.steps import step_page


@get("/welcome/link")
async def show_welcome_link(work: Work, user: User) -> Response:
    """Show the link to the host's page and to the first event type."""
    offered, _ = await event_types.list_event_types(work, user, only_active=True)
    public = [each for each in offered if not each.is_private]
    return step_page(
        user,
        4,
        link=f"{work.runtime.settings.public_url}/{user.username}",
        first=public[0] if public else None,
    )
