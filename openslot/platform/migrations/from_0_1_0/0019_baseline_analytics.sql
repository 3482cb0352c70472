-- How often pages are visited, and how far people come who sign up.

-- Visits of public pages, and from where: counts only, nothing about who visits.
create table page_views (
    host_id uuid not null references users on delete cascade,
    -- Null is the host's own page.
    event_type_id uuid references event_types on delete cascade,
    page_id uuid not null generated always as (coalesce(event_type_id, host_id)) stored,
    -- In the host's time zone.
    on_day date not null,
    source text not null check (length(source) between 1 and 60),
    views bigint not null check (views > 0),
    primary key (page_id, on_day, source)
);
create index page_views_host on page_views (host_id, on_day);
create index page_views_event_type on page_views (event_type_id) where event_type_id is not null;
create index page_views_age on page_views (on_day);

-- Visits of the sign-up form: counts only, nothing about who visits.
create table funnel_visits (
    -- In UTC.
    on_day date primary key,
    visits bigint not null check (visits > 0)
);

-- Each step of an account that was opened by the form, once. Before the account is opened, a row has the id of its sign-up.
-- There is no reference to the account: what was counted stays when the account is deleted, and names nobody then.
create table funnel_steps (
    account_id uuid not null,
    step text not null,
    at timestamptz not null,
    primary key (account_id, step)
);
create index funnel_steps_age on funnel_steps (at);
