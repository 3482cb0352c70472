-- openslot: no transaction
-- The event types of a team, whose slugs are the addresses of their pages.

drop index concurrently if exists event_types_team;
create unique index concurrently event_types_team on event_types (team_id, slug) where team_id is not null;
