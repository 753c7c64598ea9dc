#!/usr/bin/env python3
"""Draws the pictures of the documentation: scripts/pictures.py [--check]

Each docs/pictures/NAME.json says what is in docs/pictures/NAME.svg. With --check nothing is written, and a picture that is not what
its source makes is named. Kinds: diagram (boxes, tables, arrows), steps (actors over time), terminal (a text file as it was printed),
dots (a mean and a spread for each arm), lines (a curve for each arm). Lengths are pixels of the picture; charts name their tables.
"""
import html
import json
import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "pictures"
# By role: light, dark. Red is trusted, blue is public, green is what goes through the door.
COLOURS = {
    "paper": ("#ffffff", "#0d1117"), "ink": ("#1f2328", "#e6edf3"), "muted": ("#57606a", "#9ea7b3"), "rule": ("#d0d7de", "#30363d"),
    "box": ("#ffffff", "#161b22"), "trusted": ("#b3311c", "#ff8f73"), "public": ("#0860ca", "#6cb6ff"), "door": ("#1a7f37", "#56d364"),
    "trusted-room": ("#fff1ed", "#2a1613"), "public-room": ("#edf5ff", "#0f1c30"), "other": ("#8250df", "#c297ff"),
    "ours": ("#0860ca", "#6cb6ff"), "schedule": ("#953800", "#f0a050"), "baseline": ("#57606a", "#9ea7b3"),
}


def style():
    def rules(shade):
        return "".join(f".f-{name}{{fill:{both[shade]}}}.s-{name}{{stroke:{both[shade]}}}" for name, both in COLOURS.items())
    return ("<style>text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;font-size:13px}"
            ".b{font-weight:600}.m{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace}"
            ".h{font-size:15px;font-weight:600}.o{paint-order:stroke;stroke-width:6px;stroke-linejoin:round}.n{fill:none}.d{stroke-dasharray:5 4}"
            + rules(0) + "@media(prefers-color-scheme:dark){" + rules(1) + "}</style>")


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x, y, words, kind="f-ink", anchor="start", more=""):
    return f'<text x="{number(x)}" y="{number(y)}" class="{kind}" text-anchor="{anchor}"{more}>{html.escape(words, quote=False)}</text>'


def texts(x, y, lines, kind="f-ink", anchor="start", leading=16):
    return "".join(text(x, y + leading * i, line, kind, anchor) for i, line in enumerate(lines))


def rect(x, y, w, h, kind, corner=6, stroke=1.5):
    return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}" rx="{corner}" class="{kind}" '
            f'stroke-width="{stroke}"/>')


def path(points, kind, width=1.5):
    return (f'<path d="M{" L".join(number(x) + " " + number(y) for x, y in points)}" class="n {kind}" stroke-width="{width}" '
            'stroke-linejoin="round"/>')


def arrow(points, side, width=1.8, dashed=False):
    """The line ends before its head, which is a triangle."""
    (x0, y0), (x1, y1) = points[-2:]
    length = math.hypot(x1 - x0, y1 - y0)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    bx, by = x1 - 9 * ux, y1 - 9 * uy
    head = f"M{number(x1)} {number(y1)} L{number(bx - 4.5 * uy)} {number(by + 4.5 * ux)} L{number(bx + 4.5 * uy)} {number(by - 4.5 * ux)}Z"
    return path(points[:-1] + [[bx + ux, by + uy]], f"s-{side}" + (" d" if dashed else ""), width) + f'<path d="{head}" class="f-{side}"/>'


def mark(x, y, which):
    return (f'<circle cx="{number(x)}" cy="{number(y)}" r="9" class="f-door"/>'
            + text(x, y + 4.5, str(which), "f-paper b", "middle"))


def diagram(of):
    out = []
    for one in of.get("rooms", []):
        x, y, w, h = one["at"]
        out += [rect(x, y, w, h, f"f-{one['side']}-room s-{one['side']}", 10),
                text(x + 14, y + 23, one["name"], f"f-{one['side']} h"), texts(x + 14, y + 42, one.get("lines", []), "f-muted")]
    for one in of.get("lines", []):
        out.append(path(one["through"], f"s-{one['side']} d", 2))
    for one in of.get("arrows", []):
        out.append(arrow(one["through"], one["side"], 2.6 if one["side"] == "door" else 1.8, one["side"] == "trusted"))
        if "label" in one:
            kind = f"f-{one['side']}" + (" o s-paper" if one.get("clear") else "")
            out.append(texts(*one["label_at"], one["label"], kind, one.get("anchor", "start"), 15))
    for one in of.get("boxes", []):
        x, y, w, h = one["at"]
        out += [rect(x, y, w, h, f"f-box s-{one['side']}"), text(x + w / 2, y + 21, one["name"], "f-ink b", "middle"),
                texts(x + w / 2, y + 38, one.get("lines", []), "f-muted", "middle")]
    for one in of.get("tables", []):
        y = one["at"][1]
        for row in one["rows"]:
            if len(row) == 1:
                out.append(text(one["columns"][0], y + 6, row[0], f"f-{one['side']} b"))
                y += 6
            else:
                out += [text(x, y, cell, "f-ink m" if i == 0 else "f-muted" if i == 2 else "f-ink")
                        for i, (x, cell) in enumerate(zip(one["columns"], row))]
            y += 21
    for one in of.get("texts", []):
        out.append(texts(*one["at"], one["lines"], f"f-{one.get('side', 'muted')}", one.get("anchor", "start")))
    return out


def steps(of):
    out, lanes, height, left, right = [], of["lanes"], of["lane"], of["from"], of["to"]
    middle = {lane: of["top"] + height * (i + 0.5) for i, lane in enumerate(lanes)}
    side_of = {lane: "public" if i < of["public"] else "trusted" for i, lane in enumerate(lanes)}
    for begin, end, side in ((0, of["public"], "public"), (of["public"], len(lanes), "trusted")):
        out.append(rect(8, of["top"] + height * begin + 2, right - 2, height * (end - begin) - 4, f"f-{side}-room s-{side}", 8))
    for lane in lanes:
        y = middle[lane] + 12
        out += [text(18, y + 4, lane, "f-ink b"), path([[left, y], [right, y]], "s-rule", 1)]
    for begin, end, words in of["spans"]:
        y = of["top"] - 10
        out += [path([[begin, y - 6], [begin, y], [end, y], [end, y - 6]], "s-muted", 1.2),
                text((begin + end) / 2, y - 11, words, "f-muted", "middle")]
    for at, sender, receiver, words, *where in of["messages"]:
        ys, yr = middle[sender] + 12, middle[receiver] + 12
        side = where[0] if where else "public"
        down = 1 if yr > ys else -1
        out.append(arrow([[at, ys + 7 * down], [at, yr - 8 * down]], side, 2.6 if side == "door" else 1.5, side == "trusted"))
        if words:
            dx, dy, anchor = where[1:] if len(where) > 1 else (5, 0, "start")
            out.append(text(at + dx, (ys + yr) / 2 + 4 + dy, words, f"f-{side}", anchor))
    for lane, begin, end, words, *dx in of["bars"]:
        y = middle[lane] + 12
        out += [rect(begin, y - 7, end - begin, 14, f"f-{side_of[lane]}", 3, 0), text(begin + (dx[0] if dx else 0), y - 13, words)]
    out += [mark(*one) for one in of["marks"]]
    return out + [texts(*one["at"], one["lines"], "f-muted") for one in of["texts"]]


def terminal(of):
    lines = (FOLDER / of["text"]).read_text(encoding="utf-8").rstrip("\n").split("\n")
    out = [rect(8, 8, of["width"] - 16, of["height"] - 16, "f-box s-rule", 10)]
    out += [f'<circle cx="{26 + 18 * i}" cy="26" r="5" class="f-rule"/>' for i in range(3)]
    begins = {"$ ": "f-public m b", "warning:": "f-schedule m", "…": "f-muted m"}
    kind = ""
    for i, line in enumerate(lines):
        if not line.startswith("    "):  # what is indented goes on from the line above
            kind = next((found for begin, found in begins.items() if line.startswith(begin)), "f-ink m")
        out.append(text(20, 54 + 18 * i, line, kind, more=' xml:space="preserve"'))
    return out


def axis(x, y, w, h, one, across):
    """Rules and numbers; answers how a value becomes a length from the axis' beginning."""
    begin, end = one["axis"]
    long = w if across else h
    out = []
    for tick in one["ticks"]:
        at = long * (tick - begin) / (end - begin)
        if across:
            out += [path([[x + at, y], [x + at, y + h]], "s-rule", 1), text(x + at, y + h + 16, f"{tick:g}", "f-muted", "middle")]
        else:
            out += [path([[x, y + h - at], [x + w, y + h - at]], "s-rule", 1), text(x - 6, y + h - at + 4, f"{tick:g}", "f-muted", "end")]
    return out, lambda value: long * (value - begin) / (end - begin)


def sign(x, y, shape):
    if shape == "ours":
        return f'<path d="M{number(x)} {number(y - 6.5)}l6.5 6.5l-6.5 6.5l-6.5-6.5z" class="f-ours"/>'
    if shape == "schedule":
        return rect(x - 4.5, y - 4.5, 9, 9, "f-schedule", 1, 0)
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="4.5" class="f-baseline"/>'


def head(one):
    x, y = one["at"][:2]
    return [text(one.get("left", x), y - 30, one["name"], "f-ink h"), text(one.get("left", x), y - 12, one["what"], "f-muted")]


def dots(of):
    out = [sign(*one["at"], one["kind"]) + text(one["at"][0] + 12, one["at"][1] + 4.5, one["name"]) for one in of["legend"]]
    for one in of["panels"]:
        x, y, w = one["at"]
        leap = of.get("leading", 18)
        h = leap * len(one["rows"]) + 4
        rules, length = axis(x, y, w, h, one, True)
        out += head(one) + rules
        if "zero" in one:
            out.append(path([[x + length(0), y], [x + length(0), y + h]], "s-ink", 1.5))
        for i, (name, kind, mean, low, high) in enumerate(one["rows"]):
            at = y + leap * (i + 0.5) + 2
            out.append(text(x - 8, at + 4.5, name, "f-ink b" if kind == "ours" else "f-ink", "end"))
            if mean is None:
                continue
            if mean > one["axis"][1]:
                out += [arrow([[x + w - 26, at], [x + w, at]], kind), text(x + w - 32, at + 4.5, f"{mean:g}", f"f-{kind}", "end")]
            else:
                out += [path([[x + length(low), at], [x + length(high), at]], f"s-{kind}", 2), sign(x + length(mean), at, kind)]
    return out + [texts(*one["at"], one["lines"], "f-muted") for one in of["texts"]]


def lines(of):
    out = [sign(*one["at"], one["kind"]) + text(one["at"][0] + 12, one["at"][1] + 4.5, one["name"]) for one in of["legend"]]
    for one in of["panels"]:
        x, y, w, h = one["at"]
        rules, length = axis(x, y, w, h, one, False)
        across = [x + 14 + (w - 28) * i / (len(one["across"]) - 1) for i in range(len(one["across"]))]
        out += head(one) + rules + [text(at, y + h + 17, words, "f-muted", "middle") for at, words in zip(across, one["across"])]
        out.append(text(x + w / 2, y + h + 36, one["below"], "f-muted", "middle"))
        for kind, values in one["curves"]:
            points = [[at, y + h - length(value)] for at, value in zip(across, values)]
            out += [path(points, f"s-{kind}" + (" d" if kind == "baseline" else ""), 2)] + [sign(*point, kind) for point in points]
    return out + [texts(*one["at"], one["lines"], "f-muted") for one in of["texts"]]


def draw(of):
    kinds = {"diagram": diagram, "steps": steps, "terminal": terminal, "dots": dots, "lines": lines}
    size = f'width="{of["width"]}" height="{of["height"]}" viewBox="0 0 {of["width"]} {of["height"]}"'
    body = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', f"<title>{html.escape(of['title'])}</title>", style(),
            rect(0, 0, of["width"], of["height"], "f-paper", 0, 0)] + kinds[of["kind"]](of) + ["</svg>"]
    return "\n".join(body) + "\n"


def main():
    check, stale = sys.argv[1:] == ["--check"], []
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    for source in sorted(FOLDER.glob("*.json")):
        picture, made = source.with_suffix(".svg"), draw(json.loads(source.read_text(encoding="utf-8")))
        if check and (not picture.exists() or picture.read_text(encoding="utf-8") != made):
            stale.append(picture.name)
        elif not check:
            picture.write_text(made, encoding="utf-8")
    stale += [picture.name for picture in FOLDER.glob("*.svg") if not picture.with_suffix(".json").exists()]
    if stale:
        sys.exit(f"pictures: not what their sources make: {', '.join(stale)}; scripts/pictures.py draws them")


if __name__ == "__main__":
    main()
