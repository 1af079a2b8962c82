"""BLIP and its successors: a ViT whose patches a text model, or a Q-Former before a language model, attends to."""

from __future__ import annotations

from dataclasses import replace

from archscope.blocks.assembly import Architecture, Head, Stack, Sublayer, Tower, post_add_norm, stack
from archscope.blocks.attention import Attention
from archscope.blocks.base import Block, weight
from archscope.blocks.factories import attention, mlp, size
from archscope.blocks.leaves import embedding, layer_norm, linear
from archscope.blocks.patches import class_token, patch_embedding, position_weight, sides
from archscope.blocks.projectors import projector
from archscope.blocks.size import Size
from archscope.blocks.skeletons import head, tied_names
from archscope.blocks.towers import feed_forward, layers, square_attention, tower_model
from archscope.config import Config
from archscope.families.registry import family, mounted, tower


@family("blip_vision_model", "blip_2_vision_model", "instructblip_vision_model", "instructblipvideo_vision_model")
def blip_vision(c: Config) -> Architecture:
    """A ViT with one matrix for queries, keys and values, and a last norm.

    Source: transformers, models/blip/modeling_blip.py (BlipVisionModel), models/blip_2/modeling_blip_2.py.
    """
    d, positions, eps = size(c, "hidden_size"), (c.image_size // c.patch_size) ** 2 + 1, c.layer_norm_eps
    patches = patch_embedding(
        "embeddings",
        3,
        d,
        sides(c.patch_size),
        token=class_token("class_embedding", 1, 1, d),
        positions=positions,
        position=position_weight("position_embedding", 1, positions, d),
    )
    bias = bool(c.get("qkv_bias", True))
    attend = square_attention(
        d, c.num_attention_heads, names=("", "", "", "projection"), fused="qkv", bias=bias, out_bias=True
    )
    ffn = feed_forward(c, d, size(c, "intermediate_size"))
    return tower_model(
        c,
        d,
        patches,
        layers("encoder.layers", c.num_hidden_layers, d, attend, ffn, eps=eps),
        layer_norm("post_layernorm", d, eps=eps),
        classes=CLASSES,
    )


CLASSES = ("BlipVisionModel", "Blip2VisionModel", "InstructBlipVisionModel", "InstructBlipVideoVisionModel")


@family("blip_text_model")
def blip_text(c: Config) -> Architecture:
    """BERT, which attends to the patches where is_decoder is true; BlipTextLMHeadModel has a head over words.

    Source: transformers, models/blip/modeling_blip_text.py.
    """
    if c.model_class == "BlipTextLMHeadModel":
        return _whole((_text(c, "bert"), _words(c, "", bool(c.tie_word_embeddings))))
    known = c.task == "model" or c.model_class in ("", "BlipTextModel")
    return Architecture(
        parts=(_text(c, "", pooler=True),), partial="" if known else f"what {c.model_class} builds is not known"
    )


@family("blip")
def blip(c: Config) -> Architecture:
    """Captions, answers, or two projections into one space, by the class.

    Source: BLIP (arXiv 2201.12086); transformers, models/blip/modeling_blip.py.
    """
    text, vision = c.sub("text_config"), c.sub("vision_config")
    seeing, tied = tower(vision, "vision_model", "vision"), bool(c.tie_word_embeddings or text.tie_word_embeddings)
    writing = (_text(text, "text_decoder.bert"), _words(text, "text_decoder.", tied))
    d, d_v = text.hidden_size, vision.hidden_size
    by_class: dict[str, tuple[Block, ...]] = {
        "BlipForConditionalGeneration": (seeing, *writing),
        "BlipForQuestionAnswering": (seeing, _text(text, "text_encoder", role="encoder"), *writing),
        "BlipForImageTextRetrieval": (
            seeing,
            _text(text, "text_encoder", role="encoder"),
            linear("vision_proj", d_v, c.image_text_hidden_size, True),
            linear("text_proj", d, c.image_text_hidden_size, True),
            head("retrieval", linear("itm_head", d, 2, True)),
        ),
        "BlipModel": (
            seeing,
            _text(text, "text_model", pooler=True, role="encoder"),
            linear("visual_projection", d_v, c.projection_dim),
            linear("text_projection", d, c.projection_dim),
            weight("logit_scale"),
        ),
    }
    return _chosen(c, by_class)


@family("blip-2")
def blip2(c: Config) -> Architecture:
    """Learned queries that a Q-Former fills from the patches, projected into a language model of any type.

    Source: BLIP-2 (arXiv 2301.12597); transformers, models/blip_2/modeling_blip_2.py.
    """
    inner, shared = c.sub("qformer_config"), c.image_text_hidden_size
    d, seeing, filling = inner.hidden_size, tower(c.sub("vision_config"), "vision_model", "vision"), _queries(c)
    reading = (
        embedding("embeddings.word_embeddings", inner.vocab_size, d),
        embedding("embeddings.position_embeddings", inner.max_position_embeddings, d, of="position"),
    )
    over_text, over_image = (linear(f"{name}_projection", d, shared, True) for name in ("text", "vision"))
    matched = head("retrieval", linear("itm_head", d, 2, True))
    whole = (seeing, *filling, _bridge(c), *_language(c))
    by_class: dict[str, tuple[Block, ...]] = {
        "Blip2ForConditionalGeneration": whole,
        "Blip2Model": whole,
        "Blip2TextModelWithProjection": (*reading, *filling, over_text),
        "Blip2VisionModelWithProjection": (seeing, *filling, over_image),
        "Blip2ForImageTextRetrieval": (seeing, *reading, *filling, over_image, over_text, matched),
    }
    return _chosen(c, by_class)


@family("instructblip", "instructblipvideo")
def instructblip(c: Config) -> Architecture:
    """BLIP-2 whose Q-Former reads the instruction too.

    Source: InstructBLIP (arXiv 2305.06500); transformers, models/instructblip/modeling_instructblip.py.
    """
    seeing = tower(c.sub("vision_config"), "vision_model", "vision")
    if c.task == "model":
        text = tower(c.sub("text_config"), "language_model")
        return Architecture(parts=(seeing, *_queries(c), _bridge(c), text))
    parts = (seeing, *_queries(c), _bridge(c), *_language(c))
    return _chosen(c, dict.fromkeys(GENERATIVE, parts))


GENERATIVE = ("InstructBlipForConditionalGeneration", "InstructBlipVideoForConditionalGeneration")


def _chosen(c: Config, by_class: dict[str, tuple[Block, ...]]) -> Architecture:
    parts = by_class.get(c.model_class)
    if parts is None:
        return Architecture(parts=next(iter(by_class.values())), partial=f"what {c.model_class} builds is not known")
    return _whole(parts)


def _whole(parts: tuple[Block, ...]) -> Architecture:
    return Architecture(parts=parts, tied=tuple(pair for part in parts for pair in tied_names(part, "")))


def _queries(c: Config) -> tuple[Block, ...]:
    inner = c.sub("qformer_config")
    queries = weight("query_tokens", 1, c.num_query_tokens, inner.hidden_size)
    return (queries, tower(inner, "qformer", "other"))


def _bridge(c: Config) -> Block:
    d, out = c.sub("qformer_config").hidden_size, Size(c.sub("text_config").hidden_size, "d_text")
    return projector("language_projection", d, out, linear("", d, out, True))


def _language(c: Config) -> tuple[Block, ...]:
    """The language model, head and all: a decoder, or an encoder-decoder."""
    task = "causal_lm" if c.use_decoder_only_language_model else "seq_to_seq_causal_lm"
    return mounted(c.sub("text_config").as_task(task), "language_model")


def _text(c: Config, name: str, *, pooler: bool = False, role: str = "text") -> Tower:
    """BERT's tables and layers."""
    d, eps = size(c, "hidden_size"), c.layer_norm_eps
    positions = size(c, "max_position_embeddings")
    pooled = (linear("pooler.dense", d, d, True, role="pooler"),) if pooler else ()
    return Tower(
        name=name,
        parts=(
            embedding("embeddings.word_embeddings", size(c, "vocab_size"), d, role="embedding"),
            embedding("embeddings.position_embeddings", positions, d, of="position", role="embedding"),
            layer_norm("embeddings.LayerNorm", d, eps=eps),
            _text_layers(c),
            *pooled,
        ),
        tower="encoder" if role == "encoder" else "text",
        model_type=c.model_type,
        pointer=c.pointer,
        width=d,
    )


def _text_layers(c: Config) -> Stack:
    d, eps = size(c, "hidden_size"), c.layer_norm_eps

    def layer(kind: object) -> tuple[Sublayer, ...]:
        own = (_attention(c, "attention"), layer_norm("attention.output.LayerNorm", d, eps=eps))
        other = (_attention(c, "crossattention"), layer_norm("crossattention.output.LayerNorm", d, eps=eps))
        names = ("intermediate.dense", "output.dense")
        last = (mlp(c, kind="plain", name="", names=names, bias=True), layer_norm("output.LayerNorm", d, eps=eps))
        return post_add_norm(own, other, last) if c.is_decoder else post_add_norm(own, last)

    return stack("encoder.layer", ("",) * c.num_hidden_layers, layer, width=d)


def _attention(c: Config, name: str) -> Attention:
    """Dense attention; across, its keys and values come from the patches."""
    d, crosses = size(c, "hidden_size"), name.startswith("cross")
    made = attention(
        c,
        name=name,
        names=("self.query", "self.key", "self.value", "output.dense"),
        bias=True,
        num_kv_heads=c.num_attention_heads,
        head_dim=d // c.num_attention_heads,
        memory=c.encoder_hidden_size if crosses else None,
        causal=bool(c.is_decoder) and not crosses,
        cache=bool(c.is_decoder),
        position="none" if crosses else "learned",
        fields=("num_attention_heads", "hidden_size"),
    )
    # The output matrix is hidden by hidden, whatever the heads add up to.
    return replace(made, parts=(*made.parts[:-1], linear("output.dense", d, d, True, role="o", fields=made.fields)))


def _words(c: Config, at: str, tied: bool) -> Head:
    """BERT's head over words: its matrix is the table where tied, its bias a tensor of its own."""
    d, vocabulary, name = size(c, "hidden_size"), size(c, "vocab_size"), f"{at}cls.predictions"
    table = f"{at}bert.embeddings.word_embeddings.weight"
    return head(
        "causal_lm",
        linear(f"{name}.transform.dense", d, d, True),
        layer_norm(f"{name}.transform.LayerNorm", d, eps=c.layer_norm_eps),
        linear(f"{name}.decoder", d, vocabulary, not tied, role="logits", tied_to=table if tied else ""),
        weight(f"{name}.bias", vocabulary),
    )
