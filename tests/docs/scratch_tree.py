"""A copy of the tree for tests that change it."""

import os
import shutil
import subprocess

LEFT_OUT = shutil.ignore_patterns("build", "build-*", ".git", "data", ".*cache", "__pycache__")


def tree_files(root):
    """What is tracked or new and not ignored, as it stands; everything but build folders where there is no git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    # A tree without .git may be in a folder that another repository ignores.
    asked = (root / ".git").exists() and shutil.which("git")
    listed = subprocess.run(command, cwd=root, capture_output=True) if asked else None
    if listed is not None and listed.returncode == 0:
        return [name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()]
    names = []
    for folder, folders, files in os.walk(root):
        left_out = LEFT_OUT(folder, folders + files)
        folders[:] = [name for name in folders if name not in left_out]
        names += [os.path.relpath(os.path.join(folder, name), root) for name in files if name not in left_out]
    return names


def copy_tree(root, target):
    """Copies the tree, or updates a copy: rewrites the files that differ, so that a build in the copy notices them."""
    names = tree_files(root)
    for name in names:
        source, copy = root / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            shutil.copy2(source, copy)
        elif source.read_bytes() != copy.read_bytes():
            shutil.copy(source, copy)
    for name in set(tree_files(target)) - set(names):
        (target / name).unlink()
