"""An app that says what its handlers refuse, to see whether it is they who find nothing."""

from msgspec.structs import replace

from openslot.doors.http.edge import App


def hide_forms(app: App) -> App:
    """Let no form be shown again: the page that does so looks things up by itself, whatever the handler has done."""
    for route in app.router.routes:
        for method, handler in route.handlers.items():
            declaration = replace(handler.declaration, form_page=None)
            route.handlers[method] = replace(handler, declaration=declaration)
    return app
