"""Files that are no model's configuration, or too large to be one. The source room tells; the rules here explain."""

from __future__ import annotations

from collections.abc import Iterator

from archscope.diagnostics import Diagnostic, Severity
from archscope.rules.base import Context, Fails, Finding, Passes, Rule
from archscope.source import Document, foreign_diagnostic


def _told(diagnostics: tuple[Diagnostic | None, ...], name: str) -> Iterator[Finding]:
    for one in diagnostics:
        if one is not None and one.rule == name:
            yield Finding(one.message, one.place, help=one.help)


class ForeignFile(Rule[Document]):
    """The file is JSON of another kind, not the configuration of a model.

    ## What it checks
    The keys: whether they say a model type, an architecture or the sizes of layers, or rather what adapters, diffusers,
    tokenizers, processors, quantisation recipes and training runs write. A search passes such files over in silence.

    ## Why it matters
    There is nothing to check in it: no finding here says nothing about any model.

    ## How to fix
    Give the config.json of a model. If this is one, write its model_type.

    ## References
    transformers models/auto/configuration_auto.py, AutoConfig.from_pretrained, which looks for model_type.
    """

    name = "foreign-file"
    severity = Severity.INFO
    cases = (
        Passes("llama"),
        Fails(text='{"peft_type": "LORA", "base_model_name_or_path": "org/model", "r": 8}', at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _told((foreign_diagnostic(target),), self.name)


class UnbuildableModel(Rule[Document]):
    """No model can be built from the values of the file.

    ## What it checks
    Whether the builder of the model type gets through the arithmetic on the sizes: a width cut into no heads, a list too
    short. Where another error explains it, that one alone is reported.

    ## Why it matters
    transformers fails while it builds the model, with an error that names neither the file nor the field.

    ## How to fix
    Mend the size that the message speaks of.

    ## References
    The modeling file of the type.
    """

    name = "unbuildable-model"
    severity = Severity.ERROR
    cases = (
        Passes("gpt_neox", hidden_size=64, num_attention_heads=4),
        Fails("gpt_neox", hidden_size=64, num_attention_heads=0, at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _told((ctx.failure,), self.name)


class NotAnObject(Rule[Document]):
    """The top level of the file is not an object.

    ## What it checks
    The outermost value: a list, a string, a number, true, false or null is no configuration.

    ## Why it matters
    transformers asks it for fields and fails.

    ## How to fix
    Write one object with the fields of the model.

    ## References
    transformers configuration_utils.py, PreTrainedConfig.get_config_dict.
    """

    name = "not-an-object"
    severity = Severity.ERROR
    cases = (
        Passes("llama"),
        Fails(text='[{"model_type": "llama"}]', at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _told((foreign_diagnostic(target),), self.name)


class FileTooLarge(Rule[Document]):
    """The file is larger than any configuration.

    ## What it checks
    16 MiB of text, 300,000 values and brackets.

    ## Why it matters
    It is most likely another file under the name of the configuration. archscope does not read it, so that time and
    memory stay within bounds whatever the file is.

    ## How to fix
    Give the config.json of a model, not its weights or its tokenizer.

    ## References
    The limits are archscope's own: twice the longest weight index that is known, far above any configuration.
    """

    name = "file-too-large"
    severity = Severity.ERROR
    cases = (
        Passes("llama"),
        Fails(text="[" + "," * 300_001 + "]", at=""),
    )

    def check(self, target: Document, ctx: Context) -> Iterator[Finding]:
        yield from _told(target.problems, self.name)
