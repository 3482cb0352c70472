-- One mailbox has many addresses: limits count letter case, a tag behind `+`, and dots at Gmail as the same recipient.
-- Stored addresses, and those that mail is sent to, stay as they are.
create function canonical_recipient(address text) returns text language sql immutable strict parallel safe as $$
select case
    when parts.domain in ('gmail.com', 'googlemail.com') then replace(parts.base, '.', '') || '@gmail.com'
    else parts.base || '@' || parts.domain
end
from (
    select coalesce(nullif(split_part(split.local, '+', 1), ''), split.local) as base, split.domain
    from (
        select regexp_replace(lower(address), '@[^@]*$', '') as local,
            substring(lower(address) from '[^@]*$') as domain
    ) split
) parts
$$;

-- Invitations that were sent, counted for a week. Nothing refers to users or organizations, so that neither withdrawing
-- an invitation nor deleting an account or an organization makes room for more.
create table sent_invitations (
    id bigint generated always as identity primary key,
    organization_id uuid not null,
    -- The hash of the canonical address.
    recipient bytea not null,
    -- Whether the address is in a domain that the organization has verified.
    own_domain boolean not null,
    at timestamptz not null
);
create index sent_invitations_organization on sent_invitations (organization_id, at);
create index sent_invitations_recipient on sent_invitations (recipient, at);
create index sent_invitations_age on sent_invitations (at);

-- Why the last invitation of a member was not sent: the limit that was reached; null if it was sent.
alter table member_profiles add column invitation_refused text;
