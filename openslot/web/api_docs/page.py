"""Page: the REST API's documentation."""

from collections.abc import Callable
from functools import cache

from openslot.accounts.models import User
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.routing import Mount, Response, get
from openslot.web.api_docs.prose import capitalize_first, paragraphs, sentences
from openslot.web.api_docs.reference import Reference
from openslot.web.pages import page
from openslot.web.templating import templates

templates.filters |= {"paragraphs": paragraphs, "sentences": sentences, "capitalize_first": capitalize_first}


def serve_reference(make_reference: Callable[[], Reference]) -> Mount:
    """Serve the reference; it is generated on the first request."""
    reference = cache(make_reference)

    @get("/api/docs")
    async def show_api_docs(work: Work, user: User | None) -> Response:
        """Show the documentation, unless it is switched off."""
        if not await flags.is_enabled(work, FlagKey.API_DOCS, user_id=user.id if user else None):
            raise NotFound
        return page("api_docs.html", user, reference=reference(), limit=work.runtime.settings.limit_key)

    return Mount(prefix="", handlers=[show_api_docs])
