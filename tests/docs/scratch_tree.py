"""A copy of the tree to try things in."""

import shutil
import subprocess


def copy_tree(root, target):
    """What is tracked or new and not ignored, as it stands; everything but build folders where there is no git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    # A tree without .git may lie in a folder that some other repository ignores.
    asked = (root / ".git").exists() and shutil.which("git")
    listed = subprocess.run(command, cwd=root, capture_output=True) if asked else None
    if listed is None or listed.returncode:
        shutil.copytree(root, target, ignore=shutil.ignore_patterns("build", "build-*", ".git", "data", ".*cache"))
        return
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)
