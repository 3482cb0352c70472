"""Decisions about visits: which are counted."""

import re

_ROBOT = re.compile(
    r"(?<!cu)bot(s|\b)|crawl|spider|slurp|preview|scrap|fetch|monitor|headless|lighthouse|pagespeed|archiver|validator"
    r"|facebookexternalhit|embedly|whatsapp|curl/|wget/|python|java/|ruby|perl|go-http|okhttp|axios|node|http-?client",
    re.IGNORECASE,
)


def is_robot(user_agent: str) -> bool:
    """Return whether a program names itself, or nothing does, instead of a person's browser."""
    return not user_agent.strip() or _ROBOT.search(user_agent) is not None
