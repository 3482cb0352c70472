-- Locations that an invitee can choose from.

-- With location, the default, among them; empty: there is only the default.
alter table event_types add column locations jsonb not null default '[]';
