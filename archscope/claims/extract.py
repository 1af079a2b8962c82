"""From the text of a model card to typed claims with their lines.

Only what stands as "label: value" is read, in lists and two-column tables, and commands with a tensor-parallel degree. A
sentence whose claim is unsure gives none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from archscope.claims.labels import Kind, clean, kind_of
from archscope.claims.numbers import Number, numbers
from archscope.records import dataclass
from archscope.source import SourceText, Span

MAX_CHARACTERS = 2_000_000
MAX_LINE = 2_000

_BULLET = re.compile(r"^(?P<indent>\s*)(?:[-*+•]|\d{1,2}[.)])\s+(?P<rest>.+)$")
_HEADING = re.compile(r"^(?P<level>#{1,6})\s+(?P<text>.+)$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_PAIR = re.compile(r"^(?P<label>[^:：|]{2,80}?)\s*[:：]\s*(?P<value>.+)$")
_TP = re.compile(
    r"(?:--tensor[-_]parallel(?:[-_]size)?|(?<!\w)-tp|--tp(?:-size)?|tensor_parallel_size)"
    r"\s*[= ]\s*(?P<degree>\d{1,4})(?![\d.])"
)
_OTHER_PART = re.compile(
    r"vision|visual|image|audio|speech|encoder|deltanet|linear attention|mamba|ssm|draft|mtp|multi-token|reward|training"
    r"|tokenizer|projector|lightning|adapter|lora|视觉|benchmark|indexer|test|hardware",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"token(s)? (in|of) |trained on|training|dataset|corpus", re.IGNORECASE)


_OTHER_TOWER = re.compile(r"\b(vision|visual|vit|image|audio|speech|siglip|draft|mtp|projector)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a card says of one fact; `span` is the value in its text, `words` the value as written."""

    kind: Kind
    number: Number
    words: str
    span: Span


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a card that splits the model over `degree` ranks."""

    degree: int
    span: Span


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a card: those of the model itself, and those of each model in tables that compare several."""

    own: tuple[Claim, ...]
    tables: tuple[tuple[tuple[Claim, ...], ...], ...]


def commands(source: SourceText) -> Iterator[Command]:
    """Every command with a tensor-parallel degree."""
    for match in _TP.finditer(source.text[:MAX_CHARACTERS]):
        yield Command(int(match["degree"]), Span(match.start("degree"), match.end("degree")))


def claims(source: SourceText) -> Claims:
    """Every claim of a card that stands in a place of its own."""
    own: list[Claim] = []
    tables: list[tuple[tuple[Claim, ...], ...]] = []
    context = _Context()
    rows: list[Row] = []
    fenced = False
    at = 0
    for line in (*source.text[:MAX_CHARACTERS].splitlines(keepends=True), ""):
        start, at = at, at + len(line)
        text = line.rstrip("\r\n")
        if not fenced and text.lstrip().startswith("|") and len(text) <= MAX_LINE:
            rows.append(row_of(text, start))
            continue
        if rows:
            models = table_claims(rows) if not context.is_elsewhere else ()
            own += models[0] if len(models) == 1 else ()
            tables += [models] if len(models) > 1 else []
            rows = []
        if _FENCE.match(text):
            fenced = not fenced
        elif not fenced and len(text) <= MAX_LINE:
            own += _of_line(context, text, start)
    return Claims(tuple(own), tuple(tables))


def _of_line(context: _Context, text: str, start: int) -> list[Claim]:
    pair = context.enter(text)
    if pair is None:
        return []
    label, value, offset = pair
    kind = kind_of(label)
    if kind is None or context.is_elsewhere or _ELSEWHERE.search(label):
        return []
    return list(value_claims(kind, value, start + offset))


class _Context:
    """Where in the card a line stands: headings, the paragraph before, bullets around it."""

    def __init__(self) -> None:
        self.headings: dict[int, str] = {}
        self.bullets: list[tuple[int, str]] = []
        self.paragraph = ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether what stands around says that this is about another part than the text model."""
        around = (*self.headings.values(), *(text for _, text in self.bullets[:-1]))
        return any(_OTHER_PART.search(text) for text in around) or bool(_OTHER_TOWER.search(self.paragraph))

    def enter(self, text: str) -> tuple[str, str, int] | None:
        """Take in a line; its label, value, and where the value starts, if it is such a pair."""
        heading = _HEADING.match(text)
        if heading:
            level = len(heading["level"])
            self.headings = {one: words for one, words in self.headings.items() if one < level}
            self.headings[level] = clean(heading["text"])
            self.bullets = []
            self.paragraph = ""
            return None
        bullet = _BULLET.match(text)
        if bullet:
            indent = len(bullet["indent"].expandtabs(4))
            self.bullets = [one for one in self.bullets if one[0] < indent]
            self.bullets.append((indent, clean(bullet["rest"])[:200]))
            return _split(bullet["rest"], bullet.start("rest"))
        if not text.strip():
            return None
        if not text.startswith((" ", "\t")):
            self.bullets = []
        pair = _split(text.strip(), len(text) - len(text.lstrip())) if len(text) < 200 else None
        if pair is None or kind_of(pair[0]) is None:
            self.paragraph = clean(text[-200:])
        return pair


def _split(text: str, offset: int) -> tuple[str, str, int] | None:
    match = _PAIR.match(text)
    return None if match is None else (match["label"], match["value"], offset + match.start("value"))


Cell = tuple[str, int]
Row = tuple[Cell, ...]


def row_of(text: str, start: int) -> Row:
    """The cells of a table row, each with where it starts."""
    inner = text.strip()
    lead = start + text.index(inner[0]) if inner else start
    body = inner[1:-1] if inner.endswith("|") and len(inner) > 1 else inner[1:]
    cells = []
    at = lead + 1
    for piece in body.split("|"):
        cells.append((piece, at))
        at += len(piece) + 1
    return tuple(cells)


def table_claims(rows: list[Row]) -> tuple[tuple[Claim, ...], ...]:
    """The claims of each model in a table, whose labels stand in the first column or in the first row."""
    rows = [row for row in rows if not all(set(cell.strip()) <= set("-: ") for cell, _ in row)]
    width = max((len(row) for row in rows), default=0)
    if len(rows) < 2 or width < 2 or len(rows) > 500 or width > 40:
        return ()
    known = [kind_of(row[0][0]) for row in rows]
    if sum(kind is not None for kind in known) >= min(3, max(1, len(rows) - 2)):
        return _columns(rows, known, width)
    kinds = [kind_of(cell) for cell, _ in rows[0]]
    if sum(kind is not None for kind in kinds) < 3:
        return ()
    models = [
        tuple(c for kind, (cell, at) in zip(kinds, row, strict=False) if kind for c in value_claims(kind, cell, at))
        for row in rows[1:]
    ]
    return tuple(models) if len(models) > 1 else (*models, ())


def _columns(rows: list[Row], known: list[Kind | None], width: int) -> tuple[tuple[Claim, ...], ...]:
    models = []
    for column in range(1, width):
        header = rows[0][column][0] if known[0] is None and column < len(rows[0]) else ""
        if _COMMENT.fullmatch(clean(header)) or _OTHER_TOWER.search(clean(header)):
            continue
        models.append(
            tuple(
                claim
                for kind, row in zip(known, rows, strict=True)
                if kind is not None and column < len(row)
                for claim in value_claims(kind, *row[column])
            )
        )
    return tuple(models)


_COMMENT = re.compile(r"(comments?|descriptions?|notes?|remarks?|source|meaning|备注|说明)", re.IGNORECASE)

_QUERY = r"(?:for |\()?(?:q\b|quer(?:y|ies))"
_KEY = r"(?:for |\()?(?:kv\b|k/v\b|keys?(?:/values?)?)"
_HEADS = re.compile(rf"(?P<q>\d{{1,4}})\s*{_QUERY}[^\d]{{0,20}}(?P<kv>\d{{1,4}})\s*{_KEY}", re.IGNORECASE)
_SLASHES = re.compile(r"^\s*(?P<q>\d{1,4})\s*/\s*(?P<k>\d{1,4})\s*/\s*(?P<v>\d{1,4})\s*$")


def value_claims(kind: Kind, value: str, start: int) -> Iterator[Claim]:
    """The claims in a value; none where what it says is unsure."""
    if kind == "heads":
        match = _HEADS.search(value) or _SLASHES.match(value)
        if match:
            yield _of_group("heads", match, "q", start)
            yield _of_group("kv_heads", match, "kv" if "kv" in match.groupdict() else "k", start)
            return
    found = list(numbers(value))
    if not found or _is_unsure(kind, value, found):
        return
    number = found[0]
    yield Claim(kind, number, clean(value)[:80], Span(start + number.start, start + number.end))


def _of_group(kind: Kind, match: re.Match[str], name: str, start: int) -> Claim:
    value = float(match[name])
    number = Number((value,), 1.0, True, match.start(name), match.end(name))
    return Claim(kind, number, clean(match[0])[:80], Span(start + match.start(name), start + match.end(name)))


_COUNTS = (
    "layers",
    "hidden_size",
    "heads",
    "kv_heads",
    "head_dim",
    "experts",
    "active_experts",
    "shared_experts",
    "dense_layers",
)


def _is_unsure(kind: Kind, value: str, found: list[Number]) -> bool:
    """Whether a value may mean something else: products, ranges, a number in the middle of a sentence, several models."""
    head = clean(value)
    if kind == "context" and re.search(r"yarn|extrapolat|extend|scal", head, re.IGNORECASE):
        return True
    if re.search(
        r"\d\s*(?:x|×|\*)\s*\d|\d\s*[-–~]\s*\d|\bper\b.*\bor\b|\d\s*(?:,|/|\bor\b|\band\b)\s*\d+\s*(?:b\b|m\b|layers)",
        head,
        re.I,
    ):
        return True
    lead = value[: found[0].start]
    if len(re.findall(r"\w+", lead)) > 2:
        return True
    return kind in _COUNTS and (found[0].value != int(found[0].value) or found[0].value > 1e6)
