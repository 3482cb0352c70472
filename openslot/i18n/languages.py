"""The languages that Openslot speaks."""

from typing import Literal

from msgspec import Struct

Direction = Literal["ltr", "rtl"]


class Language(Struct, frozen=True, kw_only=True):
    """A language with a catalog."""

    tag: str
    name: str
    """As its speakers call it."""
    formats: str
    """Whose dates and times are shown where no region is given, as CLDR names it."""
    direction: Direction = "ltr"


# English without a region is the international one: 16 March 2026, 14:30.
ENGLISH = Language(tag="en", name="English", formats="en_GB")
LANGUAGES = {
    language.tag: language
    for language in (
        ENGLISH,
        Language(tag="de", name="Deutsch", formats="de"),
        Language(tag="fr", name="Français", formats="fr"),
        Language(tag="es", name="Español", formats="es"),
        Language(tag="pt", name="Português", formats="pt_BR"),
        Language(tag="ja", name="日本語", formats="ja"),
        Language(tag="ar", name="العربية", formats="ar", direction="rtl"),
    )
}


class Locale(Struct, frozen=True, kw_only=True):
    """A language, and the place whose dates and times go with it."""

    language: Language
    formats: str
    """As CLDR names it, such as `de_AT`."""


DEFAULT = Locale(language=ENGLISH, formats=ENGLISH.formats)
