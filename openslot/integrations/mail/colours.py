"""Readable colours: text on a brand's colour, and the colour itself on a light background."""

import re

SHAPE = re.compile(r"#[0-9a-f]{6}")
DARK, LIGHT = "#16181d", "#ffffff"
PAPER, DARK_PAPER = "#ffffff", "#181a20"
READABLE = 4.5


def ink_on(colour: str) -> str:
    """Choose dark or light text for a background of this colour."""
    return max((LIGHT, DARK), key=lambda ink: contrast(ink, colour))


def readable_on(colour: str, ground: str) -> str:
    """Return the colour itself, or the nearest one in which text is readable on this background."""
    towards = ink_on(ground)
    mixed = (mix(colour, towards, step / 10) for step in range(11))
    return next((each for each in mixed if contrast(each, ground) >= READABLE), towards)


def mix(one: str, other: str, share: float) -> str:
    """Mix two colours by the given share of the second."""
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    """Measure how far apart two colours are to the eye, as WCAG does: from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
