#!/usr/bin/env python3
"""`pellucid align` on pairs of real implementations, with random weights.

A pair of two libraries: the weights of one go through the function that align wrote, by names and shapes alone, into
the other; both run on the same input. A pair of two layouts of one model: the layout is made by its known renaming,
and the function's tensors must be bit-equal to the model's. Then the same with the values of both given; where names
did not suffice, the weights are carried over layer by layer in the order in which both models call them, as libraries'
own scripts do, and the outputs must be equal after that.

    python bench/bench_align.py                 # all pairs
    python bench/bench_align.py vit swin -v     # those whose name has one of these words, with align's output

complete: every tensor of floats of both sides has its counterpart. refused: some are listed as ambiguous or alone, and
of two layouts nothing that was said is wrong. wrong: the outputs differ, or a tensor does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid"))


class Pair(NamedTuple):
    name: str
    a: Callable[[], Any]  # a module, or a dict of tensors
    b: Callable[[], Any]
    pick: Callable[[Any], Any] = lambda out: out  # the tensor to compare, out of what a call gives
    size: tuple[int, ...] = (2, 3, 224, 224)
    truth: Callable[[], dict[str, Any]] | None = None  # of layouts: what the tensors of a are in b


class Outcome(NamedTuple):
    verdict: str  # complete, refused, wrong
    why: str


# ---- models ----

def timm_model(name: str, **more: Any) -> Callable[[], Any]:
    def make() -> Any:
        import timm
        return timm.create_model(name, pretrained=False, **more)
    return make


def torchvision_model(name: str, **more: Any) -> Callable[[], Any]:
    def make() -> Any:
        import torchvision
        return getattr(torchvision.models, name)(weights=None, **more)
    return make


def hugging(model: str, config: str, **fields: Any) -> Callable[[], Any]:
    def make() -> Any:
        import transformers
        return getattr(transformers, model)(getattr(transformers, config)(**fields))
    return make


def logits(out: Any) -> Any:
    return out.logits if hasattr(out, "logits") else out


def renamed(source: Callable[[], Any], *rules: tuple[str, str]) -> Callable[[], Any]:
    """A layout: the names of a model's tensors after some replacements."""
    def make() -> Any:
        state = randomised(source()).state_dict()
        return {rename(name, rules): tensor for name, tensor in state.items()}
    return make


def rename(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    for old, new in rules:
        name = re.sub(old, new, name)
    return name


def randomised(model: Any) -> Any:
    """All weights and statistics, so that no two tensors are equal and any exchange is seen."""
    import torch
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point():
                continue
            random = torch.randn(tensor.shape, generator=generator)
            if name.endswith("running_var"):
                random = 1 + random.abs() / 4
            elif tensor.ndim < 2:
                random = random / 8 + (tensor.mean() if tensor.numel() else 0)
            else:
                random = random / max(tensor[0].numel(), 1) ** 0.5
            tensor.copy_(random)
    return model.eval()


# ---- layouts of one model ----

def nano_gpt() -> dict[str, Any]:
    """GPT-2 as small implementations keep it: linear layers instead of Conv1D, whose matrices are turned."""
    state = randomised(GPT2()).state_dict()
    turned = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    return {name: tensor.t().contiguous() if name.endswith(turned) else tensor for name, tensor in state.items()}


def mixtral_checkpoint() -> dict[str, Any]:
    """Mixtral as its checkpoints are: w1, w3, w2 of each expert, where the model has stacks."""
    out = {}
    for name, tensor in randomised(MIXTRAL()).state_dict().items():
        if name.endswith("experts.gate_up_proj"):
            half = tensor.shape[1] // 2
            for e, expert in enumerate(tensor):
                base = name.replace("mlp.experts.gate_up_proj", f"block_sparse_moe.experts.{e}")
                out[f"{base}.w1.weight"], out[f"{base}.w3.weight"] = expert[:half].clone(), expert[half:].clone()
        elif name.endswith("experts.down_proj"):
            for e, expert in enumerate(tensor):
                out[name.replace("mlp.experts.down_proj", f"block_sparse_moe.experts.{e}.w2.weight")] = expert.clone()
        else:
            out[name.replace("mlp.gate", "block_sparse_moe.gate")] = tensor
    return out


def fused_qkv(source: Callable[[], Any], rules: tuple[tuple[str, str], ...], q: tuple[str, ...],
              whole: str) -> Callable[[], Any]:
    """A layout in which q, k and v are one matrix."""
    def make() -> dict[str, Any]:
        import torch
        out = {}
        state = randomised(source()).state_dict()
        for name, tensor in state.items():
            if any(f".{part}." in name for part in q[1:]):
                continue
            if f".{q[0]}." in name:
                parts = [state[name.replace(f".{q[0]}.", f".{part}.")] for part in q]
                out[rename(name.replace(f".{q[0]}.", f".{whole}."), rules)] = torch.cat(parts)
            else:
                out[rename(name, rules)] = tensor
        return out
    return make


GPT2 = hugging("GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=3, n_head=4, vocab_size=120, n_positions=48)
MIXTRAL = hugging("MixtralForCausalLM", "MixtralConfig", hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                  num_attention_heads=4, num_key_value_heads=2, num_local_experts=4, vocab_size=150)
LLAMA = hugging("LlamaForCausalLM", "LlamaConfig", hidden_size=64, intermediate_size=160, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=4, vocab_size=150)
BERT = hugging("BertModel", "BertConfig", hidden_size=64, intermediate_size=160, num_hidden_layers=3,
               num_attention_heads=4, vocab_size=150)
BART = hugging("BartModel", "BartConfig", d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=160, decoder_ffn_dim=160, vocab_size=150)
WHISPER = hugging("WhisperModel", "WhisperConfig", d_model=64, encoder_layers=2, decoder_layers=2,
                  encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=160, decoder_ffn_dim=160,
                  vocab_size=150, num_mel_bins=16, max_source_positions=40, max_target_positions=30,
                  pad_token_id=1, bos_token_id=1, eos_token_id=1, decoder_start_token_id=1)
T5 = hugging("T5Model", "T5Config", d_model=64, d_ff=160, num_layers=2, num_heads=4, d_kv=16, vocab_size=150)

LLAMA_LAYOUT = ((r"^model\.", ""), (r"embed_tokens", "tok_embeddings"), (r"self_attn\.q_proj", "attention.wq"),
                (r"self_attn\.k_proj", "attention.wk"), (r"self_attn\.v_proj", "attention.wv"),
                (r"self_attn\.o_proj", "attention.wo"), (r"mlp\.gate_proj", "feed_forward.w1"),
                (r"mlp\.up_proj", "feed_forward.w3"), (r"mlp\.down_proj", "feed_forward.w2"),
                (r"input_layernorm", "attention_norm"), (r"post_attention_layernorm", "ffn_norm"),
                (r"lm_head", "output"))
BERT_LAYOUT = ((r"^", "bert."), (r"LayerNorm\.weight", "LayerNorm.gamma"), (r"LayerNorm\.bias", "LayerNorm.beta"))
TORCH_LAYERS = ((r"attention\.self\.", "self_attn."), (r"attention\.output\.dense", "self_attn.out_proj"),
                (r"attention\.output\.LayerNorm", "norm1"), (r"intermediate\.dense", "linear1"),
                (r"(\d)\.output\.dense", r"\1.linear2"), (r"(\d)\.output\.LayerNorm", r"\1.norm2"),
                (r"encoder\.layer", "encoder.layers"))
FAIRSEQ = ((r"^", "model."), (r"shared", "encoder.embed"), (r"layernorm_embedding", "emb_layer_norm"))
OPENAI_WHISPER = ((r"layers\.", "blocks."), (r"self_attn\.k_proj", "attn.key"), (r"self_attn\.q_proj", "attn.query"),
                  (r"self_attn\.v_proj", "attn.value"), (r"self_attn\.out_proj", "attn.out"),
                  (r"self_attn_layer_norm", "attn_ln"), (r"encoder_attn\.k_proj", "cross_attn.key"),
                  (r"encoder_attn\.q_proj", "cross_attn.query"), (r"encoder_attn\.v_proj", "cross_attn.value"),
                  (r"encoder_attn\.out_proj", "cross_attn.out"), (r"encoder_attn_layer_norm", "cross_attn_ln"),
                  (r"final_layer_norm", "mlp_ln"), (r"fc1", "mlp.0"), (r"fc2", "mlp.2"),
                  (r"encoder\.layer_norm", "encoder.ln_post"), (r"decoder\.layer_norm", "decoder.ln"),
                  (r"embed_tokens", "token_embedding"),
                  (r"decoder\.embed_positions\.weight", "decoder.positional_embedding"),
                  (r"encoder\.embed_positions\.weight", "encoder.positional_embedding"))
FACEBOOK_CONVNEXT = ((r"^stem\.0", "downsample_layers.0.0"), (r"^stem\.1", "downsample_layers.0.1"),
                     (r"stages\.(\d)\.downsample\.(\d)", r"downsample_layers.\1.\2"),
                     (r"stages\.(\d)\.blocks", r"stages.\1"),
                     (r"conv_dw", "dwconv"), (r"mlp\.fc1", "pwconv1"), (r"mlp\.fc2", "pwconv2"),
                     (r"head\.norm", "norm"), (r"head\.fc", "head"))


def layout(name: str, make: Callable[[], Any], model: Callable[[], Any]) -> Pair:
    """Its truth: it was made of this model's tensors."""
    return Pair(name, make, model, truth=lambda: dict(randomised(model()).state_dict()))


# ---- the pairs ----

VIT = {"hidden_size": 192, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 768,
       "num_labels": 1000}
PAIRS = [
    Pair("torchvision / timm resnet18", torchvision_model("resnet18"), timm_model("resnet18"), size=(2, 3, 64, 64)),
    Pair("torchvision / timm resnext50", torchvision_model("resnext50_32x4d"), timm_model("resnext50_32x4d"),
         size=(2, 3, 64, 64)),
    Pair("torchvision / timm vgg11", torchvision_model("vgg11"), timm_model("vgg11")),
    Pair("torchvision / timm vgg11_bn", torchvision_model("vgg11_bn"), timm_model("vgg11_bn")),
    Pair("torchvision / timm densenet121", torchvision_model("densenet121"), timm_model("densenet121"),
         size=(2, 3, 64, 64)),
    Pair("torchvision / timm mobilenet_v2", torchvision_model("mobilenet_v2"), timm_model("mobilenetv2_100"),
         size=(2, 3, 64, 64)),
    Pair("torchvision / timm mobilenet_v3_large", torchvision_model("mobilenet_v3_large"),
         timm_model("mobilenetv3_large_100"), size=(2, 3, 64, 64)),
    Pair("torchvision / timm efficientnet_b0", torchvision_model("efficientnet_b0"), timm_model("efficientnet_b0"),
         size=(2, 3, 64, 64)),
    Pair("torchvision / timm regnet_y_400mf", torchvision_model("regnet_y_400mf"), timm_model("regnety_004"),
         size=(2, 3, 64, 64)),
    Pair("torchvision / timm inception_v3", torchvision_model("inception_v3", init_weights=False),
         timm_model("inception_v3", aux_logits=True), size=(2, 3, 299, 299),
         pick=lambda out: out[0] if isinstance(out, tuple) else out),
    Pair("torchvision / timm vit_b_32", torchvision_model("vit_b_32"), timm_model("vit_base_patch32_224")),
    Pair("torchvision / timm swin_t", torchvision_model("swin_t"), timm_model("swin_tiny_patch4_window7_224")),
    Pair("torchvision / timm convnext_tiny", torchvision_model("convnext_tiny"), timm_model("convnext_tiny"),
         size=(2, 3, 64, 64)),
    Pair("timm / transformers vit", timm_model("vit_tiny_patch16_224", depth=3),
         hugging("ViTForImageClassification", "ViTConfig", **VIT), logits),
    Pair("timm / transformers deit", timm_model("deit_tiny_distilled_patch16_224", depth=3),
         hugging("DeiTForImageClassificationWithTeacher", "DeiTConfig", **VIT), logits),
    Pair("timm / transformers beit", timm_model("beit_base_patch16_224", depth=3, embed_dim=192, num_heads=3),
         hugging("BeitForImageClassification", "BeitConfig", use_relative_position_bias=True, use_mean_pooling=True,
                 **VIT), logits),
    Pair("timm / transformers dinov2", timm_model("vit_small_patch14_dinov2", depth=3, img_size=70),
         hugging("Dinov2Model", "Dinov2Config", hidden_size=384, num_hidden_layers=3, num_attention_heads=6,
                 image_size=70, patch_size=14), lambda out: out.pooler_output if hasattr(out, "pooler_output") else out,
         size=(2, 3, 70, 70)),
    Pair("timm / transformers swin", timm_model("swin_tiny_patch4_window7_224", depths=(2, 2, 2, 2)),
         hugging("SwinForImageClassification", "SwinConfig", depths=[2, 2, 2, 2], num_labels=1000), logits),
    Pair("timm / transformers convnext", timm_model("convnext_tiny"),
         hugging("ConvNextForImageClassification", "ConvNextConfig", num_labels=1000), logits, size=(2, 3, 64, 64)),
    Pair("timm / transformers convnextv2", timm_model("convnextv2_tiny"),
         hugging("ConvNextV2ForImageClassification", "ConvNextV2Config", num_labels=1000), logits, size=(2, 3, 64, 64)),
    Pair("timm / transformers resnet50", timm_model("resnet50"),
         hugging("ResNetForImageClassification", "ResNetConfig", num_labels=1000), logits, size=(2, 3, 64, 64)),
    Pair("timm / transformers mobilenet_v2", timm_model("mobilenetv2_100"),
         hugging("MobileNetV2ForImageClassification", "MobileNetV2Config", num_labels=1000, tf_padding=False,
                 layer_norm_eps=1e-5), logits, size=(2, 3, 64, 64)),
    Pair("timm / transformers pvt_v2", timm_model("pvt_v2_b0"),
         hugging("PvtV2ForImageClassification", "PvtV2Config", num_labels=1000), logits, size=(2, 3, 64, 64)),
    Pair("timm / transformers levit", timm_model("levit_128s"),
         hugging("LevitForImageClassificationWithTeacher", "LevitConfig", num_labels=1000, hidden_sizes=[128, 256, 384],
                 num_attention_heads=[4, 6, 8], depths=[2, 3, 4], key_dim=[16, 16, 16]), logits),
    Pair("transformers / torchvision vit", hugging("ViTForImageClassification", "ViTConfig", **{
        **VIT, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "num_hidden_layers": 12,
        "patch_size": 32, "layer_norm_eps": 1e-6}), torchvision_model("vit_b_32"), logits),
    layout("GPT-2, linear layers / transformers", nano_gpt, GPT2),
    layout("Llama, w1 w2 w3 / transformers", renamed(LLAMA, *LLAMA_LAYOUT), LLAMA),
    layout("Mixtral, single experts / transformers", mixtral_checkpoint, MIXTRAL),
    layout("BERT, gamma and beta / transformers", renamed(BERT, *BERT_LAYOUT), BERT),
    layout("BERT as torch's layers, fused / transformers",
           fused_qkv(BERT, (*TORCH_LAYERS, (r"in_proj\.(weight|bias)", r"in_proj_\1")), ("query", "key", "value"),
                     "in_proj"), BERT),
    layout("BART, fairseq / transformers", renamed(BART, *FAIRSEQ), BART),
    layout("Whisper, OpenAI / transformers", renamed(WHISPER, *OPENAI_WHISPER), WHISPER),
    layout("ConvNeXt, Facebook / timm", renamed(timm_model("convnext_atto"), *FACEBOOK_CONVNEXT),
           timm_model("convnext_atto")),
    layout("T5, a prefix / transformers", renamed(T5, (r"^", "t5.")), T5),
]


# ---- one pair ----

Convert = Callable[[dict[str, Any]], dict[str, Any]]


def align(a: Path, b: Path, folder: Path, *options: str) -> tuple[dict[str, Any], Convert, str]:
    path = folder / "map.py"
    done = subprocess.run([PROGRAM, "align", str(a), str(b), "--json", "-o", str(path), *options], text=True,
                          capture_output=True, check=False, timeout=300)
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"pellucid align: {done.stderr}")
    text = subprocess.run([PROGRAM, "align", str(a), str(b), *options], text=True, capture_output=True, check=False)
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), "map.py", "exec"), space)
    return json.loads(done.stdout), space["convert"], text.stdout


def tensors_of(made: Any) -> dict[str, Any]:
    return dict(made if isinstance(made, dict) else made.state_dict())


def is_complete(found: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> str:
    """What is missing, of tensors with elements that are no whole numbers; empty: nothing."""
    if found["ambiguous"]:
        row = found["ambiguous"][0]
        return f"{sum(len(r['to']) for r in found['ambiguous'])} ambiguous, {', '.join(row['to'][:2])}"
    for key, state in (("only_b", b), ("only_a", a)):
        left = [name for name in found[key] if state[name].is_floating_point()]
        if left:
            return f"{len(left)} {key}, {', '.join(left[:2])}"
    return ""


def same_outputs(pair: Pair, a: Any, b: Any) -> str:
    import torch
    x = torch.randn(pair.size, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        one, two = pair.pick(a(x)), pair.pick(b(x))
    if one.shape != two.shape:
        return f"outputs of shapes {tuple(one.shape)} and {tuple(two.shape)}"
    error = float((one - two).abs().max() / one.abs().max().clamp(min=1e-6))
    return "" if error < 2e-3 else f"outputs differ by {error:.2g}"


def check(pair: Pair, a: Any, b: Any, convert: Convert, truth: dict[str, Any] | None) -> str:
    """What is wrong with the map; empty: nothing."""
    import torch
    made = convert(tensors_of(a))
    if truth is not None:
        for name, tensor in made.items():
            if not (tensor.shape == truth[name].shape and torch.equal(tensor, truth[name])):
                return f"{name} is not what it should be"
        return ""
    own = b.state_dict()
    missing = [name for name in own if name not in made]
    if any(own[name].is_floating_point() for name in missing):
        return ""  # refused: there are no outputs to compare
    b.load_state_dict({**own, **made}, strict=True)
    return same_outputs(pair, a, b)


def called(model: Any, size: tuple[int, ...]) -> list[Any]:
    """The innermost modules with weights of their own, in the order in which a call reaches them."""
    import torch
    order: list[Any] = []
    hooks = [module.register_forward_hook(lambda m, *_: order.append(m) if m not in order else None)
             for module in model.modules() if any(True for _ in module.parameters(recurse=False))]
    with torch.no_grad():
        model(torch.zeros(size))
    for hook in hooks:
        hook.remove()
    return [m for m in order if next(m.children(), None) is None]


def carry_over(pair: Pair, a: Any, b: Any) -> bool:
    """Gives b the weights of a by the order of calls, by names what no layer has; whether the outputs agree then."""
    import torch
    one, two = called(a, pair.size), called(b, pair.size)
    if len(one) != len(two):
        return False
    with torch.no_grad():
        for x, y in zip(one, two, strict=True):
            values = [*x.parameters(), *x.buffers()], [*y.parameters(), *y.buffers()]
            if [v.numel() for v in values[0]] != [v.numel() for v in values[1]]:
                return False
            for v, w in zip(*values, strict=True):
                w.copy_(v.reshape(w.shape))
        inside = {id(v) for m in two for v in m.parameters()}
        outside = {id(v) for m in one for v in m.parameters()}
        free = [(n, v) for n, v in a.named_parameters() if id(v) not in outside]
        for name, value in b.named_parameters():
            if id(value) not in inside:
                start = name.split(".")[-1][:3]
                fits = [v for n, v in free if v.shape == value.shape and n.split(".")[-1].startswith(start)]
                if len(fits) == 1:
                    value.copy_(fits[0])
    return not same_outputs(pair, a, b)


def run(pair: Pair, verbose: bool) -> tuple[Outcome, Outcome]:
    """By names alone, then with values: those of b made of a by the map that was shown to be right."""
    import torch
    torch.manual_seed(1)
    a, b = pair.a(), pair.b()
    if not isinstance(a, dict):
        randomised(a)
    torch.manual_seed(2)
    randomised(b)
    truth = pair.truth() if pair.truth else None
    outcomes = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        for options in (["--no-values"], []):
            torch.save(tensors_of(a), folder / "a.pt")
            torch.save(truth if truth and not options else tensors_of(b), folder / "b.pt")
            found, convert, text = align(folder / "a.pt", folder / "b.pt", folder, *options)
            if verbose:
                print(text)
            missing = is_complete(found, tensors_of(a), tensors_of(b))
            wrong = check(pair, a, b, convert, truth)
            if not options and not missing and found["differ"] + found["by_names"]:
                missing = f"{found['differ'] + found['by_names']} not proved"
            outcomes.append(Outcome("wrong", wrong) if wrong else Outcome("refused", missing) if missing
                            else Outcome("complete", f"{len(found['rows'])} tensors"))
            is_done = not options or truth is not None or outcomes[-1].verdict == "complete"
            if not is_done and not carry_over(pair, a, b):
                break  # no weights of b that are known to be right
    return outcomes[0], outcomes[1] if len(outcomes) > 1 else Outcome("-", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only pairs whose name has one of these")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "build" / "python"))
    from pellucid import _torchvision
    _torchvision.stand_in()
    chosen = [p for p in PAIRS if not arguments.words or any(word in p.name for word in arguments.words)]
    counts: dict[tuple[int, str], int] = {}
    for pair in chosen:
        outcomes = run(pair, arguments.verbose)
        for i, outcome in enumerate(outcomes):
            counts[i, outcome.verdict] = counts.get((i, outcome.verdict), 0) + 1
        shown = "; ".join(f"{how}: {o.verdict}{f' ({o.why})' if o.why else ''}"
                          for how, o in zip(("names", "values"), outcomes, strict=True))
        print(f"{pair.name:48} {shown}", flush=True)
    for i, how in enumerate(("by names and shapes alone", "with values")):
        row = {verdict: counts.get((i, verdict), 0) for verdict in ("complete", "refused", "wrong")}
        print(f"{how}: " + ", ".join(f"{n} {verdict}" for verdict, n in row.items()) + f" of {len(chosen)}")


if __name__ == "__main__":
    main()
