"""Characters as a pen writes them, for the robust training: the path of each, drawn by the authors, no font.

A line of LETTERS or DIGITS is one way to write one character: strokes apart by "/", each a list of points "x,y" on a
grid of 10 by 10 with y downwards. A stroke that begins with "~" is a smooth curve through its points, else straight
pieces. O, o, I, l, S, s, Z and z are not among the letters: a hand writes them as it writes 0, 1, 5 and 2.
"""

import numpy as np

POINTS = 112  # a character, over all its strokes
STROKES = 4

LETTERS = """
A 0,10 5,0 10,10 / 2,6 8,6
A ~1,10 1,4 5,0 9,4 9,10 / 1,6 9,6
B 1,0 1,10 / ~1,0 6,0 8,2 6,5 1,5 / ~1,5 7,5 9,7 7,10 1,10
C ~9,2 6,0 2,2 1,5 2,8 6,10 9,8
D 1,0 1,10 / ~1,0 5,0 9,3 9,7 5,10 1,10
E 9,0 1,0 1,10 9,10 / 1,5 7,5
E ~9,1 5,0 2,2 5,5 2,7 4,10 9,9
F 9,0 1,0 1,10 / 1,5 7,5
G ~9,2 6,0 2,2 1,5 2,8 6,10 9,9 / 9,10 9,6 5,6
H 1,0 1,10 / 9,0 9,10 / 1,5 9,5
J 2,0 9,0 / ~7,0 7,7 5,10 2,9 1,7
K 1,0 1,10 / 9,0 1,5 9,10
L 1,0 1,10 8,10
L ~7,1 4,0 3,4 3,8 1,10 3,9 9,10
M 0,10 1,0 5,7 9,0 10,10
M ~0,10 1,2 3,1 5,9 7,1 9,2 10,10
N 1,10 1,0 9,10 9,0
P 1,0 1,10 / ~1,0 6,0 9,2 6,5 1,5
Q ~5,0 1,3 1,7 5,10 9,7 9,3 5,0 / 5,7 10,11
R 1,0 1,10 / ~1,0 6,0 9,2 6,5 1,5 / 4,5 9,10
T 0,0 10,0 / 5,0 5,10
U ~1,0 1,6 2,9 5,10 8,9 9,6 9,0
V 0,0 5,10 10,0
W 0,0 2,10 5,3 8,10 10,0
X 0,0 10,10 / 10,0 0,10
Y 0,0 5,5 10,0 / 5,5 5,10
a ~8,3 5,2 2,4 1,7 3,10 6,9 8,5 / ~8,2 8,8 10,10
a ~2,3 5,2 8,4 8,10 / ~8,6 4,6 1,8 3,10 6,10 8,8
b 1,0 1,10 / ~1,6 4,4 8,6 8,8 5,10 1,9
d ~8,6 5,4 2,5 1,8 3,10 6,9 8,7 / 8,0 8,10
e ~1,6 9,6 8,3 5,2 2,4 1,7 3,10 7,10 9,8
f ~8,1 6,0 4,2 4,10 / 1,4 7,4
f ~7,1 5,0 4,4 4,12 2,13 / 1,5 7,5
g ~8,3 5,2 2,4 3,7 6,7 8,4 / ~8,2 8,10 5,13 2,11
g ~8,3 5,2 2,4 3,7 6,7 8,4 / ~8,2 8,9 5,13 2,12 5,9 10,8
h 1,0 1,10 / ~1,6 4,4 7,5 8,10
i 5,4 5,10 / 5,0 5,0.5
j ~6,4 6,10 4,13 1,12 / 6,1 6,1.5
k 1,0 1,10 / 7,4 1,7 8,10
m 0,4 0,10 / ~0,6 2,4 5,5 5,10 / ~5,6 7,4 10,5 10,10
n 1,4 1,10 / ~1,6 4,4 7,5 8,10
p 1,4 1,14 / ~1,6 4,4 8,6 8,8 5,10 1,9
q ~8,6 5,4 2,5 1,8 3,10 6,9 8,7 / 8,4 8,14 10,12
r 1,4 1,10 / ~1,7 3,5 6,4
r ~0,6 2,3 3,5 6,5 6,8 8,10
t ~4,0 4,8 6,10 8,9 / 1,3 7,3
u ~1,4 1,8 3,10 6,9 8,6 / 8,4 8,10
v 1,4 4,10 7,4
w 0,4 2,10 5,5 8,10 10,4
w ~0,4 2,10 5,8 5,5 6,9 9,9 10,4
x 1,4 8,10 / 8,4 1,10
y 1,4 4,9 / 8,4 3,14
y ~1,4 2,8 5,9 8,5 / ~8,4 8,10 5,14 2,12
& ~9,10 3,4 2,2 4,0 6,2 2,6 1,8 4,10 7,8 9,5
# 3,0 2,10 / 8,0 7,10 / 0,3 10,3 / 0,7 10,7
@ ~7,5 5,3 3,5 5,7 7,5 / ~7,3 7,7 9,6 9,3 5,0 1,3 1,7 5,10 8,10
? ~1,2 4,0 7,2 6,4 4,5 4,7 / 4,9.5 4,10
+ 5,1 5,9 / 1,5 9,5
= 1,3 9,3 / 1,7 9,7
% 8,0 2,10 / ~2,1 4,2 2,4 1,2 2,1 / ~8,6 9,8 8,10 6,8 8,6
* 5,1 5,9 / 1,3 9,7 / 9,3 1,7
< 9,1 1,5 9,9
> 1,1 9,5 1,9
^ 0,9 5,1 10,9
~ ~0,6 3,3 6,6 10,3
! 5,0 5,7 / 5,9.5 5,10
( ~6,0 3,3 3,7 6,10
) ~4,0 7,3 7,7 4,10
[ 7,0 3,0 3,10 7,10
Δ 5,0 10,10 0,10 5,0
Ω ~1,10 4,10 1,6 2,1 8,1 9,6 6,10 9,10
Ψ ~1,0 1,4 5,7 9,4 9,0 / 5,0 5,10
Φ ~5,2 1,5 5,8 9,5 5,2 / 5,0 5,10
π 0,1 10,1 / 3,1 2,10 / ~7,1 7,8 9,10
λ ~1,0 4,3 9,10 / 5,5 1,10
Ж 5,0 5,10 / 0,0 5,5 0,10 / 10,0 5,5 10,10
И 1,0 1,10 9,0 9,10
Ш 0,0 0,10 10,10 10,0 / 5,0 5,10
€ ~9,2 6,0 3,2 2,5 3,8 6,10 9,8 / 0,4 6,4 / 0,6 6,6
"""

DIGITS = """
0 ~5,0 2,2 1,5 2,8 5,10 8,8 9,5 8,2 5,0
0 ~6,0 3,1 1,5 2,9 5,10 8,7 8,3 6,0 3,1
1 5,0 5,10
1 2,3 5,0 5,10
1 0,5 5,0 5,10
1 2,3 5,0 5,10 / 2,10 8,10
1 ~1,4 4,2 5,0 / 5,0 5,10
2 ~1,3 3,0 7,0 8,3 5,6 1,10 / 1,10 9,10
2 ~1,2 5,0 8,2 6,6 2,9 1,10 3,8 5,9 9,10
2 ~1,3 4,0 8,2 7,5 1,10 5,9 9,10
3 ~1,1 5,0 8,2 7,4 4,5 7,6 9,8 6,10 1,9
3 1,0 8,0 4,4 / ~4,4 8,5 9,8 6,10 1,9
4 2,0 1,6 9,6 / 7,2 7,10
4 7,10 7,0 0,7 10,7
4 ~3,0 2,3 1,6 / 1,6 10,5 / 7,0 6,10
4 4,0 0,7 9,7 / 6,4 6,10
5 8,0 2,0 2,4 / ~2,4 6,4 9,6 8,9 5,10 1,9
5 2,0 2,4 / ~2,4 6,4 9,6 8,9 5,10 1,9 / 2,0 9,0
5 ~9,0 4,0 3,4 7,5 8,8 5,10 1,9
6 ~8,0 4,2 1,6 2,9 5,10 8,8 7,6 4,5 1,7
6 ~5,0 2,4 1,7 3,10 6,9 7,7 5,6 2,7
7 1,0 9,0 4,10
7 1,0 9,0 4,10 / 3,5 8,5
7 1,2 1,0 9,0 4,10
7 1,2 1,0 9,0 4,10 / 3,5 8,5
7 ~1,1 3,0 5,1 9,0 6,4 5,10
8 ~8,2 5,0 2,2 4,4 7,6 8,8 5,10 2,8 3,6 6,4 8,2
8 ~5,0 3,2 5,4 7,2 5,0 / ~5,4 2,7 5,10 8,7 5,4
8 ~8,1 4,0 2,2 5,5 8,8 5,10 2,8 5,5 9,1
9 ~8,2 5,0 2,2 2,5 5,6 8,4 8,2 / 8,2 8,10
9 ~8,2 5,0 2,2 2,5 5,6 8,3 / ~8,2 8,7 6,10 2,9
9 ~8,3 5,0 2,2 3,5 7,5 8,2 6,10
"""


def curve(points):
    """Returns points of the Catmull-Rom curve through the points [N, 2]."""
    closed = np.allclose(points[0], points[-1])
    before = points[-2] if closed else 2 * points[0] - points[1]
    after = points[1] if closed else 2 * points[-1] - points[-2]
    p = np.concatenate([before[None], points, after[None]])
    t = np.linspace(0, 1, 24, endpoint=False)[:, None]
    pieces = [
        0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
        for a, b, c, d in zip(p, p[1:], p[2:], p[3:])
    ]
    return np.concatenate([*pieces, points[-1:]])


def along(path, count):
    """Returns `count` points at equal distances along a path [N, 2]."""
    length = np.concatenate([[0], np.linalg.norm(np.diff(path, axis=0), axis=1).cumsum()])
    at = np.linspace(0, length[-1], count)
    return np.stack([np.interp(at, length, path[:, axis]) for axis in (0, 1)], 1)


def skeletons(text):
    """Returns names [K], points float32 [K, POINTS, 2] around 0, and the stroke of each point int64 [K, POINTS]."""
    names, points, strokes = [], [], []
    for line in text.strip().splitlines():
        name, rest = line.split(" ", 1)
        paths = []
        for stroke in rest.split(" / "):
            corners = np.array([[float(v) for v in pair.split(",")] for pair in stroke.lstrip("~").split()])
            paths.append(curve(corners) if stroke.startswith("~") else corners)
        lengths = np.array([np.linalg.norm(np.diff(path, axis=0), axis=1).sum() for path in paths])
        counts = np.maximum(2, np.floor(lengths / lengths.sum() * (POINTS - 2 * len(paths))).astype(int) + 2)
        counts[counts.argmax()] += POINTS - counts.sum()
        all_points = np.concatenate([along(path, count) for path, count in zip(paths, counts)])
        names.append(name)
        points.append(all_points - (all_points.min(0) + all_points.max(0)) / 2)
        strokes.append(np.repeat(np.arange(len(paths)), counts))
    return names, np.stack(points).astype(np.float32), np.stack(strokes)
