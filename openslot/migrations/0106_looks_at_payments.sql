-- When the provider was last asked about a payment because somebody looked at its page. It is written by the database's
-- clock before the provider is asked, so that of all who look within a few seconds one asks.
alter table payments add column looked_at timestamptz;
