"""Writes the mutated programs to a folder, for a machine with GPUs that builds nothing."""

import hashlib
import json
import shutil
import subprocess

from fault_list import LIST, UNMUTATED, chosen, to_build
from planting import Planted, compile_targets, program_of


def command_build(options):
    """Writes each mutated program, stripped, to DIR/<fault>, beside DIR/unmutated, modules in DIR/lib, and the list."""
    faults = chosen(options)
    work, rows = to_build(faults, options.side), []
    options.to.mkdir(parents=True, exist_ok=True)
    modules = {path.name: path.read_bytes() for path in options.build.glob("lib/lenslet_*.so")}

    def keep(catcher, folder):
        """Copies a program; returns its content."""
        target = options.to / folder / program_of(options.build, catcher).name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([options.strip, "-o", target, program_of(options.build, catcher)], check=True)
        return target.read_bytes()

    def other_programs():
        """The programs that a test program may run, by content; they are not copied to DIR."""
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(options.build.glob("bin/*"))
            if path.is_file()
        }

    unmutated = other_programs()
    kept = {c["test"]: keep(c, UNMUTATED) for fault in work for c in fault["caught_by"] if "test" in c}
    for name, content in modules.items():
        (options.to / "lib").mkdir(exist_ok=True)
        (options.to / "lib" / name).write_bytes(content)
    for number, fault in enumerate(work, 1):
        row, catchers = dict(fault), [c for c in fault["caught_by"] if "test" in c]
        with Planted(options.tree, fault):
            error = compile_targets(options, catchers)
            if error:
                row["error"] = f"does not compile: {error}"
            elif not catchers:
                row["left_out"] = f"{'pytest' if 'python' in fault['caught_by'][0] else 'ctest'} runs what catches it"
            else:
                changed = [keep(c, fault["name"]) != kept[c["test"]] for c in catchers]
                for name, content in modules.items():
                    module = options.build / "lib" / name
                    if module.read_bytes() != content:
                        shutil.copy(module, options.to / fault["name"])  # a program searches its own folder first
                        changed.append(True)
                run = [name for name, content in other_programs().items() if unmutated.get(name) != content]
                if not any(changed) and run:
                    row["left_out"] = f"stands in {', '.join(run)}, which the test runs and which is not carried"
                elif not any(changed):
                    row["error"] = "changes none of the programs that should catch it"
        row["caught_by"] = catchers
        rows.append(row)
        print(
            f"[{number}/{len(work)}] {fault['name']}: {row.get('error') or row.get('left_out') or 'built'}", flush=True
        )
        rest = [fault for fault in faults if fault not in work]
        (options.to / LIST).write_text(
            json.dumps({"side": options.side, "root": str(options.root), "faults": rows + rest}, indent=1) + "\n"
        )
    return 1 if any("error" in row for row in rows) else 0
