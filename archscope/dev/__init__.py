"""Generators of what is checked in: each has a check mode and an update mode. Not part of the wheel."""
