"""Sliding windows that are on or off for a reason that the file does not say."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.blocks.attention import Attention
from archscope.config import Config
from archscope.diagnostics import Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.structure import Structure


class SwitchedOnButNothingSlides(Rule[Config]):
    """Sliding attention is switched on, but no layer slides.

    ## What it checks
    use_sliding_window true with max_window_layers at or above the number of layers.

    ## Why it matters
    The first max_window_layers layers use full attention: all of them, then. Whoever turned the switch expects the window.

    ## How to fix
    use_sliding_window false, a smaller max_window_layers, or layer_types in full.

    ## References
    transformers models/qwen2/configuration_qwen2.py.
    """

    name = "switched-on-but-nothing-slides"
    severity = Severity.WARNING
    requires = ("wrong-type", "layer-types-length")
    cases = (
        Passes("qwen2", num_hidden_layers=4, use_sliding_window=True, sliding_window=64, max_window_layers=2),
        Passes("qwen2", num_hidden_layers=4, use_sliding_window=False, sliding_window=64, max_window_layers=4),
        Fails(
            "qwen2",
            num_hidden_layers=4,
            use_sliding_window=True,
            sliding_window=64,
            max_window_layers=4,
            at="/max_window_layers",
        ),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        if target.raw.get("use_sliding_window") is not True or "layer_types" in target.raw:
            return
        most, layers = target.get("max_window_layers"), target.get("num_hidden_layers")
        if isinstance(most, int) and isinstance(layers, int) and most >= layers and target.get("sliding_window"):
            yield Finding(
                f"use_sliding_window is true, but the first {most} of {layers} layers use full attention: none slides",
                ctx.at("max_window_layers"),
                related=[ctx.at("use_sliding_window"), ctx.at("num_hidden_layers", "layers")],
                help="use_sliding_window: false, a smaller max_window_layers, or layer_types in full",
            )


class WindowByDefault(Rule[Structure]):
    """Every layer slides because of a default of the config class.

    ## What it checks
    Models whose layers all slide over a window that the file does not state, shorter than the context.

    ## Why it matters
    The default is that of the first model of the family; later ones have no window, and say so with null. Without the key
    the model forgets everything past the window.

    ## How to fix
    Write sliding_window: null, or the window that the model was trained with.

    ## References
    https://github.com/huggingface/transformers (models/mistral/configuration_mistral.py: sliding_window 4096).
    """

    name = "window-by-default"
    severity = Severity.WARNING
    cases = (
        Passes("mistral", sliding_window=None, max_position_embeddings=32768),
        Passes("mistral", sliding_window=4096, max_position_embeddings=32768),
        Passes("gemma2", num_hidden_layers=2),
        Fails("mistral", max_position_embeddings=32768, at="/sliding_window"),
    )

    def check(self, target: Structure, ctx: Context) -> Iterator[Finding]:
        mixers = [at for at in target.of_type(Attention) if isinstance(at.block, Attention) and at.block.causal]
        windows = {at.block.window for at in mixers if isinstance(at.block, Attention)}
        if len(windows) != 1 or None in windows:
            return
        config = ctx.root.at(mixers[0].pointer)
        (window,) = windows
        context = config.get("max_position_embeddings")
        if "sliding_window" not in config or config.origin("sliding_window").kind != "default":
            return
        if window is None or not isinstance(context, int) or context <= window:
            return
        source = config.origin("sliding_window").source
        yield Finding(
            f"every layer slides over {window} of {context} positions, by a default ({source})",
            ctx.place(f"{config.pointer}/sliding_window"),
            help="write sliding_window: null for full attention, or the window that is meant",
        )


class WindowBehindAbsentSwitch(Rule[Config]):
    """A window is set, but the switch that turns it on is not in the file.

    ## What it checks
    sliding_window with a number where the type has use_sliding_window, false by default, and the file does not say it.

    ## Why it matters
    transformers leaves the window off; readers that look at the number alone slide.

    ## How to fix
    Write use_sliding_window, true or false.

    ## References
    transformers models/qwen2/configuration_qwen2.py.
    """

    name = "window-behind-absent-switch"
    severity = Severity.WARNING
    requires = ("wrong-type",)
    cases = (
        Passes("qwen2", sliding_window=4096, use_sliding_window=False),
        Passes("qwen2", sliding_window=None),
        Fails("qwen2", sliding_window=4096, at="/sliding_window"),
    )

    def check(self, target: Config, ctx: Context) -> Iterator[Finding]:
        schema = target.schema
        window = target.raw.get("sliding_window")
        if schema is None or not isinstance(window, int) or isinstance(window, bool) or "layer_types" in target.raw:
            return
        field = schema.fields.get("use_sliding_window")
        if field is not None and field.default is False and "use_sliding_window" not in target.raw:
            context = target.get("max_position_embeddings")
            if isinstance(context, int) and window >= context:
                return
            yield Finding(
                f"sliding_window is {window}, but use_sliding_window is not in the file, and false by default",
                ctx.at("sliding_window"),
                related=[ctx.place(f"{target.pointer}/use_sliding_window", f"false ({schema.source})")],
                help="write use_sliding_window, true or false",
            )
