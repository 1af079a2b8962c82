"""Whether a model splits over a number of ranks: `--tp N`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archscope.blocks.assembly import Tower
from archscope.blocks.attention import Attention
from archscope.blocks.latent_attention import LatentAttention
from archscope.blocks.mlp import Mlp
from archscope.blocks.moe import Experts
from archscope.config.quantization import Quantization, quantization
from archscope.diagnostics import Place, Severity
from archscope.rules.base import Context, Fails, Finding, Options, Passes, Rule
from archscope.structure import Placed, Structure


def in_text(placed: Placed) -> bool:
    """Whether a block belongs to the towers that are split: those of the text."""
    return all(block.is_main for block in placed.trail if isinstance(block, Tower))


def divisors(*numbers: int, most: int = 1024) -> list[int]:
    """The degrees up to `most` that divide all numbers."""
    return [n for n in range(1, min(min(numbers), most) + 1) if all(number % n == 0 for number in numbers)]


def listed(numbers: Sequence[int], most: int = 12) -> str:
    """Numbers with commas, cut after a dozen."""
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


class UnsplittableHeads(Rule[Structure]):
    """The attention heads do not divide by the tensor-parallel degree.

    ## What it checks
    With --tp N: query heads of every attention of the text against N, and key/value heads: N must divide them, or they N
    (then each is copied to several ranks).

    ## Why it matters
    Engines refuse to start ("total number of attention heads must be divisible by tensor parallel size").

    ## How to fix
    Choose one of the degrees that the help lists, or split by pipeline.

    ## References
    vllm config/model.py (verify_with_parallel_config).
    """

    name = "unsplittable-heads"
    severity = Severity.ERROR
    requires = ("indivisible-kv-heads",)
    cases = (
        Passes("llama", num_attention_heads=32, num_key_value_heads=8, options=Options(tensor_parallel=8)),
        Fails(
            "llama",
            hidden_size=6656,
            num_attention_heads=52,
            options=Options(tensor_parallel=8),
            at="/num_attention_heads",
            also=("unsplittable-width",),
        ),
        Fails(
            "llama",
            hidden_size=768,
            num_attention_heads=12,
            num_key_value_heads=3,
            options=Options(tensor_parallel=4),
            at="/num_key_value_heads",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        tp = ctx.options.tensor_parallel
        if not tp or tp < 2:
            return
        for placed in (*target.of_type(Attention), *target.of_type(LatentAttention)):
            block = placed.block
            if not in_text(placed) or not isinstance(block, Attention | LatentAttention):
                continue
            config = ctx.root.at(placed.pointer)
            heads = int(block.num_heads)
            kv = int(block.num_kv_heads) if isinstance(block, Attention) else heads
            if heads % tp:
                yield self._finding(ctx, config.pointer_of("num_attention_heads"), heads, kv, tp, "query heads")
            elif kv % tp and tp % kv:
                pointer = config.pointer_of("num_key_value_heads") or config.pointer_of("num_kv_heads")
                yield self._finding(ctx, pointer, heads, kv, tp, "key/value heads")

    def _finding(self, ctx: Context, pointer: str, heads: int, kv: int, tp: int, what: str) -> Finding:
        number = heads if what == "query heads" else kv
        fits = [n for n in divisors(heads) if kv % n == 0 or n % kv == 0]
        return Finding(
            f"{number} {what} do not split over {tp} ranks",
            ctx.place(pointer),
            help=f"possible degrees: {listed(fits)}",
        )


class CopiedKvHeads(Rule[Structure]):
    """There are fewer key/value heads than ranks.

    ## What it checks
    With --tp N: key/value heads below N that divide it.

    ## Why it matters
    Each is copied to several ranks: the cache per rank no longer shrinks as ranks are added. It works.

    ## How to fix
    Nothing to fix; know it when you budget memory.

    ## References
    vllm config/model.py (get_num_kv_heads: max(1, total // tp)).
    """

    name = "copied-kv-heads"
    severity = Severity.INFO
    requires = ("unsplittable-heads",)
    cases = (
        Passes("llama", num_attention_heads=32, num_key_value_heads=8, options=Options(tensor_parallel=8)),
        Fails(
            "llama",
            num_attention_heads=32,
            num_key_value_heads=2,
            options=Options(tensor_parallel=8),
            at="/num_key_value_heads",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        tp = ctx.options.tensor_parallel
        if not tp or tp < 2:
            return
        for placed in target.of_type(Attention):
            block = placed.block
            if isinstance(block, Attention) and in_text(placed) and block.num_kv_heads < tp and block.cache:
                config = ctx.root.at(placed.pointer)
                pointer = config.pointer_of("num_key_value_heads") or config.pointer_of("num_kv_heads")
                kv = int(block.num_kv_heads)
                yield Finding(
                    f"{kv} key/value heads on {tp} ranks: each is kept {tp // kv} times",
                    ctx.place(pointer or placed.pointer),
                )


class UnsplittableWidth(Rule[Structure]):
    """The width of a feed-forward block does not divide by the tensor-parallel degree.

    ## What it checks
    With --tp N: the width of every feed-forward block and expert of the text.

    ## Why it matters
    Engines cut gate, up and down along it, and refuse what does not divide.

    ## How to fix
    Choose a degree that divides it, or split experts whole (expert parallelism).

    ## References
    vllm model_executor/layers/linear.py (divide).
    """

    name = "unsplittable-width"
    severity = Severity.ERROR
    requires = ("out-of-range", "wrong-type")
    cases = (
        Passes("llama", intermediate_size=11008, options=Options(tensor_parallel=8)),
        Fails("llama", intermediate_size=11009, options=Options(tensor_parallel=8), at="/intermediate_size"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        tp = ctx.options.tensor_parallel
        if not tp or tp < 2:
            return
        for width, place in widths(target, ctx):
            if width % tp:
                yield Finding(
                    f"a feed-forward width of {width} does not split over {tp} ranks",
                    place,
                    help=f"possible degrees: {listed(divisors(width))}",
                )


def widths(structure: Structure, ctx: Context) -> Iterator[tuple[int, Place]]:
    """The width of every kind of feed-forward block of the text, with the place of its field."""
    for placed in (*structure.of_type(Mlp), *structure.of_type(Experts)):
        block = placed.block
        if isinstance(block, Mlp | Experts) and in_text(placed) and block.width > 0:
            config = ctx.root.at(placed.pointer)
            if isinstance(block, Mlp) and any(isinstance(around, Experts) for around in placed.trail):
                continue
            written = [config.pointer_of(name) for name in WIDTH_FIELDS if config.get(name) == block.width]
            pointer = next((one for one in written if one), "") or placed.pointer
            yield int(block.width), ctx.place(pointer)


WIDTH_FIELDS = ("moe_intermediate_size", "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "d_ff",
                "shared_expert_intermediate_size")  # fmt: skip


class UnsplittableVocabulary(Rule[Structure]):
    """The vocabulary does not divide by the tensor-parallel degree.

    ## What it checks
    With --tp N: rows of the token table against N.

    ## Why it matters
    Engines that do not pad the table refuse the model.

    ## How to fix
    Resize the table to the multiple of 64 that the help names, or use an engine that pads.

    ## References
    vllm model_executor/layers/vocab_parallel_embedding.py; text-generation-inference layers/tensor_parallel.py.
    """

    name = "unsplittable-vocabulary"
    severity = Severity.WARNING
    requires = ("out-of-range", "wrong-type")
    cases = (
        Passes("llama", vocab_size=32000, options=Options(tensor_parallel=8)),
        Fails("llama", vocab_size=32001, options=Options(tensor_parallel=2), at="/vocab_size"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        tp, main = ctx.options.tensor_parallel, target.architecture.main
        if not tp or tp < 2 or main is None:
            return
        config = ctx.root.at(main.pointer)
        rows = config.get("vocab_size")
        if isinstance(rows, int) and rows % tp:
            yield Finding(
                f"{rows} rows of the token table do not split over {tp} ranks",
                ctx.place(config.pointer_of("vocab_size") or main.pointer),
                help=f"the next multiple of 64 is {-(-rows // 64) * 64}; engines that pad the table need nothing",
            )


class UnsplittableQuantGroups(Rule[Structure]):
    """The groups or blocks of the quantisation do not fit the widths, or not the share of one rank.

    ## What it checks
    Group sizes (gptq, awq, ...) and blocks (fp8) against the inputs of the matrices that are split by rows: feed-forward and
    expert widths and the output projection of attention. With --tp N, against the share of each rank.

    ## Why it matters
    A scale belongs to a whole group: a rank that gets a part of one has no scale for it, and engines refuse.

    ## How to fix
    Another degree, a smaller group, or padded widths; the help lists the degrees that fit.

    ## References
    vllm model_executor/layers/quantization/gptq.py, fp8.py ("not divisible by weight quantization block").
    """

    name = "unsplittable-quant-groups"
    severity = Severity.ERROR
    requires = ("out-of-range", "wrong-type", "indivisible-kv-heads", "indivisible-hidden-size")
    cases = (
        Passes(
            "qwen2",
            hidden_size=8192,
            intermediate_size=29696,
            num_attention_heads=64,
            quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128},
            options=Options(tensor_parallel=2),
        ),
        Fails(
            "qwen2",
            hidden_size=8192,
            intermediate_size=29568,
            num_attention_heads=64,
            quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128},
            options=Options(tensor_parallel=2),
            at="/quantization_config/group_size",
        ),
        Fails(
            "llama",
            intermediate_size=11000,
            quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128},
            at="/quantization_config/group_size",
        ),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        declared = quantization(ctx.root)
        unit = None if declared is None else _unit(declared)
        if declared is None or unit is None:
            return
        size, pointer, what = unit
        tp = ctx.options.tensor_parallel or 1
        if tp == 1 and what == "block":
            return
        for width, place in self._inputs(target, ctx):
            if width % size and tp == 1:
                yield Finding(
                    f"{width} is not a multiple of the {what} size {size}", ctx.place(pointer), related=[place]
                )
            elif tp > 1 and (width % tp or (width // tp) % size):
                fits = [n for n in divisors(width) if (width // n) % size == 0]
                share = f"{width // tp}" if width % tp == 0 else f"{width / tp:g}"
                yield Finding(
                    f"{width} over {tp} ranks is {share}, no multiple of the {what} size {size}",
                    ctx.place(pointer),
                    related=[place],
                    help=f"degrees that fit: {listed(fits)}" if fits else f"use a {what} size that divides {width}",
                )

    def _inputs(self, target: Structure, ctx: Context) -> Iterator[tuple[int, Place]]:
        yield from widths(target, ctx)
        for placed in target.of_type(Attention):
            block = placed.block
            if isinstance(block, Attention) and in_text(placed):
                config = ctx.root.at(placed.pointer)
                pointer = config.pointer_of("hidden_size") or placed.pointer
                yield int(block.num_heads * block.v_head_dim), ctx.place(pointer)


def _unit(declared: Quantization) -> tuple[int, str, str] | None:
    if declared.block is not None and declared.block[1] > 1:
        return declared.block[1], declared.block_pointer, "block"
    if declared.group is not None and declared.group > 1:
        return declared.group, declared.group_pointer, "group"
    return None
