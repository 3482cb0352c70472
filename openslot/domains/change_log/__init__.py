"""The change log: who changed what in an organization or on the platform, before and after."""
