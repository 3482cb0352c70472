"""Languages: texts that can be translated, the catalogs that translate them, and who reads which language.

Only texts are offered here: they need nothing else, so that every floor and every command can have them at no cost.
"""

from openslot.platform.i18n.texts import CodedReason, PluralText, Text, keep, recall, say

__all__ = ["CodedReason", "PluralText", "Text", "keep", "recall", "say"]
