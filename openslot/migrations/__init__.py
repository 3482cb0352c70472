"""The database's shape, as SQL files that are applied in the order of their names and never edited afterwards."""
