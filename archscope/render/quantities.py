"""Numbers as the figures write them."""

from __future__ import annotations

_COUNT_UNITS = ("", " k", " M", " B", " T", " P", " E")
_BYTE_UNITS = (" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB")
LARGEST = 10**24


def count(number: int) -> str:
    """A count in three significant digits: 525 M, 8.03 B, 1.03 T."""
    if number < 0:
        return f"−{count(-number)}"
    return _scaled(number, 1000, _COUNT_UNITS, padded=True)


def in_bytes(number: int) -> str:
    """A size in binary units: 128 KiB, 68.6 KiB; below 10 KiB exact (1,152 B) unless it is a whole number of KiB.

    Units: number is in bytes.
    """
    if number < 0:
        return f"−{in_bytes(-number)}"
    if number < 10 * 1024 and number % 1024:
        return f"{number:,} B"
    return _scaled(number, 1024, _BYTE_UNITS, padded=False)


def _scaled(number: int, base: int, units: tuple[str, ...], *, padded: bool) -> str:
    if number >= LARGEST:
        return f"10^{len(str(number)) - 1}" if number.bit_length() < 10_000 else "huge"
    if number < base:
        return f"{number:,}{units[0]}"
    power = 0
    # 999.5 rounds to 1000, which is 1.00 of the next unit.
    while power < len(units) - 1 and number >= base**power * (base if base == 1024 else 999.5):
        power += 1
    value = number / base**power
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    text = f"{value:,.{digits}f}"
    if not padded and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + units[power]


def whole(number: int) -> str:
    """A dimension in full with thousands commas: 131,072."""
    if abs(number) >= LARGEST:
        return count(number)
    return f"{number:,}".replace("-", "−")


def exact(number: int) -> str:
    """All digits, for programs; not of what is far beyond any model."""
    return str(number) if abs(number) < LARGEST else count(number)


def share(part: int, total: int) -> str:
    """A part in per cent: whole from 10 on, one decimal below, "<0.1 %"."""
    if total <= 0 or part <= 0:
        return "0 %"
    percent = 100 * part / total
    if percent >= 9.95:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 0.05 else "<0.1 %"


def real(number: float) -> str:
    """A number that may have a fraction: 10,000, 0.5, 1e-06."""
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.4g}" if abs(number) < 1e6 else f"{number:g}"


def short_real(number: float) -> str:
    """A round number where space is tight: 10 k, 1 M, 500 k."""
    for unit, size in ((" M", 1_000_000), (" k", 1_000)):
        if number >= size and number < 1e12 and number % (size / 100) == 0:
            return f"{number / size:g}{unit}"
    return real(number)


def plural(number: int, noun: str) -> str:
    """A number with its noun: 1 layer, 52 layers."""
    return f"{whole(number)} {noun}" + ("" if number == 1 else "s")


def layers(numbers: tuple[int, ...]) -> str:
    """Layer numbers as words: "layer 0", "layers 3–60", "52 layers" where they do not follow one another."""
    if len(numbers) == 1:
        return f"layer {numbers[0]}"
    if numbers and numbers[-1] - numbers[0] + 1 == len(numbers):
        return f"layers {numbers[0]}–{numbers[-1]}"
    return plural(len(numbers), "layer")
