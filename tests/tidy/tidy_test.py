"""The project keeps the rules that its build cannot check (rules.py)."""

import os
import re
import unittest

from tests.tidy import owners, project, rules

CPP = (".cc", ".h", ".cu", ".cuh")
CODE = CPP + (".py", ".sh", ".bzl", ".proto")


class TidyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = project.files()

    def check(self, rule, endings, skip=()):
        findings = [
            finding
            for path in self.files
            if path.endswith(endings) and not path.startswith(skip)
            for finding in rule(path, project.read(path))
        ]
        self.expect_none(findings)

    def expect_none(self, findings):
        if findings:
            self.fail("\n" + "\n".join(findings))

    def test_the_tree_is_seen(self):
        self.assertIn("common/status.h", self.files)

    def test_includes_follow_the_order_of_folders(self):
        self.check(rules.folder_order, CPP)

    def test_files_are_short(self):
        self.check(rules.length, CODE)

    def test_functions_fit_a_screen(self):
        self.check(rules.function_length, (".cc", ".cu"))

    def test_nothing_banned_is_used(self):
        self.check(rules.banned, CPP)

    def test_include_guards_are_named_after_the_file(self):
        self.check(rules.include_guard, (".h", ".cuh"))

    def test_todos_name_an_issue(self):
        self.check(rules.todo, CODE + (".md", "BUILD"), skip=("tests/tidy/",))

    def test_every_file_has_an_owner(self):
        builds = {}
        for path in self.files:
            if os.path.basename(path) == "BUILD" or path.endswith(".bzl"):
                folder = os.path.dirname(path)
                builds[folder] = builds.get(folder, "") + "\n" + project.read(path)
        code = [
            path for path in self.files
            if path.endswith(CPP + (".py", ".proto")) and not path.startswith("examples/")
        ]
        self.expect_none(list(owners.unowned(code, builds)))

    def test_exceptions_are_still_needed(self):
        long_files = {path.split(":")[0] for path in rules.LONG_FUNCTIONS}
        for path in long_files | set(rules.LONG_FILES):
            self.assertIn(path, self.files, "remove it from the exceptions")

    def test_each_package_has_a_reason(self):
        for line in project.read("deploy/packages.txt").splitlines():
            if line and line[0] not in "#[":
                self.assertRegex(line, r"^[a-z0-9.+-]+ +# \S", line)

    def test_dependencies_are_explained(self):
        explained = project.read("docs/DEPENDENCIES.md")
        packages = re.findall(
            r"^([a-z0-9][^ ]*) +#", project.read("deploy/packages.txt"), re.M)
        pinned = re.findall(
            r"^([A-Za-z0-9-]+)==.* #", project.read("tools/requirements.txt"), re.M)
        self.assertTrue(packages and pinned)
        self.expect_none([
            f"docs/DEPENDENCIES.md does not say why {name} was chosen"
            for name in packages + pinned if f"`{name}`" not in explained
        ])


if __name__ == "__main__":
    unittest.main()
