# SPDX-License-Identifier: GPL-2.0-or-later
"""overlaps.py FILE...: no two texts of gnuplot's SVG pictures touch, and none leaves the picture. Boxes are
estimated: a character is half as wide as high. Status 1 if any do."""
import re
import sys

TEXT = re.compile(r'<g transform="translate\(([\d.-]+),([\d.-]+)\)( rotate\([^)]*\))?"[^>]*font-size="([\d.]+)"'
                  r'[^>]*text-anchor="(\w+)">\s*<text>(.*?)</text>', re.S)
SPACE = 3  # px between the boxes of two texts


def boxes(svg):
    """(left, top, right, bottom, text) of each text that is not rotated."""
    for x, y, rotated, size, anchor, inside in TEXT.findall(svg):
        text = re.sub(r'<[^>]*>', '', inside)
        text = re.sub(r'&[^;]*;', 'x', text).strip()
        if rotated or not text:
            continue
        x, y, size = float(x), float(y), float(size)
        wide = 0.5 * size * len(text)
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        # capitals and what hangs below the line
        yield left, y - 0.75 * size, left + wide, y + 0.22 * size, text


def wrong(path):
    with open(path, encoding="utf-8") as f:
        svg = f.read()
    right, bottom = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    found = list(boxes(svg))
    if len(found) < 4:
        yield f"only {len(found)} texts"
    for i, a in enumerate(found):
        if a[0] < 0 or a[1] < 0 or a[2] > right or a[3] > bottom:
            yield f'"{a[4]}" leaves the picture'
        for b in found[i + 1:]:
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] + SPACE and b[1] < a[3] + SPACE:
                yield f'"{a[4]}" touches "{b[4]}"'


def main():
    bad = [f"{path}: {text}" for path in sys.argv[1:] for text in wrong(path)]
    print("\n".join(bad[:20]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
