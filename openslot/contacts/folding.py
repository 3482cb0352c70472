"""Search without case: how texts are folded, and which trigrams of a search lead to its contacts."""

from unicodedata import normalize

GRAM = 3

# The folded form of a capital İ; without its combining dot it matches the i that people type.
_DOTTED_I = "i\u0307"


def fold(text: str) -> str:
    """Fold a text so that texts that differ only in letter case or code points become equal."""
    return normalize("NFKC", normalize("NFKC", text).casefold().replace(_DOTTED_I, "i"))


def fold_contact(*, name: str, email: str, company: str | None) -> str:
    """Write the text that a search looks in; a line break prevents matches across two fields."""
    return "\n".join(fold(text) for text in (name, email, company or ""))


def cover(folded: str) -> list[str]:
    """Pick trigrams that together touch every character; none where the text is too short to have one."""
    last = len(folded) - GRAM
    starts = [*range(0, last, GRAM), last] if last >= 0 else []
    return [folded[start : start + GRAM] for start in starts]
