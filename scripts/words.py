#!/usr/bin/env python3
"""What the pages say, looked over: README.md, CONTRIBUTING.md, SECURITY.md and docs/*.md.

    scripts/words.py [--figures] [ROOT]

Reports, with file and line, sentences of more than 25 words outside code, tables and headings, and links and citations
that lead nowhere: relative links of these pages and of research/*.md (file and #anchor, by GitHub's rule), and the pages
and numbered sections that sources cite (docs/X.md, docs/X.md#anchor, docs/privacy.md §N). --figures prints a table instead.

Reports what nobody explains. An abbreviation is a word with two capitals side by side, in prose, tables or headings. It has an
entry in docs/glossary.md, or its page explains it: W (in words), in words (W), **W**, or a link on it. And a page that
uses words of the glossary's first column links the glossary before its first section; or it has each in bold or in a link
where it first stands.

A word is what stands between blanks and has a letter or a digit. What stands in backticks is one word, and so is a
formula: words with an operator between them. Each item of a list begins a sentence.
"""
import pathlib
import re
import subprocess
import sys

LIMIT = 25
# Pages that have longer sentences still, and how many. A number may fall, never rise; at none the line goes.
LEFT = {}

# Abbreviations that need no explanation: everybody's, names that are only names, and capitals that stand for something of the reader's.
KNOWN = set("""
API ASCII CPU CSV DNS GPU HTML HTTP IPv4 JSON JSONL MB US UTC UTF
AMD AVX AVX2 CMake DuckDB EPYC FastDP GCC GPT OpenBLAS OpenMP OpenSSL RLDP SQLite SmolLM SmolLM2
CHANGELOG CONTRIBUTING FILE GET HEAD HOST OUT PORT POST PRIVATE RANK README SECURITY WORLD
""".split())
GLOSSARY = "docs/glossary.md"
ABBREVIATION = r"(?<![\w.-])(?=[\w-]*[A-Z]{2})[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)*(?![\w-])"

OPERATORS = "=≤≥<>±·×+−/∝←→≈≠"
CODE = "\ue000"  # stands for what was in backticks
LINK = "\ue001"  # stands before what was a link


def blocks(text):
    """Paragraphs and items of lists: (number of the first line, lines)."""
    fence, first, block = None, 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        prose = fence is None and not mark and not re.match(r"\s*(\||#{1,6} |<!--|---+\s*$|$)", line)
        if mark:
            fence = mark[1] if fence is None else None if line.strip() == fence else fence
        item = re.match(r"\s*([-*]|\d+\.)\s+", line)
        if block and (not prose or item):
            yield first, block
            block = []
        if prose:
            first = first if block else number
            block.append(line[item.end():] if item else line.strip().lstrip("> "))


def plain(text):
    """A block without marks: code and formulas as one word each. Ends of lines stay where they were."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"(`+)(.+?)\1", lambda found: CODE + "\n" * found[0].count("\n"), text, flags=re.S)
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", rf"{LINK}\1", text)
    text = re.sub(r"\b(al|e\.g|i\.e|vs|cf)\. ", r"\1._", text)
    return re.sub(rf" *([{OPERATORS}]) *", r"\1", text)


def sentences(text):
    """(line, words, sentence) for each sentence of a page."""
    end = rf"(?<=[.!?…])([\"”»’')\]*_]*\s+)(?=[\"“(\[*_]*[A-ZÀ-ÞΑ-Ωα-ω{CODE}{LINK}])"
    for line, block in blocks(text):
        for sentence in re.split(end, plain("\n".join(block))):
            words = [word for word in sentence.split() if re.search(rf"[\w{CODE}]", word)]
            if words:
                yield line, len(words), " ".join(words).replace(CODE, "`…`").replace(LINK, "")
            line += sentence.count("\n")


def visible(text):
    """A page as a reader sees it, without code and where links lead; lines and [texts of links] stay."""
    text = re.sub(r"(?ms)^\s*(```+).*?^\s*\1\s*$|<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text)
    text = re.sub(r"(`+)(.+?)\1", lambda found: CODE + "\n" * found[0].count("\n"), text, flags=re.S)
    return re.sub(r"\]\([^)\s]*\)", "]", text)


def glossary_of(text):
    """(words of the first column, abbreviations) that a glossary explains."""
    terms = [term for row in re.findall(r"(?m)^\|(.*)", text) for term in re.findall(r"\*\*(.+?)\*\*", row)]
    return {term for term in terms if re.fullmatch(r"[a-z -]+", term)}, {term for term in terms if re.fullmatch(ABBREVIATION, term)}


def unexplained(text, known):
    """(line, what) for each abbreviation that the page does not explain, where it first stands."""
    text = visible(text)
    seen = set()
    for found in re.finditer(ABBREVIATION, text):
        word = found[0].removesuffix("s")
        explained = rf"\*\*{word}\*\*|\w \({word}[),;:]|{word} \([a-zα-ω]|\[[^\]]*\b{word}\b[^\]]*\]"
        # AES-256-CTR is AES and CTR, GPT-2 is GPT.
        parts = {part for part in word.split("-") if re.search(r"[A-Z]{2}", part) and not re.match(r"\d", part)}
        if word not in seen | known and not parts <= known and not re.search(explained, text):
            yield text.count("\n", 0, found.start()) + 1, f"{word}: neither explained here nor in {GLOSSARY}"
        seen.add(word)


def unlinked(text, words):
    """(line, what): words of the glossary on a page that does not begin with a link to it."""
    top = re.split(r"(?m)^##+ ", text)[0]
    if re.search(r"\]\((docs/)?glossary\.md[#)]", top):
        return
    text = visible(text)
    for word in sorted(words):
        found = re.search(rf"(?i)(?<![\w-]){word}s?(?![\w-])", text)
        if found and not re.search(r"(\*\*|\[)[^*\]\n]*$", text[:found.start()].split("\n")[-1]):
            yield text.count("\n", 0, found.start()) + 1, f"\"{word}\" is a word of {GLOSSARY}; link that before the first section"


def anchors(text):
    seen = {}
    found = set()
    for line in re.sub(r"(?ms)^\s*(```+).*?^\s*\1\s*$", "", text).split("\n"):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
            found.add(name if name not in seen else f"{name}-{seen[name]}")
            seen[name] = seen.get(name, 0) + 1
    return found


class pages:
    def __init__(self, root):
        self.root, self.known = root, {}

    def text(self, path):
        if path not in self.known:
            self.known[path] = path.read_text() if path.is_file() else None
        return self.known[path]

    def wrong(self, path, anchor):
        """Why nothing is there, or None."""
        if not path.exists():
            return "no such file"
        if anchor and path.suffix == ".md" and anchor not in anchors(self.text(path)):
            return "no such heading"
        return None

    def links(self, page):
        text = re.sub(r"(?ms)^\s*(```+).*?^\s*\1\s*$", lambda found: "\n" * found[0].count("\n"), self.text(page))
        text = re.sub(r"`[^`\n]+`", lambda found: " " * len(found[0]), text)
        for found in re.finditer(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", found[1]):
                continue
            name, _, anchor = found[1].partition("#")
            reason = self.wrong((page.parent / name).resolve() if name else page, anchor)
            if reason:
                yield text.count("\n", 0, found.start()) + 1, f"{found[1]}: {reason}"

    def citations(self, source):
        text = source.read_text(errors="replace")
        for found in re.finditer(r"(?<![\w/.])((?:docs|research)/[\w-]+\.md)(#[\w-]+)?(?:[,\s/#]{1,9}§(\d+))?", text):
            page = self.root / found[1]
            reason = self.wrong(page, (found[2] or "")[1:])
            if not reason and found[3] and not re.search(rf"(?m)^#+ {found[3]}\. ", self.text(page)):
                reason = f"no section {found[3]}"
            if reason:
                yield text.count("\n", 0, found.start()) + 1, f"{found[1]}{found[2] or ''}: {reason}"


def main(arguments):
    figures = "--figures" in arguments
    root = pathlib.Path(next((word for word in arguments if word != "--figures"), pathlib.Path(__file__).parent.parent)).resolve()
    looked_at = [path for path in (root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md") if path.is_file()] + sorted(root.glob("docs/*.md"))
    if figures:
        print("| page | words | sentences | mean | longest |\n| --- | ---: | ---: | ---: | ---: |")
        for page in looked_at:
            lengths = [words for _, words, _ in sentences(page.read_text())] or [0]
            print(f"| {page.relative_to(root)} | {len(page.read_text().split()):,} | {len(lengths)} | {sum(lengths) / len(lengths):.1f} | {max(lengths)} |")
        return 0
    complaints, all_pages = [], pages(root)
    words, abbreviations = glossary_of(all_pages.text(root / GLOSSARY) or "")
    for page in looked_at + sorted(root.glob("research/*.md")):
        name = str(page.relative_to(root))
        complaints += [f"{name}:{line}: {what}" for line, what in all_pages.links(page)]
        if page in looked_at:
            if name != GLOSSARY:
                complaints += [f"{name}:{line}: {what}" for line, what in unexplained(all_pages.text(page), KNOWN | abbreviations)]
            if name != GLOSSARY and "notebook" not in name:  # those are written by python/notebooks/make.py
                complaints += [f"{name}:{line}: {what}" for line, what in [*unlinked(all_pages.text(page), words)][:1]]
            long = [(line, words, text) for line, words, text in sentences(page.read_text()) if words > LIMIT]
            if len(long) > LEFT.get(name, 0):
                complaints += [f"{name}:{line}: a sentence of {words} words: {text[:70]}" for line, words, text in long]
            elif len(long) < LEFT.get(name, 0):
                print(f"{name}: {len(long)} long sentences are left; say so in scripts/words.py")
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "*.cpp", "*.hpp", "*.cmake", "*CMakeLists.txt", "*.py", "*.sh",
                             ":!scripts/words.py", ":!tests/words.py"],
                            capture_output=True, text=True)
    if listed.returncode != 0:
        print("words: skipped: what sources cite, for this is no checkout of git")
    for source in listed.stdout.split("\n") if listed.returncode == 0 else []:
        if source and (root / source).is_file():
            complaints += [f"{source}:{line}: {what}" for line, what in all_pages.citations(root / source)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
