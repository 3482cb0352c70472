"""Joiners and leavers: verbs over the floors below, with no tables of their own."""
