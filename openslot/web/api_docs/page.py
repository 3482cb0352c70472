"""Page: the REST API's documentation."""

import hashlib
from collections.abc import Callable
from functools import cache

from openslot.accounts.models import User
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.i18n.languages import Language, Locale
from openslot.routing import Mount, Request, Response, get
from openslot.web.api_docs.prose import capitalize_first, paragraphs, sentences
from openslot.web.api_docs.reference import Reference
from openslot.web.assets import Asset
from openslot.web.pages import HTML, locale_of, render
from openslot.web.static_files import is_current
from openslot.web.templating import templates

# The page says where to sign in, or where the account is.
FOR_ITS_READER = {"cache-control": "private, no-cache", "vary": "accept-language, cookie"}

templates.filters |= {"paragraphs": paragraphs, "sentences": sentences, "capitalize_first": capitalize_first}


def serve_reference(make_reference: Callable[[], Reference], *, limit: int) -> Mount:
    """Serve the reference; it is written once for each language, with and without a session, and kept."""
    reference = cache(make_reference)

    @cache
    def written(language: Language, *, is_signed_in: bool) -> Asset:
        locale = Locale(language=language, formats=language.formats)
        body = render("api_docs.html", locale, user=is_signed_in, reference=reference(), limit=limit)
        return Asset(body=body, media_type=HTML, version=hashlib.sha256(body).hexdigest()[:16])

    @get("/api/docs")
    async def show_api_docs(work: Work, request: Request, user: User | None) -> Response:
        """Show the documentation, unless it is switched off."""
        if not await flags.is_enabled(work, FlagKey.API_DOCS, user_id=user.id if user else None):
            raise NotFound
        asset = written(locale_of(request).language, is_signed_in=user is not None)
        headers = {**FOR_ITS_READER, "etag": f'"{asset.version}"'}
        if is_current(request, headers["etag"]):
            return Response(status=304, headers=headers)
        return Response(headers={**headers, "content-type": asset.media_type}, body=asset.body)

    return Mount(prefix="", handlers=[show_api_docs])
