"""No username can stand where a page of the service does."""

from openslot.app import create_app, doors
from openslot.domains.accounts.models import RESERVED
from openslot.platform.core.environment import load_settings


def test_every_first_word_of_a_path_is_reserved() -> None:
    settings = load_settings({"database_url": "postgresql://nowhere"}, environ={})
    routes = create_app(settings).router.routes
    paths = [route.template for route in routes] + [prefix for door in doors(settings) for prefix in door.prefixes]
    words = {path.strip("/").partition("/")[0] for path in paths}

    assert {word for word in words if word and not word.startswith("{")} <= RESERVED
