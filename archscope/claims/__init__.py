"""Claims: what texts outside config.json say of the architecture."""

from archscope.claims.extract import Claim, Claims, Command, claims, commands
from archscope.claims.labels import Kind
from archscope.claims.numbers import Number, numbers

__all__ = ["Claim", "Claims", "Command", "Kind", "Number", "claims", "commands", "numbers"]
