"""Families: one module a lineage, each a few builders over shared blocks."""
