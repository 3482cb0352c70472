"""Decisions about timelines: what a reaction means to a host, and which effects are shown."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from openslot.integrations.timeline.models import EffectKind, EffectState, TimelineEffect

# Reactions that only plan others, by the beginning of their names.
PLANNERS = {"mail.": EffectKind.MAIL, "webhooks.": EffectKind.WEBHOOK, "calendars.": EffectKind.CALENDAR}
HOST = "host"
MANY_HOLDS = 4
"""How many times of a host are held at the same moment only if many people book, or someone misuses holds."""


def kind_of(reaction: str, kinds: Mapping[str, EffectKind]) -> tuple[EffectKind, bool]:
    """Return what a reaction does, and whether it only plans others that have one of these kinds."""
    if reaction in kinds:
        return kinds[reaction], False
    domain = f"{reaction.partition('.')[0]}."
    return PLANNERS.get(domain, EffectKind.OTHER), domain in PLANNERS


def recipient_of(target: str | None) -> str | None:
    """Return who is written to; None if it is the host."""
    role, _, email = (target or "").partition(":")
    return None if role == HOST else email or None


def is_shown(effect: TimelineEffect) -> bool:
    """Return whether an effect says something to a host: a plan that was carried out is shown by what it planned."""
    return not effect.plans_others or effect.state not in {EffectState.DONE, EffectState.SKIPPED}


def find_unusual_holds(starts: Iterable[datetime]) -> tuple[datetime, ...]:
    """Return the starts that are held, in order, if they are so many that the host should know."""
    held = tuple(sorted(starts))
    return held if len(held) >= MANY_HOLDS else ()
