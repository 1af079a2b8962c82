"""xLSTM: layers of a matrix LSTM and a gated MLP."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, pre_norm
from archscope.blocks.factories import mlp, size
from archscope.blocks.leaves import Norm, embedding, rms_norm
from archscope.blocks.mlp import Mlp
from archscope.blocks.mlstm import mlstm
from archscope.blocks.size import Size
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("xlstm")
def xlstm(c: Config) -> Architecture:
    """Pre-norm layers whose widths are shares of the hidden size; weight_mode fuses matrices; the head is never tied.

    Source: transformers, models/xlstm/modeling_xlstm.py (xLSTMBlock); arXiv 2503.13427.
    """
    d, eps = size(c, "hidden_size"), c.norm_eps

    def norm(name: str) -> Norm:
        return Norm(name=name, size=d, kind="rms", bias=bool(c.use_bias), eps=eps)

    mixer = mlstm(
        "mlstm_layer",
        d,
        num_heads=c.num_heads,
        qk_width=int(c.hidden_size * c.qk_dim_factor),
        v_width=int(c.hidden_size * c.v_dim_factor),
        bias=c.use_bias,
        fused=c.weight_mode == "fused",
        eps=eps,
        fields=("num_heads", "qk_dim_factor", "v_dim_factor"),
    )
    tower = decoder(
        c,
        lambda kind: pre_norm((norm("norm_mlstm"), mixer), (norm("norm_ffn"), _mlp(c))),
        kinds=("",) * c.num_blocks,
        embed="embeddings",
        layers="blocks",
        final_norm=rms_norm("out_norm", d, eps=eps),
    )
    # A file may set embedding_dim apart from hidden_size; the table follows the first, the layers the second.
    table = embedding("embeddings", size(c, "vocab_size"), size(c, "embedding_dim"), role="embedding")
    tower = replace(tower, parts=(table, *tower.parts[1:]))
    return with_head(c, tower, prefix="backbone", token_table="embeddings", tie=False)


def _mlp(c: Config) -> Mlp:
    """Rounded up to a multiple."""
    multiple = c.ffn_round_up_to_multiple_of
    width = Size(int((c.hidden_size * c.ffn_proj_factor + multiple - 1) // multiple * multiple), "m")
    fields = ("ffn_proj_factor", "ffn_round_up_to_multiple_of")
    fused = c.weight_mode == "fused"
    return mlp(
        c,
        name="ffn",
        kind="fused" if fused else "gated",
        names=("proj_up_gate_z", "proj_down") if fused else ("proj_up_gate", "proj_up", "proj_down"),
        bias=c.use_bias,
        width=width,
        activation="silu",
        fields=fields,
    )
