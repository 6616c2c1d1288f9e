"""The reader of Markdown files finds blocks, annotations and mistakes."""

import unittest

from tests.docs import blocks as b

FENCE = "```"


class BlocksTest(unittest.TestCase):
    def test_finds_only_commands(self):
        text = f"a\n{FENCE}sh\nls\n{FENCE}\n{FENCE}text\nout\n{FENCE}\n"
        found = b.blocks(text)
        self.assertEqual([(x.line, x.commands) for x in found], [(2, "ls\n")])

    def test_indented_in_a_list(self):
        found = b.blocks(f"* a\n\n  {FENCE}sh\n  ls\n  {FENCE}\n")
        self.assertEqual(found[0].commands, "ls\n")

    def test_annotations_belong_to_the_next_block(self):
        text = (
            "<!-- doc-test: exit, 3 -->\n<!-- doc-test: output, no such -->\n"
            f"{FENCE}sh\nls x\n{FENCE}\n\n{FENCE}sh\nls\n{FENCE}\n"
        )
        first, second = b.blocks(text)
        self.assertEqual(first.notes, {"exit": "3", "output": "no such"})
        self.assertEqual(second.notes, {})

    def test_append_shortens_training_only(self):
        text = (
            "<!-- doc-test: append, --steps=2 -->\n"
            f"{FENCE}sh\n./selari train \\\n  job\n./selari status\n{FENCE}\n"
        )
        self.assertEqual(
            b.commands_to_run(b.blocks(text)[0]),
            "./selari train    job --steps=2\n./selari status\n",
        )

    def test_mistakes(self):
        for text in (
            f"{FENCE}sh\nls\n",
            f"{FENCE}bash\nls\n{FENCE}\n",
            f"{FENCE}\nls\n{FENCE}\n",
            f"<!-- doc-test: sometimes -->\n{FENCE}sh\nls\n{FENCE}\n",
            f"<!-- doc-test: skip, x -->\nwords\n{FENCE}sh\nls\n{FENCE}\n",
            "<!-- doc-test: skip, x -->\n",
        ):
            with self.assertRaises(ValueError, msg=text):
                b.blocks(text)


if __name__ == "__main__":
    unittest.main()
