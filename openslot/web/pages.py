"""Pages: templates filled with what they show, and the answers that carry them."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from openslot.accounts.models import User
from openslot.routing import Cookie, Response
from openslot.web import words
from openslot.web.assets import static_url

HTML = "text/html; charset=utf-8"
# What is shown to one person is kept by no cache, the browser's own included.
NOT_KEPT = {"cache-control": "no-store"}

templates = Environment(
    loader=PackageLoader("openslot.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.globals |= {"words": words, "static": static_url}


def page(template: str, user: User | None, *, status: int = 200, **values: object) -> Response:
    """Answer with a page; `user` is there on every one."""
    body = templates.get_template(template).render(user=user, status=status, **values)
    return Response(status=status, headers={**NOT_KEPT, "content-type": HTML}, body=body.encode())


def redirect(path: str, *cookies: Cookie) -> Response:
    """Send the browser on to a page of ours, by GET."""
    return Response(status=303, headers={"location": path, **NOT_KEPT}, cookies=cookies)
