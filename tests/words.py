#!/usr/bin/env python3
"""scripts/words.py finds what it is there for in pages made for it, and nothing in good ones.

    tests/words.py SOURCES
"""
import pathlib
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1]) / "scripts" / "words.py"
LONG = " ".join(["word"] * 26)
GOOD = f"""# A page

Short. Word {" ".join(["word"] * 23)} `{LONG}` . Then ε = 2 and more:

- {" ".join(["item"] * 20)}
- {" ".join(["item"] * 20)}

| {LONG} |
| --- |

```
{LONG}. [dead](nowhere.md)
```

## 2. What isn't: `code`, [links](page.md)

[up](#2-what-isnt-code-links) and [there](page.md#a-page).
"""
BAD = f"Short.\nOne,\n{LONG}.\n\n[a](nowhere.md) [b](page.md#nowhere) [c](page.md)\n"


def complaints(pages):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in pages.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        subprocess.run(["git", "init", "-q", root], check=True)
        subprocess.run(["git", "-C", root, "add", "-A"], check=True)
        done = subprocess.run([sys.executable, program, root], capture_output=True, text=True)
        said = [line.split(": ")[0] for line in done.stdout.splitlines()]
        assert done.returncode == (1 if said else 0), done
        return said


assert complaints({"docs/page.md": GOOD}) == []
glossary = {"docs/glossary.md": "# Words\n\n| **unit**, **ABC** | a word |\n| **look** | XYZ |\n"}
assert complaints({**glossary, "docs/page.md": "ABC-2 a CPU `OPQ` DEF (words) in words (GHI) **JKL** [MNO](page.md) aBC, ABCs.\n"}) == []
assert complaints({**glossary, "docs/page.md": "A\nXYZ XYZ.\n\n| (see DEF) |\n\n# GHI-2\n"}) == ["docs/page.md:2", "docs/page.md:4", "docs/page.md:6"]
linked = "[looks](glossary.md)"
assert complaints({**glossary, "docs/page.md": f"A\n{linked} Units.\n\n## B\n\nA look.\n"}) == []
assert complaints({**glossary, "docs/page.md": f"A **unit**, units, `look`, lookup.\n\n## B\n\n{linked} A look.\n"}) == []
assert complaints({**glossary, "docs/page.md": f"A\nunit.\n\n## B\n\n{linked}\n"}) == ["docs/page.md:2"]
assert sorted(complaints({"docs/page.md": GOOD, "docs/bad.md": BAD})) == ["docs/bad.md:2", "docs/bad.md:5", "docs/bad.md:5"]
cites = "// docs/page.md and docs/page.md#a-page, docs/page.md §2.\n// docs/none.md\n// docs/page.md#none\n// docs/page.md,\n// §3\n"
assert complaints({"docs/page.md": GOOD, "a.cpp": cites}) == ["a.cpp:2", "a.cpp:3", "a.cpp:4"]
