"""Pages: templates filled with what they show."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from openslot.http.doors import Visit

_templates = Environment(
    loader=PackageLoader("openslot.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, visit: Visit, **values: object) -> str:
    """Fill a template; `user` is there on every page."""
    return _templates.get_template(template).render(user=visit.user, **values)
