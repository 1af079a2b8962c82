"""Vision-language configs whose older files hold the text fields at the top level."""

from __future__ import annotations

from collections.abc import Iterable

from archscope.config.draft import Draft
from archscope.config.origin import escape
from archscope.config.procedures import Base, mapping, procedure
from archscope.config.schema import load_schema

TEXT_AT_TOP = frozenset({"Qwen2VLConfig", "Qwen2_5_VLConfig", "PaddleOCRVLConfig", "HunYuanVLConfig", "FuyuConfig",
                         "Dots3NoteConfig", "Glm5NextConfig"})  # fmt: skip
_ROPE = ("rope_parameters", "rope_scaling", "rope_theta")


def gather(d: Draft, keys: Iterable[str]) -> bool:
    """Move top-level keys into `text_config`, where the file has none; the places in the file stay theirs."""
    if d.values.get("text_config") is not None:
        return False
    found = {key: d.extras.pop(key) for key in keys if key in d.extras}
    d.values["text_config"] = found
    d.moved["text_config"] = {key: f"{d.pointer}/{escape(key)}" for key in found}
    return True


def text_fields(d: Draft) -> list[str]:
    """The fields of the class of the text part."""
    assert d.schema is not None
    schema = load_schema(d.schema.sub_configs["text_config"].model_type)
    assert schema is not None
    return list(schema.fields)


@procedure("Qwen2VLConfig", "Qwen2_5_VLConfig", "PaddleOCRVLConfig")
def qwen2_vl(d: Draft, base: Base) -> None:
    """Qwen2VLConfig: text fields may stand at the top; released files name the vision part after the whole."""
    assert d.schema is not None
    if gather(d, [*text_fields(d), *_ROPE]):
        dtype = d.extras.get("torch_dtype", d.extras.get("dtype"))
        mapping(d.values["text_config"])["dtype"] = dtype
        d.moved["text_config"]["dtype"] = ""
    whole = d.schema.model_type
    d.put(
        "vision_config",
        f"{{**vision_config, 'model_type': '{whole}_vision'}}",
        f"isinstance(vision_config, 'dict') and vision_config.get('model_type') == {whole!r}",
    )
    base()
    d.put(
        "tie_word_embeddings",
        "True",
        "not tie_word_embeddings and attribute(text_config, 'tie_word_embeddings', False)",
    )


@procedure("HunYuanVLConfig")
def hunyuan_vl(d: Draft, base: Base) -> None:
    """HunYuanVLConfig: as above, aliases of text fields included; the vision part learns the text width."""
    assert d.schema is not None
    text = load_schema(d.schema.sub_configs["text_config"].model_type)
    assert text is not None
    wanted = {*text.fields, *text.aliases, "rope_scaling", "rope_theta", "model_type"}
    gather(d, [key for key in d.extras if key in wanted])
    base()
    d.put("vision_config.text_hidden_size", "text_config.hidden_size")
    d.put(
        "tie_word_embeddings",
        "True",
        "not tie_word_embeddings and attribute(text_config, 'tie_word_embeddings', False)",
    )


@procedure("FuyuConfig")
def fuyu(d: Draft, base: Base) -> None:
    """FuyuConfig: the keys that its default text part names may stand at the top."""
    assert d.schema is not None
    keys = [*d.schema.sub_configs["text_config"].defaults, "rope_scaling", "rope_theta"]
    if gather(d, keys):
        text = mapping(d.values["text_config"])
        if text:
            text["dtype"] = d.extras.get("torch_dtype", d.values.get("dtype"))
            text.setdefault("partial_rotary_factor", 0.5)
            d.moved["text_config"].update({"dtype": "", "partial_rotary_factor": ""})
        else:
            d.values["text_config"] = None
    base()


@procedure("Dots3NoteConfig")
def dots3_note(d: Draft, base: Base) -> None:
    """Dots3NoteConfig: everything that is not declared goes to the text part, and stays at the top too."""
    if d.values.get("text_config") is None:
        d.forget("model_type")
        d.values["text_config"] = {**d.extras, "tie_word_embeddings": d.values.get("tie_word_embeddings")}
        d.moved["text_config"] = {key: d.pointer_of(key) for key in (*d.extras, "tie_word_embeddings")}
    base()


@procedure("Glm5NextConfig")
def glm5_next(d: Draft, base: Base) -> None:
    """Glm5NextConfig: everything that is not declared is also the text part's."""
    if d.values.get("text_config") is None:
        d.values["text_config"] = dict(d.extras)
        d.moved["text_config"] = {key: d.pointer_of(key) for key in d.extras}
    base()
