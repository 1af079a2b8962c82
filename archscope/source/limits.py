"""How much of a file is read before it counts as no configuration."""

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 200
# Of values and brackets together. The longest documents of real repositories, the weight indexes of models with a
# trillion parameters, have about 140,000.
MAX_VALUES = 300_000
MAX_BROKEN_STRING = 1_000_000  # characters of a string with faults in which escapes are still made out
MAX_PROBLEMS = 20  # of one rule: a file in another language would yield one per line
# Python's int() refuses longer numbers (sys.int_info.default_max_str_digits); fixed here so that no setting changes it.
MAX_DIGITS = 4300
