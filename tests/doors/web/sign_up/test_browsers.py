"""Browsers are named in plain words."""

import pytest

from openslot.doors.web.sessions import name_browser
from openslot.platform.i18n.languages import DEFAULT
from openslot.platform.i18n.localization import localize

MOZILLA = "Mozilla/5.0"
WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
WINDOWS, MAC, LINUX = "(Windows NT 10.0; Win64; x64)", "(Macintosh; Intel Mac OS X 10_15_7)", "(X11; Linux x86_64)"
ANDROID, IPHONE = "(Linux; Android 14; Pixel 8)", "(iPhone; CPU iPhone OS 17_4 like Mac OS X)"
IPAD = "(iPad; CPU OS 17_4 like Mac OS X)"

NAMES = (
    (f"{MOZILLA} (Windows NT 10.0; Win64; x64; rv:124.0) Gecko/20100101 Firefox/124.0", "Firefox on Windows"),
    (f"{MOZILLA} (X11; Ubuntu; Linux x86_64; rv:124.0) Gecko/20100101 Firefox/124.0", "Firefox on Linux"),
    (f"{MOZILLA} (Android 14; Mobile; rv:124.0) Gecko/124.0 Firefox/124.0", "Firefox on Android"),
    (f"{MOZILLA} {IPHONE} AppleWebKit/605.1.15 FxiOS/124.0 Mobile/15E148 Safari/605.1.15", "Firefox on iPhone"),
    (f"{MOZILLA} {WINDOWS} {WEBKIT} Chrome/123.0.0.0 Safari/537.36", "Chrome on Windows"),
    (f"{MOZILLA} {MAC} {WEBKIT} Chrome/123.0.0.0 Safari/537.36", "Chrome on Mac"),
    (f"{MOZILLA} {LINUX} {WEBKIT} HeadlessChrome/123.0.0.0 Safari/537.36", "Chrome on Linux"),
    (f"{MOZILLA} (X11; CrOS x86_64 14541.0.0) {WEBKIT} Chrome/123.0.0.0 Safari/537.36", "Chrome on ChromeOS"),
    (f"{MOZILLA} {ANDROID} {WEBKIT} Chrome/123.0.0.0 Mobile Safari/537.36", "Chrome on Android"),
    (f"{MOZILLA} {IPHONE} AppleWebKit/605.1.15 CriOS/123.0.6312.52 Mobile/15E148 Safari/604.1", "Chrome on iPhone"),
    (f"{MOZILLA} {MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15", "Safari on Mac"),
    (f"{MOZILLA} {IPHONE} AppleWebKit/605.1.15 Version/17.4 Mobile/15E148 Safari/604.1", "Safari on iPhone"),
    (f"{MOZILLA} {IPAD} AppleWebKit/605.1.15 Version/17.4 Mobile/15E148 Safari/604.1", "Safari on iPad"),
    (f"{MOZILLA} {WINDOWS} {WEBKIT} Chrome/123.0.0.0 Safari/537.36 Edg/123.0.0.0", "Edge on Windows"),
    (f"{MOZILLA} {ANDROID} {WEBKIT} Chrome/123.0.0.0 Mobile Safari/537.36 EdgA/123.0", "Edge on Android"),
    (f"{MOZILLA} {IPHONE} AppleWebKit/605.1.15 Version/17.0 EdgiOS/123.0 Mobile Safari/605.1", "Edge on iPhone"),
    (f"{MOZILLA} {WINDOWS} {WEBKIT} Chrome/122.0.0.0 Safari/537.36 OPR/108.0.0.0", "Opera on Windows"),
    ("Opera/9.80 (Windows NT 6.1; U; en) Presto/2.10.229 Version/11.64", "Opera on Windows"),
    (f"{MOZILLA} {ANDROID} {WEBKIT} SamsungBrowser/24.0 Chrome/117.0.0.0 Safari/537.36", "Samsung Internet on Android"),
    (f"{MOZILLA} {WINDOWS} {WEBKIT} Chrome/122.0.0.0 Safari/537.36 Vivaldi/6.6", "Vivaldi on Windows"),
    (f"{MOZILLA} {WINDOWS} {WEBKIT} Chrome/120.0 YaBrowser/24.1.0 Safari/537.36", "Yandex on Windows"),
    (f"{MOZILLA} {MAC} AppleWebKit/605.1.15 Version/17.4 Safari/605.1.15 Ddg/17.4", "DuckDuckGo on Mac"),
    (f"{MOZILLA} (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko", "Internet Explorer on Windows"),
    ("curl/8.5.0", "curl"),
    (f"{MOZILLA} {LINUX}", "Unknown browser on Linux"),
    ("python-httpx/0.27.0", "Unknown browser"),
    ("", "Unknown browser"),
    ("<script>alert(1)</script>", "Unknown browser"),
    ("Chrome", "Unknown browser"),
    ("NotFirefoxy/1.0", "Unknown browser"),
)


@pytest.mark.parametrize(("user_agent", "name"), NAMES)
def test_a_browser_and_its_system_in_plain_words(user_agent: str, name: str) -> None:
    assert localize(name_browser(user_agent), DEFAULT) == name


def test_a_long_name_is_read_quickly() -> None:
    assert str(localize(name_browser("Version/1 " * 30 + "x" * 300), DEFAULT)) == "Unknown browser"
