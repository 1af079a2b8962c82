"""HyperCLOVA X: Llama's layer with four multipliers and, optionally, norms after the sublayers."""

from __future__ import annotations

from archscope.blocks.assembly import Architecture, Branch, Sublayer
from archscope.blocks.factories import attention, mlp, named_norm
from archscope.blocks.skeletons import decoder, with_head
from archscope.config import Config
from archscope.families.registry import family


@family("hyperclovax")
def hyperclovax(c: Config) -> Architecture:
    """Layers of x + scale * post(sublayer(norm(x))), the post norms only where use_post_norm is true.

    Source: transformers, models/hyperclovax/modeling_hyperclovax.py (HyperCLOVAXDecoderLayer).
    """
    norm = named_norm(c)

    def layer(kind: object) -> tuple[Sublayer, ...]:
        bodies = (attention(c, bias=c.attention_bias, scale=c.attention_multiplier), mlp(c, bias=c.mlp_bias))
        names = (("input_layernorm", "post_norm1"), ("post_attention_layernorm", "post_norm2"))
        return tuple(
            Sublayer(
                branches=(
                    Branch(
                        pre=norm(pre),
                        body=body,
                        post=norm(post) if c.use_post_norm else None,
                        scale=c.residual_multiplier,
                    ),
                )
            )
            for body, (pre, post) in zip(bodies, names, strict=True)
        )

    return with_head(c, decoder(c, layer, final_norm=norm("norm"), embed_scale=c.embedding_multiplier))
