"""OPT: learned positions, norms before or after, embeddings narrower than the layers in one model."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Sublayer, Tower, post_add_norm, pre_norm, stack
from archscope.blocks.base import Block, present
from archscope.blocks.factories import attention, mlp, num_labels, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, vocabulary_head, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("opt")
def opt(c: Config) -> Architecture:
    """word_embed_proj_dim other than hidden_size puts a matrix before and one after the layers.

    Source: transformers, models/opt/modeling_opt.py (OPTDecoder, OPTDecoderLayer).
    """
    narrow = Size(c.word_embed_proj_dim, "d_word")
    table = "model.decoder.embed_tokens.weight" if c.tie_word_embeddings else ""
    heads: dict[str, tuple[Block, ...]] = {
        "causal_lm": (vocabulary_head(c, narrow, tied_to=table),),
        "sequence_classification": (
            head("sequence_classification", linear("score", narrow, num_labels(c), role="logits")),
        ),
        "question_answering": (head("question_answering", linear("qa_outputs", narrow, 2, True, role="logits")),),
    }
    return with_head(c, _tower(c, narrow), prefix="model.decoder", heads=heads)


def _tower(c: Config, narrow: Size) -> Tower:
    d, affine, before = size(c, "hidden_size"), c.layer_norm_elementwise_affine, c.do_layer_norm_before
    projects = narrow != d

    def layer(kind: object) -> tuple[Sublayer, ...]:
        heads = c.num_attention_heads
        mixer = attention(
            c,
            names=("q_proj", "k_proj", "v_proj", "out_proj"),
            bias=c.enable_bias,
            num_kv_heads=heads,
            head_dim=d // heads,
            position="learned",
        )
        ffn = mlp(c, name="", kind="plain", bias=c.enable_bias, width=Size(c.ffn_dim, "m"))
        first, last = (layer_norm(n, d, affine=affine) for n in ("self_attn_layer_norm", "final_layer_norm"))
        return pre_norm((first, mixer), (last, ffn)) if before else post_add_norm((mixer, first), (ffn, last))

    # The table of positions starts at 2.
    positions = Size(c.max_position_embeddings + 2, "P + 2")
    parts = present(
        embedding("embed_tokens", size(c, "vocab_size"), narrow, role="embedding", fields=("vocab_size",)),
        embedding("embed_positions", positions, d, of="position", role="side positions" if projects else "embedding"),
        linear("project_in", narrow, d) if projects else None,
        stack("layers", ("",) * c.num_hidden_layers, layer, width=d),
        layer_norm("final_layer_norm", d, affine=affine) if before and not c._remove_final_layer_norm else None,
        linear("project_out", d, narrow) if projects else None,
    )
    return Tower(name="decoder", parts=parts, model_type=c.model_type, pointer=c.pointer, width=d)
