"""Browsers and systems, from the name that a browser gives itself."""

import re

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


def find_browser(user_agent: str) -> str | None:
    """Name the browser, if it is a known one."""
    return _find(BROWSERS, user_agent)


def find_system(user_agent: str) -> str | None:
    """Name the system that a browser runs on, if it is a known one."""
    return _find(SYSTEMS, user_agent)


def _find(names: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for name, pattern in names if re.search(pattern, user_agent)), None)
