"""Numbers and texts as figures write them."""

from __future__ import annotations

import pytest

from archscope.render.quantities import count, in_bytes, layers, real, share, short_real, whole
from archscope.render.widths import cut, fit, width, wrap


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.00 k"), (266_240, "266 k"), (999_499, "999 k"), (999_500, "1.00 M"),
     (41_943_040, "41.9 M"), (525_336_576, "525 M"), (8_030_261_248, "8.03 B"), (1_026_000_000_000, "1.03 T"),
     (10**40, "10^40")],
)  # fmt: skip
def test_count(number: int, text: str) -> None:
    assert count(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1152, "1,152 B"), (4096, "4 KiB"), (70_272, "68.6 KiB"), (131_072, "128 KiB"), (1 << 30, "1 GiB"),
     (1023, "1,023 B"), (17_179_869_184, "16 GiB")],
)  # fmt: skip
def test_in_bytes(number: int, text: str) -> None:
    assert in_bytes(number) == text


@pytest.mark.parametrize(
    ("part", "text"), [(0, "0 %"), (1, "<0.1 %"), (65, "6.5 %"), (99, "9.9 %"), (100, "10 %"), (1000, "100 %")]
)
def test_share(part: int, text: str) -> None:
    assert share(part * 1000, 1_000_000) == (text if part != 1 else "0.1 %")
    assert share(1, 1_000_000) == "<0.1 %"


def test_words_for_numbers() -> None:
    assert whole(131_072) == "131,072"
    assert real(10_000.0) == "10,000"
    assert real(1e-6) == "1e-06"
    assert short_real(1_000_000.0) == "1 M"
    assert short_real(10_000.0) == "10 k"
    assert short_real(12_345.0) == "12,345"
    assert layers((0,)) == "layer 0"
    assert layers((3, 4, 5)) == "layers 3–5"
    assert layers((1, 3, 5)) == "3 layers"


def test_count_of_what_has_too_many_digits() -> None:
    assert count(1 << 20_000) == "huge"


def test_width_of_a_known_string() -> None:
    # Helvetica's published widths: H 722, e 556, l 222, o 556 of 1000.
    assert width("Hello", 10) == pytest.approx(22.78, abs=0.02)
    assert width("abc", 10, mono=True) == pytest.approx(18.0, abs=0.05)
    assert width("Hello", 10, bold=True) > width("Hello", 10)


def test_cut_fit_wrap() -> None:
    assert cut("short", 100, 11) == "short"
    said = cut("a text that is too long for its room", 60, 11)
    assert said.endswith("…")
    assert width(said, 11) <= 60
    assert fit(("the whole thing", "whole"), 40, 11) == "whole"
    lines = wrap("one two three four five six seven eight nine ten", 60, 11, most=3)
    assert len(lines) == 3
    assert all(width(line, 11) <= 60 for line in lines)
    assert cut("名前" * 50, 40, 11).endswith("…")
