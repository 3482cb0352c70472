-- Workers remember who has asked them to wait.
alter table crm_connections drop column busy_until;
