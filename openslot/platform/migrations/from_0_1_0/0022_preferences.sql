-- How a user wants pages to look; null: as the system and the language have it.
alter table users
    add column theme text check (theme in ('light', 'dark')),
    add column hour_format smallint check (hour_format in (12, 24)),
    -- From Monday as 0.
    add column first_weekday smallint check (first_weekday between 0 and 6);
