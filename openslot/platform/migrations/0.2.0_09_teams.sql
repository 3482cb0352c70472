-- Teams of organizations, and who belongs to them.

create table teams (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    name text not null,
    -- The address of its page; among all organizations.
    slug text not null,
    -- Its calendar, which counts the days and the starts of its event types.
    zone text not null,
    -- What an identity provider calls it.
    external_id text,
    -- Counts the changes of the team and of who belongs to it.
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- When an identity provider deleted a team for which something is booked: it does not see the team any more, and an
    -- administrator decides.
    held_at timestamptz
);
comment on table teams is 'Teams of organizations.';
create unique index teams_slug on teams (lower(slug));
create unique index teams_name on teams (organization_id, lower(name));

create table team_members (
    team_id uuid not null references teams on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- How much of the bookings is theirs, compared with others; 0: none.
    weight integer not null default 100 check (weight between 0 and 1000),
    -- Those with the highest priority who are free come first.
    priority integer not null default 2 check (priority between 0 and 3),
    is_manager boolean not null default false,
    -- What the team says of them; what their identity provider says is in member_profiles.
    attributes jsonb not null default '{}',
    joined_at timestamptz not null,
    primary key (team_id, user_id)
);
comment on table team_members is 'Who belongs to a team.';
create index team_members_user on team_members (user_id);
