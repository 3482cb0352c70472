-- Currencies of payments were written with quotation marks around them.
update payments set currency = btrim(currency, '"') where currency like '"%';
