"""SQL by which threads and calls are found: by part of the phone number, or of who has it."""

import re

from openslot.contacts.folding import fold

# A condition on a row of the owner `$1` that has a phone number.
OF_PERSON = """(strpos({phone}, {digits}) > 0 or {phone} in (
    select k.phone from contacts k
    where k.owner_id = $1 and k.phone is not null and strpos(k.search_text, {text}) > 0))"""
_NUMBER = re.compile(r"\+?[0-9 ()./\-]{2,}")


def fold_person(search: str) -> tuple[str, str]:
    """Return a search as texts are compared, and its digits; what is no part of a number is found in none."""
    text = search.strip()
    digits = re.sub(r"[^0-9+]", "", text) if _NUMBER.fullmatch(text) else ""
    return fold(text), digits or "none"
