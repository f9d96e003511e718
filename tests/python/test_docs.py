"""Runs every block of src/doc/reference/python.md, and the block of README that is Python: here too, because this test runs
with a Python that has numpy, where there is one, and under AddressSanitizer."""
import os
import sys

import runner

SOURCE = os.environ["SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "doc"))
import run_blocks


def run(page, least, kinds=("python", "sh")):
    """The page's program, when all of its blocks have passed."""
    totals, folder = run_blocks.Totals(), run_blocks.Folder()
    try:
        with open(os.path.join(SOURCE, page)) as file:
            blocks = [block for block in run_blocks.blocks_of(page, file.read()) if block.kind in kinds]
        assert len(blocks) >= least, "%d blocks: expected %d or more" % (len(blocks), least)
        for block in blocks:
            run_blocks.do(block, folder, totals)
    finally:
        folder.remove()
    assert totals.passed == len(blocks) and not totals.failed
    return folder.names


def test_the_page():
    """src/doc/reference/python.md"""
    names = run("src/doc/reference/python.md", 10)
    assert names["again"].hash == names["world"].hash and len(names["worlds"]) == 8


def test_the_readme():
    """README: worlds are closed behind their blocks."""
    assert run("README", 1, ("python",))["world"].closed


if __name__ == "__main__":
    runner.main(sys.modules[__name__])
