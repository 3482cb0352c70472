"""Catalogs: what each message is in a language, read from its file when the language is first asked for."""

from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from openslot.i18n.languages import ENGLISH, Language


@cache
def get_catalog(language: Language) -> NullTranslations:
    """Read the catalog of a language; English needs none, its texts are what the catalogs are asked for."""
    if language is ENGLISH:
        return NullTranslations()
    compiled = BytesIO()
    # Read as it is written, without a compiled copy beside it that could be older.
    write_mo(compiled, read_po(BytesIO(read_source(language)), locale=language.tag))
    compiled.seek(0)
    return GNUTranslations(compiled)


def read_source(language: Language) -> bytes:
    """Read the file of a language's catalog; English has an empty one."""
    if language is ENGLISH:
        return b""
    return (files("openslot.i18n") / "locales" / language.tag / "LC_MESSAGES" / "openslot.po").read_bytes()
