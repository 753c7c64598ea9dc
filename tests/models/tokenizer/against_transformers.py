#!/usr/bin/env python3
"""Ids of `rldp tokenize` against those of PyPI's transformers and tokenizers, where python3 has them: directories with and without a
tokenizer.json, steps before and around the model, patterns of Oniguruma's own.   against_transformers.py RLDP SHARED
2,000 random texts for each. Characters are of Unicode 3.2: the libraries' tables are of several later versions."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
try:
    import tokenizers
    import transformers
except ImportError as absent:
    print(f"skipped: python3 has no {absent.name}")
    sys.exit(77)

program, shared = sys.argv[1], pathlib.Path(sys.argv[2])
chance = random.Random(1)
known = [chr(c) for c in range(0x20, 0x30000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs", "Cc", "Co")]
words = ["the ", "once", " ", "  ", "\t", "ing", "é", "e\u0301", "日本", "カナ", "ー", "ひら", "a", "B", ".", "▁", "1", "250.83", "١٢", "½", "'s", "'S", "ſ",
         "'ll", "İ", "ß", "ﬁ", "\u200d", "\u00a0", "\u3000", "한국", "Ω", "Привет", "—", "_", "$", "^", "<s>", "</s>", "<unk>", "<|im_start|>",
         "<|im_end|>", "<|endoftext|>", "<pad>", "[INST]", "[/INST]", "he", " he"]


def texts(count):
    for i in range(count):
        of = known if i % 5 == 4 else words
        yield "".join(chance.choice(of) for _ in range(chance.randrange(16)))


def compare(name, directory, encode):
    lines = list(texts(2000))
    said = subprocess.run([program, "tokenize", directory], input="\n".join(lines) + "\n", capture_output=True, text=True)
    found = [json.loads(line) for line in said.stdout.splitlines()]
    if said.returncode != 0 or len(found) != len(lines):
        print(f"{name}: {said.stderr.strip() or 'not as many answers as texts'}")
        return False
    different = [(text, encode(text), ids) for text, ids in zip(lines, found) if encode(text) != ids]
    for text, theirs, ours in different[:3]:
        print(f"{name}: {text!r}: {theirs}, not {ours}")
    print(f"{name}: {len(lines)} texts, {len(different)} differ")
    return not different


alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
vocabulary = {piece: i for i, piece in enumerate(alphabet)}
merges = [("h", "e"), ("Ġ", "he"), ("Ġ", "Ġ"), ("i", "n"), ("in", "g"), ("1", "2"), ("Ã", "©")]
for left, right in merges:
    vocabulary[left + right] = len(vocabulary)


def described(normalizer, steps):
    # The last step puts a space before every piece, which shows where texts are cut.
    show = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "post_processor": None, "decoder": show,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, show]},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}


patterns = [r"[\p{L}&&[^\p{Han}]]+|\p{Han}", r"[a-c[x-z]]+|\d{1,3}+", r"\h+|[^\h]+", r"(?i)abc|'S|ss", r"(?<=\d)(?=\p{L})", r"[[:punct:]]+",
            r"[[:digit:]]+|[^[:punct:]a]+", r"[\w&&[^\d_]]+|\b\d+\b", r"(?<n>a)\g<n>*", r"a++|b*+|x{2}+", r"^a|b$|\A.|.\z", r"\R|\X", r"(?~ab)",
            r"[]a-c]+|[:punct:]", r"\p{N}{1,3}+|[^\s\p{L}]+"]
behaviors = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
camel = {b: "".join(part.capitalize() for part in b.split("_")) for b in behaviors}
steps = {
    "digits": (None, [{"type": "Digits", "individual_digits": False}]),
    "single digits": (None, [{"type": "Digits", "individual_digits": True}]),
    "white space": (None, [{"type": "Whitespace"}]),
    "white space alone": (None, [{"type": "WhitespaceSplit"}]),
    "a character": (None, [{"type": "CharDelimiterSplit", "delimiter": "é"}]),
    "strip": ({"type": "Strip", "strip_left": True, "strip_right": True}, []),
    **{f"punctuation {b}": (None, [{"type": "Punctuation", "behavior": camel[b]}]) for b in behaviors},
    **{f"split {b} {invert}": (None, [{"type": "Split", "pattern": {"Regex": r"\d|ing|(?=e)"}, "behavior": camel[b], "invert": invert}])
       for b in behaviors for invert in (False, True)},
    **{kind: ({"type": kind}, []) for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")},
    **{p: (None, [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False}]) for p in patterns},
}


def write_slow(directory, kind, beside):
    directory.mkdir()
    (directory / "vocab.json").write_text(json.dumps(vocabulary))
    (directory / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **beside}))


def added(*contents, **how):
    return {str(len(vocabulary) + i): {"content": c, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True, **how}
            for i, c in enumerate(contents)}


good = True
with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    for name, (normalizer, pre) in steps.items():
        file = scratch / "tokenizer.json"
        file.write_text(json.dumps(described(normalizer, pre)))
        theirs = tokenizers.Tokenizer.from_file(str(file))
        good &= compare(name, scratch, lambda text: theirs.encode(text).ids)

    slow = {}
    of = {name: "<s>" for name in ("eos_token", "unk_token", "bos_token", "pad_token")}
    for kind in ("GPT2Tokenizer", "Qwen2Tokenizer"):
        slow[kind] = (kind, {"bos_token": None, "eos_token": "<|im_end|>", "unk_token": None, "pad_token": None,
                             "added_tokens_decoder": added("<|im_start|>", "<|im_end|>")})
        slow[kind + ", special tokens as text"] = (kind, {**of, "add_eos_token": True, "split_special_tokens": True,
                                                          "added_tokens_decoder": added("<s>", "</s>")})
    # (Qwen2Tokenizer forgets which of its own tokens take spaces along.)
    slow["GPT2Tokenizer, spaces taken along"] = ("GPT2Tokenizer", {**of, "add_bos_token": True,
                                                                   "added_tokens_decoder": added("<s>", "</s>", lstrip=True, rstrip=True)})
    for i, (name, (kind, beside)) in enumerate(slow.items()):
        write_slow(scratch / str(i), kind, beside)
        theirs = transformers.AutoTokenizer.from_pretrained(scratch / str(i))
        good &= compare(name, scratch / str(i), theirs.encode)

    models = [shared / "data" / name for name in ("stories260K/tokenizer.model", "tokenizers/mistral/tokenizer.model.v1",
                                                  "tokenizers/mistral/mistral_instruct_tokenizer_240323.model.v3")]
    if not all(model.exists() for model in models):
        print("skipped: no shared data")
    else:
        llama = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        for model in models:
            for beside in ({"add_bos_token": True, "legacy": False}, {"add_bos_token": False, "legacy": True},
                           {"add_prefix_space": False, "add_eos_token": True}, {"pad_token": "<pad>", "add_bos_token": True}):
                # The first collapses runs of blanks, where transformers differs from sentencepiece, which test_sentencepiece.cpp asks.
                for family in (None, "llama") if model is models[0] else (None, "llama", "mistral", "phi3"):
                    directory = scratch / f"{model.parent.name}{model.name}{len(list(scratch.iterdir()))}"
                    directory.mkdir()
                    (directory / "tokenizer.model").write_bytes(model.read_bytes())
                    (directory / "tokenizer_config.json").write_text(json.dumps({**llama, **beside}))
                    if family:
                        (directory / "config.json").write_text(json.dumps({"model_type": family}))
                    theirs = transformers.AutoTokenizer.from_pretrained(directory)
                    good &= compare(f"{model.name} {family} {beside}", directory, theirs.encode)
sys.exit(not good)
