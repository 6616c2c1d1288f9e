"""The command blocks of a Markdown file, with their annotations.

Every fence that starts with ```sh is run by docs_test.py, in order, with the
project's root as current folder, and must exit with 0. Annotations, in HTML
comments on the lines right above the fence, so that readers do not see them,
change that:

    <!-- doc-test: skip, REASON -->      is never run
    <!-- doc-test: long, REASON -->      is run only with SELARI_DOC_TEST_LONG=1
    <!-- doc-test: background, TEXT -->  is started and left running once its
                                         output contains TEXT; ended with
                                         SIGTERM after the file's last block
    <!-- doc-test: wait, TEXT -->        first waits until the output of a block
                                         that runs in the background has TEXT
    <!-- doc-test: append, FLAGS -->     `./selari train` gets these flags too,
                                         to make it short
    <!-- doc-test: exit, N -->           must exit with N
    <!-- doc-test: output, TEXT -->      its output must contain TEXT
    <!-- doc-test: shell, PROGRAM -->    is given to PROGRAM instead of bash

A block may carry several. What is shown and not run (output, files) goes into
fences of other languages, such as ```text.
"""

import dataclasses
import re

KINDS = (
    "skip", "long", "background", "wait", "append", "exit", "output", "shell",
)

# Languages that would be commands if they were written "sh".
_DISGUISED = ("bash", "shell", "console", "shell-session", "zsh", "")


@dataclasses.dataclass
class Block:
    """One fence: where it starts, its commands, its annotations by kind."""

    line: int
    commands: str
    notes: dict


def blocks(text):
    """The ```sh blocks of a Markdown text.

    Raises:
      ValueError: for an unknown annotation, an annotation without a block, a
        fence that never ends, or commands in a fence of another name.
    """
    found, notes, fence = [], {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if fence is not None:
            if line.strip() == fence["close"]:
                if fence["language"] == "sh":
                    body = "\n".join(fence["lines"]) + "\n"
                    found.append(Block(fence["line"], body, fence["notes"]))
                fence = None
            else:
                fence["lines"].append(line[fence["indent"]:])
            continue
        note = re.match(r"\s*<!-- doc-test: (\w+)(?:, (.*?))? -->\s*$", line)
        opening = re.match(r"(\s*)(```+|~~~+)\s*([\w-]*)\s*$", line)
        if note:
            if note.group(1) not in KINDS:
                raise ValueError(f"line {number}: unknown annotation {note.group(1)}")
            notes[note.group(1)] = note.group(2) or ""
        elif opening:
            if opening.group(3) in _DISGUISED:
                raise ValueError(
                    f"line {number}: name the language of this fence: sh for "
                    "commands (they are tested), text for anything shown"
                )
            fence = {
                "line": number, "indent": len(opening.group(1)), "lines": [],
                "close": opening.group(2), "language": opening.group(3),
                "notes": notes,
            }
            if notes and fence["language"] != "sh":
                raise ValueError(f"line {number}: annotation of a block that is not sh")
            notes = {}
        elif line.strip() and notes:
            raise ValueError(f"line {number}: annotation without a block below it")
    if fence is not None or notes:
        raise ValueError("the last fence or annotation has no end")
    return found


def commands_to_run(block):
    """The block's script, with the flags of `append` added."""
    extra = block.notes.get("append")
    if not extra:
        return block.commands
    joined = block.commands.replace("\\\n", " ")
    return re.sub(r"^(\s*\./selari train\b.*)$", rf"\1 {extra}", joined, flags=re.M)
