"""What serve prints when it is ready, without the terminal library, because every start would wait for its import."""

import os
import sys

import msgspec

from openslot.cli.first_start import FirstStart
from openslot.core.config import Settings


def print_first_start(words: FirstStart) -> None:
    """Print once how to sign in, as soon as that is possible."""
    if words.setup_link is not None:
        lines = ["", "  There is no account yet. Create the first one within 24 hours:", f"    {words.setup_link}"]
    else:
        lines = ["", *sign_in_lines(msgspec.to_builtins(words.seeded))]
    _say(lines)


def print_ready(settings: Settings, *, is_first: bool) -> None:
    """Print where the service can be reached."""
    lines = ["", f"  {_bold('Openslot is ready')}    {settings.public_url}"]
    lines += [f"  API documentation    {settings.public_url}/api/docs", "  Stop                 Ctrl-C", ""]
    if not is_first:
        lines += [
            "  Sign-ins and keys were shown at the first start. New ones:",
            "    openslot seed                      demo people with new keys",
            "    openslot key create --user EMAIL   an API key",
            "    openslot user password EMAIL       a new password",
            "",
        ]
    _say(lines)


def sign_in_lines(seeded: dict[str, object]) -> list[str]:
    """Format the sign-ins and keys of demo data, which are shown once."""
    user, admin, agents = (msgspec.convert(seeded[name], dict[str, str]) for name in ("user", "admin", "agentKeys"))
    return [
        "  Shown once, keep them:",
        f"    Sign in         {user['email']}   {user['password']}",
        f"    Administrator   {admin['email']}   {admin['password']}",
        f"    API key         {seeded['apiKey']}",
        f"    SCIM token      {seeded['scimToken']}",
        "    Agent keys",
        *(f"      {agent:<17} {key}" for agent, key in agents.items()),
    ]


def _bold(words: str) -> str:
    return f"\033[1m{words}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else words


def _say(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
