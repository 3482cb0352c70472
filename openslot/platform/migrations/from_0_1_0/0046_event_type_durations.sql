-- Durations that an invitee can choose from.

-- In minutes and in order, with duration_minutes, the default, among them; empty: there is only the default.
alter table event_types add column durations integer[] not null default '{}';
