"""The forms of the security settings."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.core.text import LINE
from openslot.i18n import Text
from openslot.routing import WhenEmpty
from openslot.web.two_factor import TypedCode

CurrentPassword = Annotated[str, Meta(pattern=LINE, max_length=200), WhenEmpty(Text("Enter your current password"))]


class BeginTwoFactorForm(Struct, frozen=True, kw_only=True):
    """The password with which the set-up begins."""

    current: CurrentPassword


class ConnectProviderForm(Struct, frozen=True, kw_only=True):
    """What proves that it is the user who connects an account to the identity provider."""

    password: CurrentPassword
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


class FirstCodeForm(Struct, frozen=True, kw_only=True):
    """The first code of the app."""

    code: TypedCode


class BothFactorsForm(Struct, frozen=True, kw_only=True):
    """What proves that it is the user who weakens or renews the second factor."""

    current: CurrentPassword
    code: TypedCode
