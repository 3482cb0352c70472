"""Page: the REST API's documentation."""

from collections.abc import Sequence
from functools import cache

from openslot.accounts.models import User
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.http.describing import Operation
from openslot.routing import Mount, Response, get
from openslot.web.api_docs.prose import capitalize_first, paragraphs, sentences
from openslot.web.api_docs.reference import Reference, make_reference
from openslot.web.pages import page
from openslot.web.templating import templates

templates.filters |= {"paragraphs": paragraphs, "sentences": sentences, "capitalize_first": capitalize_first}


def serve_reference(operations: Sequence[Operation], public_url: str) -> Mount:
    """Serve the reference of what the handlers declare; it is generated on the first request."""

    @cache
    def reference() -> Reference:
        return make_reference(operations, public_url)

    @get("/api/docs")
    async def show_api_docs(work: Work, user: User | None) -> Response:
        """Show the documentation, unless it is switched off."""
        if not await flags.is_enabled(work, FlagKey.API_DOCS, user_id=user.id if user else None):
            raise NotFound
        return page("api_docs.html", user, reference=reference(), limit=work.runtime.settings.limit_key)

    return Mount(prefix="", handlers=[show_api_docs])
