"""Sources of visits: sites and campaigns, never people; and robots are no visitors."""

import pytest

from openslot.domains.analytics.rules import is_robot
from openslot.platform.core.sources import name_source

OWN = {"book.example", "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("campaign", "embedded_in", "referrer", "source"),
    [
        ("", None, "", "direct"),
        ("newsletter", None, "https://mail.example/inbox", "newsletter"),
        (" News  Letter ", None, "", "news letter"),
        ("", None, "https://www.search.example/?q=mara", "search.example"),
        ("", None, "https://jonas.blog.example/2026/my-diary?id=7", "blog.example"),
        ("", None, "https://a.b.shop.co.uk/", "shop.co.uk"),
        ("", None, "https://Shop.COM.br./", "shop.com.br"),
        ("", None, "https://site.example:8443/", "site.example"),
        ("", None, "https://jonas:secret@site.example/", "site.example"),
        ("", None, "https://book.example/mara", "internal"),
        ("", None, "http://127.0.0.1:8000/mara", "internal"),
        ("", "https://shop.example", "", "shop.example"),
        ("", "https://shop.example", "https://other.example/", "shop.example"),
        ("ads", "https://shop.example", "", "ads"),
        ("", None, "https://192.168.0.7/", "other"),
        ("", None, "https://[::1]/", "other"),
        ("", None, "https://[broken", "other"),
        ("", None, "http://localhost:3000/", "other"),
        ("", None, "android-app://com.example.mail/", "other"),
        ("", None, "javascript:alert(1)", "other"),
        ("", None, "nonsense", "other"),
        ("", None, f"https://{'a' * 63}.{'b' * 63}.example/", "other"),
        ("jonas@okafor.example", None, "", "other"),
        ("+49 30 1234567", None, "", "other"),
        ("user-12345678", None, "", "other"),
        ("spring-2027", None, "", "spring-2027"),
        ("x" * 61, None, "", "other"),
        ("<script>", None, "", "other"),
        ("Größe", None, "", "other"),
    ],
)
def test_a_source_is_a_campaign_or_a_site(campaign: str, embedded_in: str | None, referrer: str, source: str) -> None:
    assert name_source(campaign=campaign, embedded_in=embedded_in, referrer=referrer, own_hosts=OWN) == source


@pytest.mark.parametrize(
    "user_agent",
    [
        "",
        "  ",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (compatible; bingbot/2.0)",
        "Slackbot-LinkExpanding 1.0",
        "facebookexternalhit/1.1",
        "WhatsApp/2.23",
        "GPTBot/1.2",
        "curl/8.5.0",
        "python-httpx/0.27",
        "Go-http-client/2.0",
        "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/130.0",
        "UptimeMonitor/2",
    ],
)
def test_robots_are_recognised(user_agent: str) -> None:
    assert is_robot(user_agent)


@pytest.mark.parametrize(
    "user_agent",
    [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
        "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
        "Mozilla/5.0 (Linux; Android 14; CUBOT X30) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36",
    ],
)
def test_people_are_not_robots(user_agent: str) -> None:
    assert not is_robot(user_agent)
