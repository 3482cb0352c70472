"""How much each cause may spend: one table for all costs. Who a network and a mail domain are."""

from collections.abc import Sequence
from datetime import timedelta
from ipaddress import IPv4Network, ip_network

from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause
from openslot.platform.core.text import fold_ascii

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
WINDOWS = {
    Cost.MAIL: DAY,
    Cost.MESSAGE: HOUR,
    Cost.TIME: DAY,
    Cost.WAIT_LIST: DAY,
    Cost.PROVIDER_READ: timedelta(seconds=5),
    Cost.CODE: HOUR,
}
# How many times the figure of the setting they may cause: many people share a network, and more a mail domain.
NETWORKS = {Cost.MAIL: 10, Cost.MESSAGE: 1, Cost.TIME: 1, Cost.WAIT_LIST: 1, Cost.PROVIDER_READ: 1, Cost.CODE: 3}
MAIL_DOMAINS = {Cost.MAIL: 10, Cost.MESSAGE: 1, Cost.TIME: 2, Cost.WAIT_LIST: 2, Cost.PROVIDER_READ: 1, Cost.CODE: 5}
# Codes are counted for the host on whose page they are asked for: more than any network of strangers may cause.
ACCOUNTS = {Cost.CODE: 4}
# How many times its own emails others may set off within a day on the page of an account for which nobody vouches:
# first confirmations that are reserved, those of wait lists, and codes.
ON_PAGE = 10
# Of what a network may cause, so large a part is little: anybody can name any mail domain, so that it refuses nobody
# whose network has caused only little.
LITTLE = 4
# The same for an account by its age, and on top of it for people whom it has met and who have proven their address or
# paid: no more than its age gives, because whoever makes an account can also invent people.
GROWTH = ((DAY, 1), (timedelta(days=7), 2), (timedelta(days=30), 5))
GROWN, TRUSTED = 20, 250
PEOPLE_FOR_ONE_MORE, MEETINGS_READ = 10, 2000

# What was spent is kept by parts of the window; one part more than it has, so that a window may begin within one.
PARTS = 24
KEPT = PARTS + 1

_LARGE = """
126.com 163.com aliyun.com aol.com bellsouth.net bigpond.com bluewin.ch bol.com.br btinternet.com charter.net
comcast.net cox.net daum.net docomo.ne.jp duck.com earthlink.net ezweb.ne.jp fastmail.com fastmail.fm foxmail.com
free.fr freenet.de gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.net googlemail.com hanmail.net hey.com hotmail.co.jp
hotmail.co.uk hotmail.com hotmail.de hotmail.es hotmail.fr hotmail.it i.softbank.jp icloud.com inbox.ru kakao.com
laposte.net libero.it list.ru live.co.uk live.com live.de live.fr live.nl mac.com mail.com mail.ru mailbox.org me.com
msn.com naver.com nifty.com orange.fr outlook.com outlook.de outlook.es outlook.fr outlook.jp pm.me posteo.de proton.me
protonmail.ch protonmail.com qq.com rambler.ru rediffmail.com rocketmail.com rogers.com sapo.pt sbcglobal.net seznam.cz
sfr.fr shaw.ca sina.com sky.com softbank.ne.jp t-online.de talktalk.net telenet.be telus.net terra.com.br tiscali.it
tuta.com tutanota.com uol.com.br verizon.net virgilio.it virginmedia.com wanadoo.fr web.de wp.pl yahoo.ca yahoo.co.in
yahoo.co.jp yahoo.co.uk yahoo.com yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.de yahoo.es yahoo.fr yahoo.it
yandex.com yandex.ru ymail.com ziggo.nl zoho.com
"""
LARGE_PROVIDERS = frozenset(_LARGE.split())
# Under which countries register names, as in `example.co.uk`; everything else below a country somebody has registered.
SECOND_LEVELS = frozenset(
    ["ac", "co", "com", "ed", "edu", "go", "gob", "gouv", "gov", "gr", "mil", "ne", "net", "or", "org"]
)


def allow(cost: Cost, cause: CostCause, *, base: int) -> Allowance:
    """Decide how much of a cost is allowed to a cause; `base` is what a new account may spend."""
    return Allowance(base * _factor(cost, cause), WINDOWS[cost])


def _factor(cost: Cost, cause: CostCause) -> int:
    match cause.kind:
        case CauseKind.NETWORK:
            return NETWORKS[cost]
        case CauseKind.MAIL_DOMAIN:
            return MAIL_DOMAINS[cost]
    return _grow(cause) * ACCOUNTS.get(cost, 1)


def _grow(cause: CostCause) -> int:
    if cause.is_trusted:
        return TRUSTED
    by_age = next((factor for below, factor in GROWTH if cause.age < below), GROWN)
    return by_age + min(cause.people // PEOPLE_FOR_ONE_MORE, by_age)


def find_network(address: str) -> str | None:
    """Name the network that an address is in: a /24 or a /48; None if it is nobody's on the internet.

    Addresses of a local network are the operator's own, or those of a proxy that is not known to be one.
    """
    try:
        found = ip_network(address, strict=False)
    except ValueError:
        return None
    if not found.is_global:
        return None
    prefix = 24 if isinstance(found, IPv4Network) else 48
    return str(found.supernet(new_prefix=prefix))


def find_mail_domain(email: str) -> str | None:
    """Name the domain that somebody has registered for an address; None for those of large providers."""
    labels = fold_ascii(email.rpartition("@")[2].rstrip(".")).split(".")
    registered = 3 if len(labels[-1]) == 2 and labels[-2:-1] and labels[-2] in SECOND_LEVELS else 2
    names = {".".join(labels[-count:]) for count in (2, 3)}
    domain = ".".join(labels[-registered:])
    return None if not domain or names & LARGE_PROVIDERS else domain


def is_little(spent: Sequence[int], most: int) -> bool:
    """Return whether a network has spent so little of its allowance that no mail domain refuses it."""
    return sum(spent) <= max(1, most // LITTLE)


def find_free_part(spent: Sequence[int], *, amount: int, most: int) -> int:
    """Return after how many parts of the window so much is free; after all of them if it never is at once."""
    left = sum(spent)
    for passed, each in enumerate(spent):
        if left + amount <= most:
            return passed
        left -= each
    return len(spent)
