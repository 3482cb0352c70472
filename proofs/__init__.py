"""Drills that show the promises on real parts while something breaks: kills, faults, full disks, other releases."""
