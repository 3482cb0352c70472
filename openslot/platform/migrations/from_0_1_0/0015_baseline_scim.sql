-- What identity providers asked for, who left because of it, and what of that waits.

-- The log of providers' requests.
create table scim_requests (
    id bigint generated always as identity primary key,
    token_id uuid not null references scim_tokens on delete cascade,
    at timestamptz not null,
    method text not null,
    path text not null,
    status smallint not null,
    member_id uuid,
    user_name text,
    detail text
);
create index scim_requests_token on scim_requests (token_id, id);
create index scim_requests_member on scim_requests (member_id, id) where member_id is not null;
create index scim_requests_age on scim_requests (at);

-- Who left an organization by a provider's word, and when: many in an hour look like a mistake.
create table departures (
    id bigint generated always as identity primary key,
    organization_id uuid not null references organizations on delete cascade,
    at timestamptz not null
);
create index departures_organization on departures (organization_id, at);
create index departures_age on departures (at);

-- Leavers whose bookings stay until an administrator decides; those who were removed can be brought back as they were.
create table held_departures (
    organization_id uuid not null references organizations on delete cascade,
    user_id uuid not null references users on delete cascade,
    held_at timestamptz not null,
    removed boolean not null,
    member_id uuid not null,
    role text not null,
    profile json,
    primary key (organization_id, user_id)
);
create index held_departures_user on held_departures (user_id);
