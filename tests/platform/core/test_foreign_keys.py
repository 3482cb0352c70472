"""Deletes find what refers to them by an index, however large the tables have become."""

from openslot.platform.core.work import Runtime

# The first columns of some index, without a condition or with none but "is not null", are the key's.
WITHOUT_INDEX = """
select c.conrelid::regclass::text || '.' || a.attname as key
from pg_constraint c
join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
where c.contype = 'f' and c.connamespace = 'public'::regnamespace and not exists (
    select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1] and i.indisvalid
      and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = '(' || a.attname || ' IS NOT NULL)'))
order by 1"""
# An account is deleted by hand at most: its claims are then looked for in all of them, once.
ALLOWED = ["claims.host_no"]


async def test_every_foreign_key_has_an_index(runtime: Runtime) -> None:
    assert [row["key"] for row in await runtime.pool.fetch(WITHOUT_INDEX)] == ALLOWED
