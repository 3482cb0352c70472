"""Browsers in plain words, from the name that they give themselves."""

import re

from openslot.i18n import Text

# In this order: most browsers name those that they descend from too.
BROWSERS = (
    ("Edge", r"\bEdg(e|A|iOS)?/"),
    ("Opera", r"\bOPR/|\bOPT/|\bOpera\b"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Vivaldi", r"\bVivaldi/"),
    ("Yandex", r"\bYaBrowser/"),
    ("DuckDuckGo", r"\bDuckDuckGo/|\bDdg/"),
    ("Firefox", r"\b(Firefox|FxiOS)/"),
    ("Chrome", r"\b(Chrome|CriOS|Chromium|HeadlessChrome)/"),
    ("Safari", r"\bVersion/[\d.]+ .*Safari/"),
    ("Internet Explorer", r"\bMSIE |\bTrident/"),
    ("curl", r"^curl/"),
)
SYSTEMS = (
    ("iPhone", r"\biPhone\b|\biPod\b"),
    ("iPad", r"\biPad\b"),
    ("Android", r"\bAndroid\b"),
    ("Windows", r"\bWindows\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Mac", r"\bMacintosh\b|\bMac OS X\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)
UNKNOWN_BROWSER = Text("Unknown browser")


def name_browser(user_agent: str) -> Text | str:
    """Write `Firefox on Windows`, or what is known of it."""
    browser, system = _find(BROWSERS, user_agent), _find(SYSTEMS, user_agent)
    if browser and system:
        return Text("%(browser)s on %(system)s", browser=browser, system=system)
    if system:
        return Text("Unknown browser on %(system)s", system=system)
    return browser or UNKNOWN_BROWSER


def _find(names: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for name, pattern in names if re.search(pattern, user_agent)), None)
