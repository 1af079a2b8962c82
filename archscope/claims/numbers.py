"""Numbers as model cards write them, with the rounding that the notation implies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscope.records import dataclass

_UNITS = {
    "k": (1_000, 1_024),
    "m": (1_000_000, 1_048_576),
    "b": (1_000_000_000,),
    "t": (1_000_000_000_000,),
    "million": (1_000_000,),
    "billion": (1_000_000_000,),
    "trillion": (1_000_000_000_000,),
    "万": (10_000,),
    "亿": (100_000_000,),
    "千": (1_000,),
}

_NUMBER = re.compile(
    r"(?<![\w.,/])[~≈约]?\s?(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<fraction>\.\d+)?(?P<exponent>e[+]?\d{1,2})?"
    r"(?:\s?(?P<unit>million|billion|trillion|[kKmMbBtT](?![A-Za-z])|万|亿|千))?"
    r"(?![\d])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number with what it may stand for.

    `values` are the numbers that the notation can mean (128K is 128,000 or 131,072), `unit` half of which is its rounding.
    """

    values: tuple[float, ...]
    unit: float
    exact: bool
    start: int
    end: int

    @property
    def value(self) -> float:
        """The plain reading."""
        return self.values[0]

    def means(self, number: float, *, share: float = 0.0) -> bool:
        """Whether the number can be this one, rounded or cut, or within a share of it."""
        for value in self.values:
            slack = 0.0 if self.exact else self.unit * value / self.value if self.value else self.unit
            if abs(number - value) <= max(slack, share * value, 0.0) and (number == value or slack or share):
                return True
            if number == value:
                return True
        return False


def numbers(text: str) -> Iterator[Number]:
    """Every number in a text, from the left."""
    for match in _NUMBER.finditer(text):
        made = _number(match)
        if made is not None:
            yield made


def _number(match: re.Match[str]) -> Number | None:
    digits = match["digits"].replace(",", "")
    if len(digits) > 18:
        return None
    fraction, exponent = match["fraction"] or "", match["exponent"] or ""
    plain = float(digits + fraction + exponent)
    unit = (match["unit"] or "").lower()
    scales: tuple[int, ...] = _UNITS.get(unit, (1,))
    step = 10.0 ** -(len(fraction) - 1) if fraction else 1.0
    exact = not unit and not fraction and not exponent
    return Number(
        values=tuple(plain * scale for scale in scales),
        unit=step * scales[0],
        exact=exact,
        start=match.start("digits"),
        end=match.end(),
    )
