"""messaging …: connected numbers for messages and calls, and the kill switch of what goes out."""

import sys
from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.organizations import BY_OPERATOR
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.models import Organization
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.domains.change_log.models import ChangeAction, NewChange
from openslot.domains.change_log.operations import log_change
from openslot.domains.messaging import host_numbers
from openslot.domains.messaging.connections.accounts import can_be_notified, notice_urls
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.connections.operations import (
    NumberOwner,
    NumberWanted,
    allow_cancelling_by_message,
    check_number,
    connect_messaging_number,
    disconnect_messaging_number,
    list_all_number_connections,
    set_number_countries,
)
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.countries import read_countries
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Runtime, Work
from openslot.platform.flags.models import ALL, ChannelStatus, DroppedMessage
from openslot.platform.flags.switches.operations import get_status, list_dropped, resume_messaging, stop_messaging
from openslot.platform.i18n import say

app = group("Numbers for messages and calls; stop and resume what goes out.")

ChannelOption = Annotated[
    str, typer.Option("--channel", help="sms, whatsapp, voice or email; all is every one of them but email")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; the team chat and the page of messages show it")]

CANT_ARRIVE = "OPENSLOT_BASE_URL is no public https address, so notices of the provider can't arrive."


@command(app, "connect")
async def connect_number(
    runtime: Runtime,
    *,
    account: Annotated[str, typer.Option("--account", help="Twilio's account SID, or the address of a gateway")],
    number: Annotated[str, typer.Option("--number", help="The number, such as +493012345678")],
    channel: Annotated[ConnectionChannel, typer.Option("--channel", help="What the number is used for")],
    user: Annotated[str | None, typer.Option("--user", help="User's email address")] = None,
    organization: Annotated[
        str | None, typer.Option("--organization", help="Instead of a user: an organization, for its members")
    ] = None,
    provider: Annotated[ProviderName, typer.Option("--provider", help="Who runs the number")] = ProviderName.TWILIO,
    template: Annotated[
        str | None, typer.Option("--template", help="WhatsApp: the id of a template for reminders, at Twilio HX…")
    ] = None,
    countries: Annotated[
        str | None,
        typer.Option(
            "--countries", help="Countries that messages go to, such as DE,AT, or all; empty: that of the number"
        ),
    ] = None,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read the account's auth token from standard input")
    ] = False,
    allow_cancel: Annotated[
        bool | None,
        typer.Option(
            "--allow-cancel/--no-allow-cancel",
            help="Let people cancel by replying C to a reminder; the sender of a message can be forged",
        ),
    ] = None,
) -> Answer:
    """Connect a number, or give a connected one another token; prints the addresses for the provider's notices."""
    if not token_stdin:
        raise Invalid("Specify --token-stdin and pass the token on standard input")
    work = runtime.work(OPERATOR)
    owner = await _find_owner(work, user, organization)
    wanted = NumberWanted(
        provider=provider,
        channel=channel,
        number=number,
        account=account,
        token=sys.stdin.readline().strip(),
        template=template,
    )
    chosen = None if countries is None else read_countries(countries)
    checked = await check_number(work, owner, wanted)
    async with work.transaction():
        connection = await connect_messaging_number(work, owner, checked)
        if allow_cancel is not None:
            connection = await allow_cancelling_by_message(work, owner, connection.id, can_cancel=allow_cancel)
        if chosen is not None:
            connection = await set_number_countries(work, owner, connection.id, chosen)
        if isinstance(owner, Organization):
            await _log(work, ChangeAction.NUMBER_CONNECTED, connection)
    urls = notice_urls(runtime.settings, connection)
    shown = pick(
        connection, "id provider channel number account account_name template can_cancel countries", notice_urls=urls
    )
    lines = [f"Connected: {connection.id}", *(f"Notices ({about}): {url}" for about, url in urls.items())]
    if not can_be_notified(runtime.settings):
        lines.append(CANT_ARRIVE)
    return Answer(shown, "\n".join(lines))


@command(app, "disconnect", confirm="Disconnect the number {connection_id}? Its messages and calls stay.")
async def disconnect_number(
    work: Work, connection_id: Annotated[str, typer.Argument(help="Id of the connection, from `messaging list`")]
) -> Answer:
    """Delete a number's tokens; its messages and calls stay."""
    connection = await disconnect_messaging_number(work, None, parse_id(connection_id))
    if connection.organization_id is not None:
        await _log(work, ChangeAction.NUMBER_DISCONNECTED, connection)
    return Answer({"disconnected": connection.id}, f"{connection.number} is disconnected.")


@command(app, "use")
async def use_number(
    work: Work,
    connection_id: Annotated[str, typer.Argument(help="Id of the connection, from `messaging list`")],
    user: Annotated[str, typer.Option("--user", help="Host's email address")],
) -> Answer:
    """Let a host write from a number: their own, or one of an organization of theirs."""
    host = await get_user_by_email(work, user)
    used = await host_numbers.use_number(work, host, parse_id(connection_id))
    return Answer(pick(used, "id channel number"), f"{host.email} uses {used.number} for {used.channel}.")


@command(app, "list")
async def list_numbers(work: Work) -> Answer:
    """List the connected numbers."""
    found = await list_all_number_connections(work)
    names = "id provider channel number account user_id organization_id can_cancel countries last_error connected_at"
    columns = ("Id", "Channel", "Number", "Provider", "Account", "C cancels", "Fault")
    rows = [
        (each.id, each.channel, each.number, each.provider, each.account, each.can_cancel, say(each.last_error or ""))
        for each in found
    ]
    return Answer(
        {"numbers": [pick(each, names) for each in found]}, TableRows(columns, rows, "No number is connected.")
    )


async def _find_owner(work: Work, user: str | None, organization: str | None) -> NumberOwner:
    if (user is None) == (organization is None):
        raise Invalid("Specify --user or --organization")
    if user is not None:
        return await get_user_by_email(work, user)
    return await get_organization(work, organization or "")


async def _log(work: Work, action: ChangeAction, connection: MessagingConnection) -> None:
    change = NewChange(
        action=action,
        author=BY_OPERATOR,
        subject=connection.number,
        subject_id=connection.id,
        organization_id=connection.organization_id,
        after={"channel": connection.channel, "can_cancel": connection.can_cancel}
        if action is ChangeAction.NUMBER_CONNECTED
        else {},
    )
    await log_change(work, change)


@command(app, "stop")
async def stop(work: Work, reason: ReasonOption, channel: ChannelOption = ALL) -> Answer:
    """Stop outgoing messages: they wait until they are resumed."""
    return _answer(await stop_messaging(work, channel, reason=reason))


@command(app, "resume")
async def resume(work: Work, reason: ReasonOption, channel: ChannelOption = ALL) -> Answer:
    """Resume outgoing messages: those that wait are sent, in order, unless they have lost their meaning."""
    return _answer(await resume_messaging(work, channel, reason=reason))


@command(app, "status")
async def show_status(work: Work) -> Answer:
    """Show which channels are stopped, since when, by whom and why, how many messages wait, and what was dropped."""
    return _answer(await get_status(work), await list_dropped(work))


def _answer(found: list[ChannelStatus], dropped: list[DroppedMessage] | None = None) -> Answer:
    rows = [
        (each.channel, stop is not None, stop and stop.at, stop and stop.name, each.waiting, stop and stop.reason)
        for each in found
        for stop in (each.stop,)
    ]
    shown: dict[str, object] = {"channels": [_show(each) for each in found]}
    if dropped is not None:
        shown["dropped"] = [
            {
                "id": str(each.id),
                "channel": each.channel,
                "recipient": each.recipient,
                "subject": each.subject,
                "heldAt": each.held_at,
                "droppedAt": each.dropped_at,
                "failed": each.has_failed,
                "reason": say(each.reason),
            }
            for each in dropped
        ]
    table = TableRows(("Channel", "Stopped", "Since", "By", "Waiting", "Reason"), rows)
    notes = [f"{len(dropped)} messages were dropped after they had waited; --json lists them."] if dropped else []
    return Answer(shown, table, notes)


def _show(each: ChannelStatus) -> dict[str, object]:
    stop = each.stop
    return {
        "channel": each.channel,
        "stopped": stop is not None,
        "since": stop and stop.at,
        "by": stop and stop.name,
        "reason": stop and stop.reason,
        "waiting": each.waiting,
    }
