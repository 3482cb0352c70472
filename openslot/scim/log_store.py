"""The SQL that searches the log of requests."""

from uuid import UUID

from openslot.core.db import Db
from openslot.core.query_plans import custom_plans
from openslot.scim.models import LoggedRequest, RequestFilter

# Each token's newest requests are found by its own index; a request that names no user belongs to the one it is about.
SEARCH = """
select r.id, r.at, t.name as token_name, r.method, r.path, r.status, r.member_id, r.detail,
       coalesce(r.user_name, (
           select e.user_name from scim_requests e
           where e.member_id = r.member_id and e.user_name is not null order by e.id desc limit 1)) as user_name
from scim_tokens t cross join lateral (
    select * from scim_requests q
    where q.token_id = t.id and ($3::bigint is null or q.id < $3) and ($4 = '' or q.method = $4)
      and ($5::int is null or q.status / 100 = $5) and ($6 = '' or strpos(lower(q.path), lower($6)) > 0)
      and ($7 = '' or strpos(lower(q.user_name), lower($7)) > 0 or (q.user_name is null and exists (
          select from scim_requests e where e.member_id = q.member_id and strpos(lower(e.user_name), lower($7)) > 0)))
      and ($8::timestamptz is null or q.at >= $8) and ($9::timestamptz is null or q.at < $9)
    order by q.id desc limit $10
) r
where t.organization_id = $1 and ($2::uuid is null or t.id = $2)
order by r.id desc limit $10"""


@custom_plans
async def search_requests(
    db: Db, organization_id: UUID, wanted: RequestFilter, *, before_id: int | None, limit: int
) -> list[LoggedRequest]:
    """List requests made with an organization's tokens, newest first."""
    rows = await db.fetch(
        SEARCH,
        organization_id,
        wanted.token_id,
        before_id,
        wanted.method,
        int(wanted.status) if wanted.status else None,
        wanted.path,
        wanted.user,
        wanted.span.starts_at,
        wanted.span.ends_before,
        limit,
    )
    return [LoggedRequest(**row) for row in rows]
