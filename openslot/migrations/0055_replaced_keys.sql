-- A key or token is rotated once; then the new one is rotated.
alter table api_keys add column replaced_by uuid;
alter table scim_tokens add column replaced_by uuid;
alter table agent_keys add column replaced_by uuid;
