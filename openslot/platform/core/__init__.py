"""The foundation that every other package uses; knows no domain."""
