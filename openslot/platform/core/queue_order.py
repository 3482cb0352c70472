"""The order in which due effects are taken: the oldest first, and one of each account that waits behind others."""

from typing import ClassVar
from uuid import UUID

from msgspec import Struct

# So many accounts are looked at each time, so that a look takes no longer with many of them.
WALKED = 500


class Ring(Struct):
    """How far a worker has come in its walk around the accounts."""

    begin: ClassVar[UUID] = UUID(int=0)
    after: UUID = begin


# If more is due than is taken at once, a quarter more is taken in turn: of each account the oldest, of those the ones
# that wait longest. The accounts are found one after the other by an index, so that a long queue of one costs nothing.
# Effects that failed or were put back yield to all of these.
FIRST_OF = """
select e.tenant_id, e.id, e.next_try_at from effects e where e.state = 'queued' and not e.yields and {which}
order by e.tenant_id, e.next_try_at limit {limit}"""
DUE = f"""
soon as materialized (
    select id from effects where state = 'queued' and not yields and next_try_at <= $2
    order by next_try_at limit $3 for update skip locked
), accounts as (
    ({FIRST_OF.format(which="e.tenant_id > $4 and (select count(*) from soon) = $3", limit=1)})
    union all
    select n.* from accounts a cross join lateral ({FIRST_OF.format(which="e.tenant_id > a.tenant_id", limit=1)}) n
), walked as materialized (
    select * from accounts limit {WALKED}
), firsts as (
    select id, next_try_at from walked
    union all
    select id, next_try_at from ({FIRST_OF.format(which="e.tenant_id is null", limit="$3::int / 4")}) nobodys
    where (select count(*) from soon) = $3
), in_turn as materialized (
    select id from effects where state = 'queued' and not yields and id = any(array(
        select id from firsts where next_try_at <= $2 and id not in (select id from soon)
        order by next_try_at limit $3::int / 4))
    for update skip locked
), late as materialized (
    select id from effects where state = 'queued' and yields and next_try_at <= $2
    order by next_try_at limit $3 - (select count(*) from soon) for update skip locked
), due as (
    select id from soon union all select id from in_turn union all select id from late
)"""
# Null if all have been looked at: the next walk begins anew.
WALKED_TO = f"(select tenant_id from walked order by tenant_id offset {WALKED - 1} limit 1)"
