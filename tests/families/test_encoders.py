"""What tensors do not show of encoders and encoder-decoders: windows, sharing over the depth, caches, experts, ties."""

from __future__ import annotations

from typing import Any

import pytest

import archscope
from archscope.blocks.assembly import Layer, Stack, Tower
from archscope.blocks.attention import Attention
from archscope.blocks.mixed_attention import MergedAttention, MixedAttention
from archscope.blocks.moe import Experts


def made(model_type: str, **fields: Any) -> archscope.Model:
    return archscope.load({"model_type": model_type, **fields})


def attentions(model: archscope.Model) -> list[Attention]:
    assert model.structure is not None
    return [at.block for at in model.structure.of_type(Attention) if isinstance(at.block, Attention)]


def towers(model: archscope.Model) -> dict[str, Tower]:
    assert model.structure is not None
    return {tower.tower: tower for tower in model.structure.architecture.towers}


@pytest.mark.parametrize("model_type", ["bert", "roberta", "electra", "megatron-bert", "esm", "nomic_bert", "eurobert"])
def test_encoders_look_both_ways_and_keep_no_cache(model_type: str) -> None:
    fields = {"vocab_size": 33, "pad_token_id": 1} if model_type == "esm" else {}
    found = attentions(made(model_type, architectures=["none"], **fields))
    assert found
    assert all(not one.causal and not one.cache for one in found)


def test_bert_as_a_decoder_is_causal_and_reads_a_memory() -> None:
    model = made("bert", is_decoder=True, add_cross_attention=True, architectures=["BertLMHeadModel"])
    own, cross = attentions(model)
    assert (own.causal, own.cache, own.is_cross) == (True, True, False)
    assert (cross.causal, cross.cache, cross.is_cross) == (False, True, True)
    assert cross.position == "none"


def test_albert_passes_one_layer_at_every_depth() -> None:
    model = made("albert", num_hidden_layers=12, num_hidden_groups=1)
    assert model.structure is not None
    layers = [at.block for at in model.structure.of_type(Layer)]
    assert [layer.passes for layer in layers if isinstance(layer, Layer)] == [12]


def test_albert_shares_depths_among_groups() -> None:
    model = made("albert", num_hidden_layers=7, num_hidden_groups=2)
    assert model.structure is not None
    (stack,) = (at.block for at in model.structure.of_type(Stack))
    assert isinstance(stack, Stack)
    assert sorted(layer.passes for layer in stack.layers if isinstance(layer, Layer)) == [3, 4]


def test_funnel_counts_block_repeats_as_passes() -> None:
    model = made("funnel", block_sizes=[1, 2], block_repeats=[1, 3], num_decoder_layers=1)
    assert model.structure is not None
    layers = [at for at in model.structure.of_type(Layer) if isinstance(at.block, Layer)]
    assert {at.path: at.block.passes for at in layers if "blocks" in at.path} == {
        "funnel.encoder.blocks.0.0": 1,
        "funnel.encoder.blocks.1.0-1": 3,
    }


def test_longformer_has_a_window_per_layer() -> None:
    model = made("longformer", num_hidden_layers=3, attention_window=[64, 64, 512])
    assert [one.window for one in attentions(model)] == [64, 512]


def test_longformer_with_too_few_windows_cannot_be_built() -> None:
    model = made("longformer", num_hidden_layers=3, attention_window=[64, 64])
    assert model.structure is None
    assert [one.rule for one in model.check() if "attention_window" in one.message]


def test_modernbert_sees_all_in_every_third_layer() -> None:
    found = attentions(made("modernbert", num_hidden_layers=6, local_attention=128))
    assert {one.window for one in found} == {None, 128}
    bases = {one.window: one.rope.theta for one in found if one.rope is not None}
    assert bases == {None: 160_000.0, 128: 10_000.0}


def test_modernbert_decoder_sees_half_of_the_window() -> None:
    found = attentions(made("modernbert-decoder", num_hidden_layers=6, local_attention=128))
    assert {one.window for one in found} == {None, 64}
    assert all(one.causal for one in found)


def test_big_bird_sees_a_few_blocks_unless_it_is_full() -> None:
    sparse = attentions(made("big_bird", attention_type="block_sparse", block_size=64, num_random_blocks=3))
    full = attentions(made("big_bird", attention_type="original_full"))
    assert [one.window for one in sparse] == [8 * 64]
    assert [one.window for one in full] == [None]


def test_convbert_halves_its_heads() -> None:
    (block,) = attentions(made("convbert", num_attention_heads=12, head_ratio=2, hidden_size=768))
    assert isinstance(block, MixedAttention)
    assert (block.num_heads, block.head_dim, block.kernel) == (6, 64, 9)


@pytest.mark.parametrize(
    ("model_type", "name"),
    [
        ("bart", "BartModel"),
        ("pegasus", "PegasusModel"),
        ("m2m_100", "M2M100Model"),
        ("marian", "MarianModel"),
        ("t5", "T5Model"),
        ("prophetnet", "ProphetNetModel"),
        ("t5gemma", "T5GemmaModel"),
    ],
)
def test_only_the_decoder_keeps_a_cache(model_type: str, name: str) -> None:
    sides = towers(made(model_type, architectures=[name]))
    assert set(sides) == {"encoder", "decoder"}
    for role, tower in sides.items():
        kept = {one.cache for one in _inside(tower)}
        assert kept == {role == "decoder"}


def _inside(tower: Tower) -> list[Attention]:
    blocks: list[Any] = [tower]
    found = []
    while blocks:
        block = blocks.pop()
        found += [block] if isinstance(block, Attention) else []
        blocks.extend(block.children())
    return found


def test_t5_does_not_scale_its_scores() -> None:
    assert {one.scale for one in attentions(made("t5"))} == {1.0}


def test_t5_buckets_are_in_the_first_layer_and_umt5_has_them_in_all() -> None:
    buckets = {kind: sum("relative_attention_bias" in name for name in made(kind).tensors()) for kind in ("t5", "umt5")}
    assert buckets == {"t5": 2, "umt5": 16}


def test_longt5_sees_a_radius_either_way() -> None:
    local = [one for one in attentions(made("longt5", local_radius=127)) if one.window is not None]
    assert {one.window for one in local} == {255}


def test_t5gemma2_merges_both_attentions_into_one() -> None:
    found = attentions(made("t5gemma2"))
    assert any(isinstance(one, MergedAttention) and one.causal for one in found)
    assert not any(one.is_cross for one in found)


@pytest.mark.parametrize(("model_type", "active"), [("switch_transformers", 1), ("nllb-moe", 2)])
def test_experts_per_token(model_type: str, active: int) -> None:
    model = made(model_type)
    assert model.structure is not None
    assert {at.block.active for at in model.structure.of_type(Experts) if isinstance(at.block, Experts)} == {active}
    assert model.parameters is not None
    assert model.parameters.active < model.parameters.total


def test_xmod_uses_one_adapter_at_a_time() -> None:
    one, three = (made("xmod", languages=list(names)) for names in (["a"], ["a", "b", "c"]))
    assert one.parameters is not None
    assert three.parameters is not None
    assert three.parameters.total > one.parameters.total
    assert three.parameters.active == one.parameters.active


def test_integer_copies_are_no_parameters() -> None:
    model, plain = made("ibert"), made("roberta", vocab_size=30522, architectures=["RobertaForMaskedLM"])
    assert model.parameters is not None
    assert plain.parameters is not None
    assert model.parameters.total == plain.parameters.total
    assert model.parameters.buffers > 80_000_000


def test_saved_bias_over_the_logits_is_a_buffer() -> None:
    tensors = made("bart", architectures=["BartForConditionalGeneration"]).tensors()
    assert not tensors["final_logits_bias"].parameter


def test_tied_bias_is_named_beside_the_table() -> None:
    model = made("bert", architectures=["BertForMaskedLM"])
    assert model.structure is not None
    assert dict(model.structure.ties) == {
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    }


def test_a_decoder_of_another_type_keeps_its_ties_below_its_place() -> None:
    decoder = {"model_type": "bert", "is_decoder": True, "add_cross_attention": True}
    model = made("encoder-decoder", encoder={"model_type": "roberta"}, decoder=decoder)
    assert model.structure is not None
    assert "decoder.cls.predictions.bias" in model.tensors()
    table = "decoder.bert.embeddings.word_embeddings.weight"
    assert ("decoder.cls.predictions.decoder.weight", table) in model.structure.ties


def test_lists_side_by_side_are_found_by_their_saved_names() -> None:
    model = made("flaubert", n_layers=3)
    assert model.structure is not None
    assert "transformer.attentions.2.q_lin.weight" in model.tensors()
    assert model.structure.find("transformer.attentions.2.q_lin") is not None
    assert model.structure.find("transformer.attentions.3.q_lin") is None


def test_ten_thousand_layers_are_kept_by_kind() -> None:
    model = made("bert", num_hidden_layers=10_000)
    assert model.structure is not None
    assert len(model.structure.blocks()) < 100


@pytest.mark.parametrize(
    ("model_type", "fields"),
    [
        ("dpr", {"architectures": ["DPRPretrainedReader"]}),
        ("esm", {"architectures": ["EsmForProteinFolding"], "vocab_size": 33}),
        ("fnet", {"use_tpu_fourier_optimizations": True}),
    ],
)
def test_what_is_not_known_is_not_called_exact(model_type: str, fields: dict[str, Any]) -> None:
    assert made(model_type, **fields).fidelity == "inferred"
