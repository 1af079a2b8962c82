"""How much of a file is read before it counts as no configuration."""

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 200
MAX_VALUES = 1_000_000
MAX_PROBLEMS = 20  # of one rule: a file in another language would yield one per line
# Python's int() refuses longer numbers (sys.int_info.default_max_str_digits); fixed here so that no setting changes it.
MAX_DIGITS = 4300
