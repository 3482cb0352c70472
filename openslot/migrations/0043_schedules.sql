-- Which schedule new event types start from, and how far a new user has come with the first steps.

-- The schedule that was made the default last is the default; where none was, the oldest is.
alter table schedules add column default_at timestamptz;

-- The next of the first steps; null once they are finished or skipped, and for all who were here before.
alter table users add column welcome_step smallint;
