"""Joiners and leavers: verbs that use the layers below, without tables of their own."""
