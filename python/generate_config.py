#!/usr/bin/env python3
"""Writes rldp/config.py from config/config.schema.json, so that no key is listed twice.   generate_config.py [--check]

With --check nothing is written: exit status 1 where the file is not what the schema says."""
import json
import pathlib
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA, OUT = HERE.parent / "config/config.schema.json", HERE / "rldp/config.py"

HEAD = '''"""A configuration as dataclasses, a section each. Made from config/config.schema.json by python/generate_config.py: do not edit.

What is None is left out, and the program chooses; `rldp.check` says what and why.

>>> config = Config(privacy=Privacy(epsilon=2), train=Train(steps=60))
>>> config.model.path = "path/to/a/model"
>>> config.to_dict()
{'privacy': {'epsilon': 2}, 'train': {'steps': 60}, 'model': {'path': 'path/to/a/model'}}
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ._sections import Section

'''


def class_name(words):
    return "".join(word.capitalize() for word in words)


def annotation(of):
    if "anyOf" in of:
        kinds = [annotation(one) for one in of["anyOf"] if one.get("type") != "null"]
        return " | ".join(dict.fromkeys(kinds))
    if "enum" in of:
        return f"Literal[{', '.join(json.dumps(word) for word in of['enum'])}]"
    if "const" in of:
        return f"Literal[{json.dumps(of['const'])}]"
    if of["type"] == "array":
        return f"list[{annotation(of['items'])}]"
    return {"number": "float", "integer": "int", "boolean": "bool", "string": "str", "object": "dict[str, Any]"}[of["type"]]


def limits(of):
    """The range, as a schema states it, in a few signs."""
    of = next((one for one in of.get("anyOf", []) if one.get("type") != "null"), of)
    words = [f"{sign} {of[key]:.12g}" for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
             if key in of]
    return f" Takes {', '.join(words)}." if words else ""


def wrapped(text, indent):
    lines = textwrap.wrap(text.replace("\\", "\\\\"), 116 - len(indent))
    return f'{indent}"""' + f"\n{indent}".join(lines) + '"""\n'


def write_section(path, of, out):
    """Inner sections first: their classes are named in the outer one."""
    fields = []
    for name, key in of["properties"].items():
        if name.startswith("$"):
            continue
        if "properties" in key:
            write_section([*path, name], key, out)
            fields.append(f"    {name}: {class_name([*path, name])} = field(default_factory={class_name([*path, name])})\n")
            continue
        default = f" Default: {json.dumps(key['default'], ensure_ascii=False)}." if "default" in key else ""
        fields.append(f"    {name}: {annotation(key)} | None = None\n" + wrapped(key["description"] + limits(key) + default, "    "))
    title = "A configuration of RLDP." if not path else f"Section {'.'.join(path)} of a configuration."
    out.append(f'\n@dataclass\nclass {class_name(path or ["config"])}(Section):\n    """{title}"""\n\n' + "".join(fields))


def generate():
    out = []
    write_section([], json.loads(SCHEMA.read_text(encoding="utf-8")), out)
    return HEAD + "\n".join(out)


if __name__ == "__main__":
    made = generate()
    if "--check" in sys.argv:
        if not OUT.exists() or OUT.read_text(encoding="utf-8") != made:
            sys.exit(f"{OUT}: is not what {SCHEMA.name} says; run python3 python/generate_config.py")
    else:
        OUT.write_text(made, encoding="utf-8")
