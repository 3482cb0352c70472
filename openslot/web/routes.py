"""All pages, by path."""

from litestar import Router

pages_router = Router("/", route_handlers=[], include_in_schema=False)
