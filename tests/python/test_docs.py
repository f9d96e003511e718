"""Runs every indented block of src/doc/reference/python.md, and of the section "Python" of README: a block that is Python in one program
for each of the two files, any other block as commands of a shell in the source folder."""
import ast
import contextlib
import io
import os
import re
import subprocess
import sys

import runner

SOURCE = os.environ["SOURCE_DIR"]
BUILD = os.environ.get("BUILD_DIR") or os.path.join(SOURCE, "build")


def blocks(text):
    """The indented blocks; an empty line between two of them does not part them if the first ends in an open line."""
    found = []
    for part in re.split(r"\n(?=\S)", "\n" + text):
        lines = part.split("\n")
        begin = next((i for i, line in enumerate(lines) if line.startswith("    ")), None)
        if begin is not None:
            found.append("\n".join(line[4:] for line in lines[begin:]).rstrip() + "\n")
    return found


def is_python(block):
    try:
        ast.parse(block)
        return True
    except SyntaxError:
        return False


def run_blocks(text, least):
    names, count = {"__name__": "page"}, 0
    for block in blocks(text):
        if is_python(block):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, "a block that begins '%s'" % block.split("\n")[0], "exec"), names)
        else:
            commands = block.replace("build/python", BUILD + "/python").replace("build/troupe", BUILD + "/troupe")
            done = subprocess.run(["sh", "-ec", commands.replace("python3 ", sys.executable + " ")], cwd=SOURCE,
                                  capture_output=True, text=True, timeout=250)
            assert done.returncode == 0, "%s: %s" % (block, done.stderr)
        count += 1
    assert count >= least, "%d blocks: expected %d or more" % (count, least)
    return names


def test_the_page():
    """src/doc/reference/python.md"""
    with open(os.path.join(SOURCE, "src/doc/reference/python.md")) as page:
        names = run_blocks(page.read(), 10)
    assert names["again"].hash == names["world"].hash and len(names["worlds"]) == 8


def test_the_readme():
    """README, "Python": the hash that the block prints is that of the world."""
    with open(os.path.join(SOURCE, "README")) as readme:
        section = re.search(r"^Python\n-+\n(.*?)\n\n\n", readme.read(), re.S | re.M).group(1)
    assert run_blocks(section, 1)["world"].closed


if __name__ == "__main__":
    runner.main(sys.modules[__name__])
