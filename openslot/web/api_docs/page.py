"""Page: the REST API's documentation."""

import msgspec
from litestar import Response, get
from litestar.datastructures import State
from litestar.di import NamedDependency

from openslot.core.work import Work
from openslot.web.api_docs.prose import capitalize_first, paragraphs, sentences
from openslot.web.api_docs.reference import read_reference
from openslot.web.pages import PageRequest, page, templates

templates.filters |= {"paragraphs": paragraphs, "sentences": sentences, "capitalize_first": capitalize_first}


@get("/api/docs")
async def show_api_docs(request: PageRequest, state: State, work: NamedDependency[Work]) -> Response[str]:
    """Show what the API can do, as its own description tells it."""
    reference = read_reference(msgspec.json.encode(state["describe"]()))
    return page(request, "api_docs.html", reference=reference, limit=work.house.settings.limit_key)
