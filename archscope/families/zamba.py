"""The Zamba lineage: Mamba layers, and a few transformer blocks whose weights recur over the layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.attention import Attention, Position
from archscope.blocks.base import Block, group
from archscope.blocks.factories import attention, epsilon, mlp, named_norm, size
from archscope.blocks.leaves import linear, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.selective_scan import selective_scan
from archscope.blocks.shared_transformer import SharedTransformer
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.blocks.ssm import StateMixer, mamba2_mixer
from archscope.config import Config
from archscope.families.registry import family


@family("zamba")
def zamba(c: Config) -> Architecture:
    """Mamba-1 with heads; the first hybrid layer holds the transformer block that all of them use.

    Source: transformers, models/zamba/modeling_zamba.py (ZambaHybridLayer); arXiv 2405.16712.
    """
    state = c.mamba_d_state
    mixer = selective_scan(
        "mamba",
        size(c, "hidden_size"),
        inner=c.mamba_expand * c.hidden_size,
        state_size=state,
        rank=c.mamba_dt_rank,
        kernel=c.mamba_d_conv,
        bias=c.mamba_proj_bias,
        conv_bias=c.mamba_conv_bias,
        heads=c.n_mamba_heads,
        fields=("mamba_expand", "mamba_d_state", "mamba_dt_rank", "mamba_d_conv", "n_mamba_heads"),
    )
    return _decoder(c, mixer, "shared_transf", 1, lambda kind: (_attention(c), mlp(c, name="feed_forward")))


@family("zamba2")
def zamba2(c: Config) -> Architecture:
    """Mamba-2; num_mem_blocks transformer blocks in turn, with adapters of low rank for each layer that uses one.

    Source: transformers, models/zamba2/modeling_zamba2.py (Zamba2Model.get_layers, Zamba2MLP); arXiv 2411.15242.
    """
    mixer = mamba2_mixer(
        "mamba",
        size(c, "hidden_size"),
        inner=int(c.mamba_expand * c.hidden_size),
        num_heads=c.n_mamba_heads,
        head_dim=c.mamba_headdim,
        state_size=c.mamba_d_state,
        num_groups=c.mamba_ngroups,
        kernel=c.mamba_d_conv,
        bias=c.add_bias_linear,
        conv_bias=True,
        fields=("mamba_expand", "n_mamba_heads", "mamba_d_state", "mamba_ngroups", "mamba_d_conv"),
    )
    return _decoder(
        c, mixer, "shared_transformer", c.num_mem_blocks, lambda block: (_adapted(c, block), _wide(c, block))
    )


def _decoder(
    c: Config, mixer: StateMixer, name: str, blocks: int, made: Callable[[int], tuple[Block, Block]]
) -> Architecture:
    """Layers by layers_block_type; hybrid layer k uses the weights of hybrid layer k mod `blocks`.

    transformers shares these, too, only where tie_word_embeddings is true.
    """
    d, norm = size(c, "hidden_size"), named_norm(c)
    hybrids = [i for i, kind in enumerate(c.layers_block_type) if kind == "hybrid"]
    numbers = {i: k for k, i in enumerate(hybrids)}
    at = "layers" if c.task == "model" else "model.layers"

    def kind_of(layer: int) -> tuple[str, int, str]:
        if layer not in numbers:
            return ("mamba", 0, "")
        block = numbers[layer] % blocks
        own = numbers[layer] < blocks or not c.tie_word_embeddings
        return ("hybrid", block, "" if own else f"{at}.{hybrids[block]}.{name}")

    def layer(kind: tuple[str, int, str]) -> tuple[Sublayer, ...]:
        if kind[0] == "mamba":
            return (Sublayer(branches=(Branch(pre=norm("input_layernorm"), body=mixer),)),)
        mixed, ffn = made(kind[1])
        parts = (
            rms_norm("input_layernorm", size(c, "attention_hidden_size"), role="norm", eps=epsilon(c)),
            replace(mixed, role="attention"),
            replace(norm("pre_ff_layernorm"), role="ffn_norm"),
            replace(ffn, role="ffn"),
        )
        shared = SharedTransformer(name=name, hidden=d, parts=parts, tied_to=kind[2])
        inner = replace(mixer, name="mamba_decoder.mamba")
        return (
            Sublayer(branches=(Branch(body=shared, post=linear("linear", d, d)),)),
            Sublayer(branches=(Branch(pre=norm("mamba_decoder.input_layernorm"), body=inner),)),
        )

    kinds = tuple(kind_of(i) for i in range(len(c.layers_block_type)))
    return with_head(c, decoder(c, layer, kinds=kinds, final_norm=norm("final_layernorm")))


def _attention(c: Config, *extras: Block, rotates: bool = False) -> Attention:
    """From the width of hidden states and embeddings together back to that of the hidden states."""
    wide, width = size(c, "attention_hidden_size"), Size(c.attention_head_dim, "d_h")
    position: Position = "rope" if rotates else "none"
    scale = (c.attention_head_dim / 2) ** -0.5
    mixed = attention(c, hidden=wide, head_dim=width, position=position, scale=scale, extras=extras)
    out = linear("o_proj", mixed.num_heads * width, size(c, "hidden_size"), role="o", fields=mixed.fields)
    return replace(mixed, parts=(*mixed.parts[:-1], out))


def _adapted(c: Config, block: int) -> Attention:
    """Adapters on queries, keys and values, where use_shared_attention_adapter is true."""
    if not c.use_shared_attention_adapter:
        return _attention(c, rotates=c.use_mem_rope)
    wide = size(c, "attention_hidden_size")
    adapters = (_adapters(c, f"linear_{stream}_adapter_list", block, wide, wide) for stream in "qkv")
    return _attention(c, *(one for of_stream in adapters for one in of_stream), rotates=c.use_mem_rope)


def _wide(c: Config, block: int) -> Mlp:
    d, m = size(c, "hidden_size"), size(c, "intermediate_size")
    made = mlp(c, name="feed_forward", kind="fused", bias=c.add_bias_linear)
    return replace(made, parts=(*made.parts, *_adapters(c, "gate_up_proj_adapter_list", block, d, 2 * m)))


def _adapters(c: Config, name: str, block: int, inputs: int, outputs: int) -> tuple[Block, ...]:
    """Two matrices of low rank for each hybrid layer that uses this block."""
    rank = Size(c.adapter_rank, "r")
    return tuple(
        group(f"{name}.{i}", linear("0", inputs, rank), linear("1", rank, outputs), role="adapter")
        for i in range(len(c.hybrid_layer_ids))
        if i % c.num_mem_blocks == block
    )
