"""Which files the BUILD files own, read without Bazel.

A folder's macros (its .bzl files) count as part of its BUILD file.
"""

import ast
import fnmatch


class BuildFile:
    """The strings and globs of one BUILD file."""

    def __init__(self, text):
        self.names = set()
        self._patterns = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                self._add_call(node)
            elif isinstance(node, ast.ListComp):
                self._add_comprehension(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.names.add(node.value.lstrip(":"))

    def _add_call(self, call):
        function = getattr(call.func, "id", "")
        strings = {
            argument.arg: argument.value.value
            for argument in call.keywords
            if isinstance(argument.value, ast.Constant)
        }
        if function == "glob":
            for node in ast.walk(call):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    self._patterns.append(node.value)
        # Macros that derive the name of a source from the target's.
        elif function == "fuzz_target":
            self.names.add(strings["name"] + "_fuzz.cc")

    def _add_comprehension(self, comprehension):
        """[rule(srcs = [n + ".cc"]) for n in ["a", "b"]] owns a.cc and b.cc."""
        loop = comprehension.generators[0]
        values = [
            node.value for node in ast.walk(loop.iter) if isinstance(node, ast.Constant)
        ]
        for node in ast.walk(comprehension.elt):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.left, ast.Name)
                and node.left.id == getattr(loop.target, "id", None)
                and isinstance(node.right, ast.Constant)
            ):
                self.names.update(value + node.right.value for value in values)

    def owns(self, name):
        """Whether a rule lists `name`, relative to the BUILD file."""
        return name in self.names or any(
            fnmatch.fnmatch(name, pattern.replace("**/", "*"))
            for pattern in self._patterns
        )


def unowned(files, build_texts):
    """The paths of `files` that no rule of the nearest BUILD file lists.

    Args:
      files: paths relative to the project.
      build_texts: folder ("" for the root) -> text of its BUILD and .bzl files.
    """
    parsed = {folder: BuildFile(text) for folder, text in build_texts.items()}
    for path in files:
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in parsed:
                break
        name = path[len(folder) + 1 :] if folder else path
        if folder not in parsed or not parsed[folder].owns(name):
            yield f"{path}:1: no target of {folder or '.'}/BUILD owns this file"
