"""Letters about how a user signs in: the second factor, and the identity provider."""

from collections.abc import Callable

from openslot.access.events import RecoveryCodesRenewed, RecoveryCodeUsed, TwoFactorTurnedOff, TwoFactorTurnedOn
from openslot.accounts.events import UserEvent
from openslot.core.events import Effect
from openslot.i18n import PluralText, Text
from openslot.integrations.mail.models import Fact, Letter
from openslot.integrations.mail.plain import one_line
from openslot.integrations.oidc.events import IdentityConnected, IdentityDisconnected

SECURITY_FOOTER = Text("You received this email because it is about the security of your account.")
NOT_YOU = Text("If this wasn't you, change your password now and contact your administrator.")


def _write_turned_on(_: Effect) -> Letter:
    return Letter(
        subject=Text("Two-factor authentication is on"),
        heading=Text("Two-factor authentication is on"),
        paragraphs=(
            Text("From now on you need a code from your authenticator app to sign in."),
            Text("Keep your recovery codes in a safe place. You need one if you lose your phone."),
            NOT_YOU,
        ),
        footer=(SECURITY_FOOTER,),
    )


def _write_turned_off(effect: Effect) -> Letter:
    is_by_operator = effect.event(TwoFactorTurnedOff).by_operator
    how = (
        Text("Your administrator has turned two-factor authentication off for your account.")
        if is_by_operator
        else Text("You have turned two-factor authentication off.")
    )
    return Letter(
        subject=Text("Two-factor authentication is off"),
        heading=Text("Two-factor authentication is off"),
        paragraphs=(how, Text("Your password alone is enough to sign in."), NOT_YOU),
        footer=(SECURITY_FOOTER,),
    )


def _write_code_used(effect: Effect) -> Letter:
    left = effect.event(RecoveryCodeUsed).left
    return Letter(
        subject=Text("A recovery code was used"),
        heading=Text("A recovery code was used"),
        paragraphs=(
            Text("Someone used one of your recovery codes instead of a code from your authenticator app."),
            PluralText("You have %(count)s recovery code left.", "You have %(count)s recovery codes left.", count=left),
            NOT_YOU,
        ),
        footer=(SECURITY_FOOTER,),
    )


def _write_codes_renewed(_: Effect) -> Letter:
    return Letter(
        subject=Text("You have new recovery codes"),
        heading=Text("You have new recovery codes"),
        paragraphs=(Text("New recovery codes were created. The earlier ones no longer work."), NOT_YOU),
        footer=(SECURITY_FOOTER,),
    )


def _write_connected(effect: Effect) -> Letter:
    return Letter(
        subject=Text("A new way to sign in to your account"),
        heading=Text("A new way to sign in to your account"),
        paragraphs=(Text("From now on you can also sign in through this service."), NOT_YOU),
        facts=(
            Fact(label=Text("Service"), lines=(one_line(effect.event(IdentityConnected).issuer),), is_verbatim=True),
        ),
        footer=(SECURITY_FOOTER,),
    )


def _write_disconnected(effect: Effect) -> Letter:
    return Letter(
        subject=Text("A way to sign in to your account was removed"),
        heading=Text("A way to sign in to your account was removed"),
        paragraphs=(Text("You can no longer sign in through this service."), NOT_YOU),
        facts=(
            Fact(label=Text("Service"), lines=(one_line(effect.event(IdentityDisconnected).issuer),), is_verbatim=True),
        ),
        footer=(SECURITY_FOOTER,),
    )


SECURITY_LETTERS: dict[type[UserEvent], Callable[[Effect], Letter]] = {
    TwoFactorTurnedOn: _write_turned_on,
    TwoFactorTurnedOff: _write_turned_off,
    RecoveryCodeUsed: _write_code_used,
    RecoveryCodesRenewed: _write_codes_renewed,
    IdentityConnected: _write_connected,
    IdentityDisconnected: _write_disconnected,
}
