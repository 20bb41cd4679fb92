"""Tables of weights/README.md: the seeds of the training, and what the robust set reads and refuses."""

import json

from common import ROOT

from tables import markdown

README = ROOT / "weights" / "README.md"
SETS = ("robust", "before", "mnist")
# The title of a row, its goal in percent, and where its figure is in an entry of `evaluation`. A figure above the goal
# is better, except of the calibration error.
ROWS = (
    ("MNIST test", "99.6 %", "mnist_test"),
    ("MNIST-C, mean of fifteen corruptions", "97.5 %", "mnist_c_mean"),
    ("digits in handwriting fonts", "98.5 %", "handwriting_digits"),
    ("calibration error, 15 bins", "0.3 %", "ece"),
    ("letters in handwriting fonts refused, without O, o, I, l", "95 %", "refused/letters"),
    ("all letters refused", "", "refused/letters_all"),
    ("doodles refused", "97 %", "refused/doodles"),
    ("noise refused", "99.9 %", "refused/noise"),
    ("blobs refused", "99.9 %", "refused/blobs"),
    ("flat grey refused", "99.9 %", "refused/blank"),
    ("digits under the fifteen corruptions kept", "", "refused/mnist_c_kept"),
    ("digits in handwriting fonts kept", "", "refused/handwriting_digits_kept"),
    ("test digits kept by the threshold in the file", "99 %", "refused_at_threshold_in_file/test_digits_kept"),
    ("digits in handwriting fonts kept by it", "", "refused_at_threshold_in_file/handwriting_digits_kept"),
)


def record(name):
    return json.loads((README.parent / name).read_text(encoding="utf-8"))


def figure(entry, place):
    for key in place.split("/"):
        entry = entry[key]
    return f"{entry:.2f} %"


def source(name):
    return f"From [{name}]({name}), by `docs/results/update_readme.py`."


def seeds():
    """Wrong validation images by learning rate and seed; the chosen student in bold."""
    training = record("training.json")
    students, chosen = training["students"], training["students"][training["chosen"]]
    columns = sorted({student["seed"] for student in students})
    lines = []
    for lr in sorted({student["lr"] for student in students}):
        wrong = {student["seed"]: student["wrong"] for student in students if student["lr"] == lr}
        cells = [
            f"**{wrong[seed]}**" if (lr, seed) == (chosen["lr"], chosen["seed"]) else str(wrong[seed])
            for seed in columns
        ]
        lines.append([str(lr), *cells])
    scores = sorted(student["score"] for student in students)
    words = (
        f"Chosen: learning rate {chosen['lr']}, seed {chosen['seed']}, score {scores[0]:.1f} (the next has"
        f" {scores[1]:.1f})."
    )
    return f"{markdown('', ['seed', *map(str, columns)], lines)}\n\n{words} {source('training.json')}"


def robust():
    """What each set reads and refuses, and the corruptions one by one."""
    sets = record("robust.json")["evaluation"]
    rows = [[title, goal, *(figure(sets[name], place) for name in SETS)] for title, goal, place in ROWS]
    corruptions = [
        [name.replace("_", " "), *(figure(sets[one]["mnist_c"], name) for one in SETS)]
        for name in sets[SETS[0]]["mnist_c"]
    ]
    return "\n\n".join(
        [
            markdown("", ["", "goal", *SETS], rows),
            markdown("", ["corruption", *SETS], corruptions),
            source("robust.json"),
        ]
    )


def sections():
    """{name of its markers: what stands between them}."""
    return {"seeds": seeds(), "robust": robust()}
