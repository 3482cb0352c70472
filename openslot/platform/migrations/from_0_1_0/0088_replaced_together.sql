-- Hosts of one group who are replaced together are one choice: it names everybody whose place was taken.
update assignments set asked = jsonb_set(asked, '{insteadOf}', jsonb_build_array(asked -> 'insteadOf'))
where jsonb_typeof(asked -> 'insteadOf') = 'string';
