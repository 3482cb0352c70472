-- When a channel is prolonged, or another one takes its place: a server may ask for it before the end is near.

alter table calendar_channels add column renew_at timestamptz not null default 'epoch';
update calendar_channels
set renew_at = case when resource_id = '' then created_at + interval '6 hours' else expires_at - interval '1 day' end;
alter table calendar_channels alter column renew_at drop default;
