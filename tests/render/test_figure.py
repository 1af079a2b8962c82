"""What figures say: counts, sums, names and places."""

from __future__ import annotations

import pytest

from archscope.blocks.assembly import Stack
from archscope.engine import load
from archscope.errors import RenderError
from archscope.render.compose import compose
from archscope.render.compose.header import name_of
from archscope.render.figure import Figure, Node, Slot
from archscope.render.layout.scene import Group
from archscope.source import document_of_value
from tests.render import measure
from tests.render.drawings import SAMPLES, TYPES, drawn, model_of, sample


@pytest.mark.parametrize("name", [*SAMPLES, *TYPES])
def test_adds_are_sublayers(name: str) -> None:
    figure, scene, _ = drawn(name)
    wanted = sum(step.residual or len(step.branches) == 2 for frame in figure.frames() for step in frame.steps)
    sums = [shape for shape in measure.walk(scene.shapes) if isinstance(shape, Group) and shape.name == "sum"]
    assert len(sums) == wanted


@pytest.mark.parametrize("name", [*SAMPLES, *TYPES])
def test_frames_hold_all_layers(name: str) -> None:
    figure, _, _ = drawn(name)
    model = sample(name) if name in SAMPLES else model_of(name)
    assert model.structure is not None
    drawn_layers = sum(frame.count for frame in figure.frames())
    stacks = [at.block for at in model.structure.blocks() if isinstance(at.block, Stack)]
    assert drawn_layers in {sum(map(len, some)) for some in (stacks, stacks[:1], stacks[1:], stacks[-1:])}


@pytest.mark.parametrize("name", [*SAMPLES, *TYPES])
def test_segments_add_up_to_the_total(name: str) -> None:
    figure, _, _ = drawn(name)
    model = sample(name) if name in SAMPLES else model_of(name)
    assert model.parameters is not None
    totals = [model.parameters.total, model.parameters.active]
    for bar, total in zip(figure.bars, totals, strict=False):
        assert bar.total == total
        assert sum(segment.value for segment in bar.segments) == total


def test_every_node_has_an_id_of_its_own() -> None:
    for name in SAMPLES:
        figure = drawn(name)[0]
        ids = [node.id for node in figure.stack_nodes()]
        ids += [cell.node.id for panel in figure.panels for cell in panel.cells]
        ids += [node.id for panel in figure.panels for step in panel.chain for node in step]
        assert len(set(ids)) == len(ids)


def _slots(figure: Figure) -> list[Slot]:
    return [
        item
        for frame in figure.frames()
        for step in frame.steps
        for branch in step.branches
        for item in branch
        if isinstance(item, Slot)
    ]


def test_layers_that_differ_in_reach_share_a_slot_and_a_panel() -> None:
    figure = drawn("gemma-3-27b")[0]
    (slot,) = _slots(figure)
    assert [node.name for node in slot.nodes] == ["Sliding-window attention", "Full attention"]
    assert slot.chips == ("52 layers", "10 layers")
    assert slot.caption[0] == "one of, by layer: 5 sliding, then 1 full"
    (attention,) = [panel for panel in figure.panels if panel.kind == "attn"]
    assert attention.title[0] == "Attention, both kinds"
    assert set(attention.opens) == {node.id for node in slot.nodes}
    assert figure.strips[0].text == "10 × [5 sliding · 1 full] then 2 × sliding"


def test_dense_layers_before_experts() -> None:
    figure = drawn("deepseek-v3")[0]
    (slot,) = _slots(figure)
    assert list(zip((node.name for node in slot.nodes), slot.chips, strict=True)) == [
        ("SwiGLU feed-forward", "layers 0–2"),
        ("Mixture of experts", "layers 3–60"),
    ]
    assert [panel.title[0] for panel in figure.panels][1:] == ["Mixture of experts", "Multi-head latent attention"]
    assert figure.panels[0].link == "from_stack"


def test_encoder_and_decoder_stand_side_by_side() -> None:
    figure = drawn("t5-small")[0]
    assert [column.label for column in figure.columns] == ["Encoder", "Decoder"]
    (crossing,) = figure.crossings
    assert crossing.target == "decoder.block.0-5.layer.1.EncDecAttention"


def test_parallel_branches() -> None:
    figure = drawn("falcon")[0]
    (frame,) = figure.frames()
    (step,) = frame.steps
    assert len(step.branches) == 2
    assert len(step.before) == 1


def test_layers_with_unlike_skeletons_have_frames_of_their_own() -> None:
    figure = drawn("zamba2")[0]
    assert sorted(frame.count for frame in figure.frames()) == [9, 45]
    assert sum(figure.strips[0].rows[0].counts()) == 54


def test_a_slot_between_parallel_branches_becomes_one_node() -> None:
    figure = drawn("cohere2")[0]
    (frame,) = figure.frames()
    node = frame.steps[0].branches[0][0]
    assert isinstance(node, Node)
    assert [line[0] for line in node.lines] == ["sliding: 30 layers", "full: 10 layers"]


def test_a_mechanism_that_is_not_known_is_drawn_from_its_edges() -> None:
    figure = drawn("rwkv")[0]
    mix = next(panel for panel in figure.panels if panel.kind == "ssm")
    assert mix.free
    assert {cell.node.name for cell in mix.cells} >= {"key", "value", "receptance", "output"}


def test_a_finding_stands_on_the_block_that_depends_on_its_field() -> None:
    figure = compose(
        model_of("llama", architectures=["LlamaForCausalLM"], num_attention_heads=32, num_key_value_heads=5)
    )
    assert any(finding.rule == "indivisible-kv-heads" for finding in figure.findings)
    badged = [node for node in figure.stack_nodes() if node.badge is not None]
    attention = next(node for node in badged if node.kind == "attn")
    assert attention.badge is not None
    assert attention.badge.level == "error"


def test_a_finding_about_the_rotary_embedding_is_in_the_panel_too() -> None:
    model = model_of("llama", rope_scaling={"rope_type": "yarn", "factor": 0.5, "rope_theta": 10000.0})
    figure = compose(model)
    ropes = [cell.node for panel in figure.panels for cell in panel.cells if cell.node.id.endswith("#rope")]
    assert any("rope" in finding.rule or "factor" in finding.message for finding in figure.findings)
    assert [node.badge is not None for node in ropes] == [True]


def test_a_finding_about_no_block_is_only_in_the_list() -> None:
    figure = compose(model_of("llama", architectures=["LlamaForCausalLM"], vocab_size=100, eos_token_id=5000))
    assert any(finding.rule != "" for finding in figure.findings)
    token = [finding for finding in figure.findings if "eos" in finding.message]
    assert token
    assert not any(node.badge and "eos" in node.badge.details[0] for node in figure.stack_nodes())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("models/Llama-3.1-8B/config.json", "Llama-3.1-8B"),
        ("some-model.json", "some-model"),
        ("models--org--name/snapshots/" + "a" * 40 + "/config.json", "org/name"),
        ("config.json", "from-the-file"),
        ("<dict>", "from-the-file"),
    ],
)
def test_name(path: str, name: str) -> None:
    document = document_of_value(path, {"_name_or_path": "org/from-the-file"})
    assert name_of(document, "llama") == name


def test_no_structure_is_an_error_that_says_why() -> None:
    with pytest.raises(RenderError, match="not the configuration of a model"):
        compose(load({"peft_type": "LORA", "r": 8}))
