"""Tests of the doctor that runs inside an installation."""
