"""What most tests load before they can begin: in a long run, processes that are forked later have it already."""

import pytest

from openslot.app import create_app
from openslot.doors.web.shared.templating import get_template, templates
from openslot.doors.web.shared.zone_search import list_entries
from openslot.platform.core.config import Settings
from openslot.platform.i18n.languages import LANGUAGES
from openslot.platform.i18n.localization import get_catalog
from scripts.structure import list_imports
from tests.support.languages import english_texts
from tests.support.sources import list_modules, parse

# A run of fewer tests needs less than what is loaded here.
MANY = 1000


def pytest_collection_finish(session: pytest.Session) -> None:
    """Read all sources, catalogs, names of zones and templates, and put the app together once."""
    if len(session.items) < MANY:
        return
    create_app(Settings())
    list_imports()
    for module in list_modules():
        parse(module)
    for tag, language in LANGUAGES.items():
        get_catalog(language)
        english_texts(tag)
        list_entries(language)
        for name in templates.list_templates(extensions=["html"]):
            get_template(name, language)
