"""GIT: a post-norm decoder over the patches of CLIP's tower and the words after them."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Stack, Tower, post_add_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.projectors import projector
from archscope.blocks.skeletons import tied_names, vocabulary_head
from archscope.config import Config
from archscope.families.registry import family, tower


@family("git")
def git(c: Config) -> Architecture:
    """Patches see each other, words see the patches and the words before them; frames of a video get a vector each.

    Source: GIT (arXiv 2205.14100); transformers, models/git/modeling_git.py.
    """
    at = "" if c.task == "model" else "git."
    d, d_v = size(c, "hidden_size"), c.sub("vision_config").hidden_size
    frames = c.num_image_with_embedding
    marks = tuple(weight(f"{at}img_temporal_embedding.{index}", 1, 1, d_v) for index in range(frames or 0))
    bridge = projector(
        f"{at}visual_projection",
        d_v,
        d,
        linear("visual_projection.0", d_v, d, True),
        layer_norm("visual_projection.1", d, eps=c.sub("vision_config").layer_norm_eps),
    )
    seeing = tower(c.sub("vision_config"), f"{at}image_encoder", "vision")
    parts: tuple[Block, ...] = (seeing, *marks, bridge, _decoder(c, at.removesuffix(".")))
    if c.task == "model":
        return Architecture(parts=parts)
    table = "git.embeddings.word_embeddings.weight" if c.tie_word_embeddings else ""
    words = vocabulary_head(c, d, "output", bias=True, tied_to=table)
    partial = "" if c.model_class == "GitForCausalLM" else f"what {c.model_class} builds is not known"
    return Architecture(parts=(*parts, words), tied=tied_names(words, ""), partial=partial)


def _decoder(c: Config, name: str) -> Tower:
    d = size(c, "hidden_size")
    return Tower(
        name=name,
        parts=(
            embedding("embeddings.word_embeddings", size(c, "vocab_size"), d, role="embedding"),
            embedding(
                "embeddings.position_embeddings", size(c, "max_position_embeddings"), d, of="position", role="embedding"
            ),
            layer_norm("embeddings.LayerNorm", d, eps=c.layer_norm_eps),
            _layers(c),
        ),
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _layers(c: Config) -> Stack:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    ffn = mlp(c, kind="plain", name="", names=("intermediate.dense", "output.dense"), bias=True, role="ffn")
    return stack(
        "encoder.layer",
        ("",) * c.num_hidden_layers,
        lambda kind: post_add_norm(
            (_attention(c), layer_norm("attention.output.LayerNorm", d, eps=eps)),
            (ffn, layer_norm("output.LayerNorm", d, eps=eps)),
        ),
        width=d,
    )


def _attention(c: Config) -> Attention:
    d = size(c, "hidden_size")
    made = attention(
        c,
        name="attention",
        names=("self.query", "self.key", "self.value", "output.dense"),
        bias=True,
        num_kv_heads=c.num_attention_heads,
        head_dim=d // c.num_attention_heads,
        position="learned",
        fields=("num_attention_heads", "hidden_size"),
    )
    # The output matrix is hidden by hidden, whatever the heads add up to.
    return replace(made, parts=(*made.parts[:-1], linear("output.dense", d, d, True, role="o", fields=made.fields)))
