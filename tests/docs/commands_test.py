"""docs/COMMANDS.md is what `selari COMMAND --help` says, word for word.

To bring it up to date:

    ./selari build && python3 tests/docs/commands_test.py bazel-bin/cli/selari --update
"""

import pathlib
import re
import subprocess
import sys
import unittest

BINARY = ""
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "COMMANDS.md"

HEADER = """# Commands

What `selari COMMAND --help` prints; `selari --help` lists the commands.
<!-- Made by tests/docs/commands_test.py --update. -->
"""


def help_of(*command):
    result = subprocess.run(
        [BINARY, *command, "--help"], capture_output=True, text=True, check=False)
    if result.returncode != 0 or result.stderr:
        raise AssertionError(f"selari {' '.join(command)} --help: {result}")
    return result.stdout


def commands(text):
    """The names below "Subcommands:" in a help text."""
    _, found, rest = text.partition("Subcommands:\n")
    lines = rest.split("\n\n")[0].splitlines() if found else []
    return [line.split()[0] for line in lines if re.match(r"  [a-z]", line)]


def document():
    parts = [HEADER]
    for name in commands(help_of()):
        pages = [(name,)] + [(name, sub) for sub in commands(help_of(name))]
        for page in pages:
            level = "#" * (len(page) + 1)
            lines = [line.rstrip() for line in help_of(*page).strip().splitlines()]
            parts.append(
                f"\n{level} selari {' '.join(page)}\n\n```text\n"
                + "\n".join(lines) + "\n```\n")
    return "".join(parts)


class CommandsTest(unittest.TestCase):
    maxDiff = None

    def test_each_command_has_examples(self):
        names = commands(help_of())
        self.assertIn("train", names)
        for name in names:
            self.assertIn(f"selari {name}", help_of(name).partition("Examples:")[2], name)

    def test_document_is_up_to_date(self):
        self.assertEqual(DOCUMENT.read_text(encoding="utf-8"), document(), __doc__)


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if sys.argv[1:] == ["--update"]:
        DOCUMENT.write_text(document(), encoding="utf-8")
    else:
        unittest.main()
