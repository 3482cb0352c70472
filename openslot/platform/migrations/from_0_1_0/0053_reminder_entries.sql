-- What people are written before and after a meeting: when, to whom, by which channel and in which words.

alter table reminder_settings
    -- A list of entries. The times of reminders by email are in minutes_before too, which the last release writes.
    add column entries jsonb;

-- Hosts who asked for reminders to themselves, and event types with a message after the meeting, have a choice of their own.
insert into reminder_settings (id, host_id, event_type_id, minutes_before, updated_at)
select gen_random_uuid(), c.user_id, null, '{1440,60}', now()
from notification_choices c where c.topic = 'reminder' and c.is_on
on conflict do nothing;
insert into reminder_settings (id, host_id, event_type_id, minutes_before, channels, updated_at)
select gen_random_uuid(), e.owner_id, e.id, coalesce(r.minutes_before, '{1440,60}'), coalesce(r.channels, '{email}'), now()
from message_follow_ups f
join event_types e on e.id = f.event_type_id
left join reminder_settings r on r.host_id = e.owner_id and r.event_type_id is null
on conflict do nothing;

update reminder_settings s set
    minutes_before = case when 'email' = any(s.channels) then s.minutes_before else '{}' end,
    entries = coalesce((
        select jsonb_agg(x.entry) from (
            select jsonb_build_object('minutes', m.minutes, 'channel', c.channel, 'to',
                case when c.channel = 'email' and exists (
                    select from notification_choices n
                    where n.user_id = s.host_id and n.topic = 'reminder' and n.is_on) then 'both' else 'invitee' end) as entry
            from unnest(s.minutes_before) as m (minutes) cross join unnest(s.channels) as c (channel)
            union all
            select jsonb_build_object('moment', 'after', 'minutes', f.hours_after * 60, 'channel', c.channel, 'text',
                replace(replace(replace(f.text, '{name}', '{invitee_name}'), '{host}', '{host_name}'), '{event}', '{event_name}'))
            from message_follow_ups f cross join unnest(f.channels) as c (channel)
            where f.event_type_id = s.event_type_id) x), '[]');

-- No release has known these.
drop table message_follow_ups;
alter table reminder_settings drop column channels;
