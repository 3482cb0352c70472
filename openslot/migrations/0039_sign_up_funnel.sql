-- How far people come who sign up by the form: how often it is visited, and each step of an account once.

-- Counts only: nothing about who visits.
create table funnel_visits (
    -- In UTC.
    on_day date primary key,
    visits bigint not null check (visits > 0)
);

-- Only accounts that were opened by the form have rows. Before the account is opened, a row has the id of its sign-up. There is
-- no reference to the account: what was counted stays when the account is deleted, and names nobody then.
create table funnel_steps (
    account_id uuid not null,
    step text not null,
    at timestamptz not null,
    primary key (account_id, step)
);
create index funnel_steps_age on funnel_steps (at);
