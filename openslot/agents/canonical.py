"""Arguments in one fixed spelling, so that two calls can be compared by a hash."""

import hashlib
import json
from collections.abc import Mapping

OF_THE_GATES = frozenset({"confirm", "approvalId", "decision"})


def canonical(arguments: Mapping[str, object]) -> bytes:
    """Write a call's own arguments with sorted keys, without spaces, as UTF-8."""
    own = {name: value for name, value in arguments.items() if name not in OF_THE_GATES}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate has no UTF-8; it is refused later, and the refused call is hashed too.
    return text.encode(errors="surrogatepass")


def hash_arguments(arguments: Mapping[str, object]) -> str:
    """Return the SHA-256 of a call's own arguments, in hexadecimal."""
    return hashlib.sha256(canonical(arguments)).hexdigest()
