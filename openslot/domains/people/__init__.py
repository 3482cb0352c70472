"""Joiners and leavers: verbs that use the layers below, and departures that wait for a decision."""
