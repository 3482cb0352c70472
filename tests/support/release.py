"""Processes of two releases: today's, and one that knows two migrations and a reaction more."""

from msgspec import structs

from openslot.domains.bookings.events import BOOKING_EVENTS, BookingEvent
from openslot.platform.core.events import Effect
from openslot.platform.core.migrate import NO_TRANSACTION
from openslot.platform.core.work import Done, GiveUp, Outcome, Reaction, Wiring, Work
from openslot.processes.environment import settings
from openslot.processes.exits import run
from openslot.processes.web import serve_web
from openslot.processes.worker import work as serve_worker
from openslot.wiring import WIRING

MORE_MIGRATIONS = {
    "9000_rollout.sql": """
        alter table bookings add column rollout_note text;
        create table rollout_notes (
            no bigint generated always as identity primary key, booking_id uuid not null, event_type text not null
        )""",
    "9001_rollout_index.sql": f"""{NO_TRANSACTION}
        create index concurrently if not exists bookings_rollout on bookings (rollout_note);""",
}


async def take_note(_: Work, effect: Effect) -> Outcome:
    """Note that it was done, in the transaction that says so."""
    booking_id = effect.event(BookingEvent).booking.id

    async def write(work: Work) -> None:
        sql = "insert into rollout_notes (booking_id, event_type) values ($1, $2)"
        await work.db.execute(sql, booking_id, effect.event_type)

    return Done(write=write)


async def give_up(_: Work, effect: Effect) -> Outcome:
    """Do what a worker must not do with what it does not know."""
    raise GiveUp(f"nobody knows {effect.reaction}")


class BuryingWiring(Wiring, frozen=True, kw_only=True):
    """A mutant: what it does not know is dead at the first try."""

    def reaction(self, name: str) -> Reaction | None:
        """Find a reaction, and one that gives up for every other name."""
        return super().reaction(name) or Reaction(name=name, run=give_up)


TAKE_NOTE = Reaction(name="rollout.take_note", on=BOOKING_EVENTS, run=take_note, lane="rollout")
RELEASES = {
    "old": WIRING,
    "burying": BuryingWiring(**structs.asdict(WIRING)),
    "new": structs.replace(
        WIRING,
        reactions=(*WIRING.reactions, TAKE_NOTE),
        migrations={**WIRING.migrations, **MORE_MIGRATIONS},
    ),
}


def run_release(release: str, kind: str) -> None:
    """Run one process of a release until a signal comes."""
    wiring = RELEASES[release]
    run(lambda: serve_web(settings(), wiring) if kind == "web" else serve_worker(wiring))
