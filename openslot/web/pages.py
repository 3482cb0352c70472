"""Pages: templates filled with what they show, and the answers that carry them."""

from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response

from openslot.http.doors import Visit, visit_of
from openslot.web import words
from openslot.web.assets import static_url

PageRequest = Request[Any, Any, Any]
HTML = "text/html; charset=utf-8"
# What is shown to one person is kept by no cache, the browser's own included.
NOT_KEPT = {"cache-control": "no-store"}
MOST_PARAMETERS = 50

templates = Environment(
    loader=PackageLoader("openslot.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.globals |= {"words": words, "static": static_url}


def render(template: str, visit: Visit, **values: object) -> str:
    """Fill a template; `user` is there on every page."""
    return templates.get_template(template).render(user=visit.user, **values)


def page(request: PageRequest, template: str, *, status: int = 200, **values: object) -> Response[str]:
    """Answer with a page."""
    body = render(template, visit_of(request.scope), **values)
    return Response(body, status_code=status, headers={**NOT_KEPT, "Content-Type": HTML})


def redirect(path: str) -> Response[str]:
    """Send the browser on to a page of ours, by GET."""
    return Response("", status_code=303, headers={"location": path, **NOT_KEPT})


def query_of(request: PageRequest) -> dict[str, str]:
    """Read the query, the last of equal names; what is no text is read as far as it is."""
    text = request.scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=MOST_PARAMETERS)
    except ValueError:
        return {}
    return dict(pairs)
