"""Errors that archscope raises.

ArchscopeError            the job cannot be done at all
├── InputError            nothing to read: no such path, not a regular file, too large, no permission
├── UsageError            what was asked for does not exist: a rule, a format, a severity
├── RenderError           a figure cannot be made in this format here
└── IntrospectionError    the installed transformers cannot build this config

A fault in the content of a file is never an exception: it is a Diagnostic.
"""

from __future__ import annotations


class ArchscopeError(Exception):
    """The job cannot be done; the message names the thing and the remedy."""


class InputError(ArchscopeError):
    """The input cannot be read."""


class UsageError(ArchscopeError):
    """The request names something that does not exist."""


class RenderError(ArchscopeError):
    """The figure cannot be made in this format on this machine."""


class IntrospectionError(ArchscopeError):
    """The installed transformers cannot build this config, or is not there to try."""
