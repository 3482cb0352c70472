"""Tests of openslot.allowances."""
