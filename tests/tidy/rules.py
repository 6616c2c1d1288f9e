"""The rules of tests/tidy: each looks at one file's text and yields findings.

A finding is "PATH:LINE: what is wrong and what to do". Exceptions are listed
here, each with its reason, so that a new one is a decision that a reader sees.
"""

import re

# Folders whose headers a folder may include, besides its own. Tests may
# include all.
MAY_INCLUDE = {
    "proto": set(),
    "common": {"proto"},
    "kernels": {"proto", "common"},
    "server": {"proto", "common", "kernels"},
    "worker": {"proto", "common", "kernels"},
    "cli": {"proto", "common", "kernels", "server", "worker"},
}

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# PATH: why it is longer than FILE_LINES_MAX.
LONG_FILES = {}

# PATH:NAME: why this function is longer than FUNCTION_LINES_MAX.
LONG_FUNCTIONS = {}

# (pattern, what to do instead, path prefixes where it may stand)
BANNED = [
    (r"\bthrow\b", "return an absl::Status", []),
    (
        r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep|SleepFor)\s*\(",
        "wait on a CondVar or through common/clock.h",
        ["common/clock.cc"],
    ),
    (
        r"\bstd::(cout|cerr|clog)\b",
        "only the command line talks to the user; elsewhere return a Status",
        ["cli/"],
    ),
    (
        r"\b(std::(recursive_|shared_|timed_)?mutex|std::condition_variable\w*|"
        r"std::(lock_guard|unique_lock|scoped_lock)|absl::(Mutex\w*|CondVar))\b",
        "use common/mutex.h: ThreadSanitizer and clang's analysis know it",
        ["common/mutex.h"],
    ),
    (r"#\s*pragma\s+once", "use an include guard", []),
    (r"\busing\s+namespace\s+std\b", "name what you use", []),
]

# The comment that starts a macro's or a raw string's own text is no code.
_TOKENS = re.compile(
    r'R"(?P<tag>[^ ()\\]{0,16})\((?:.|\n)*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*"
    r"|/\*(?:.|\n)*?\*/"
)


def code_only(text):
    """The C++ text with comments and literals blanked, lines kept."""

    def blank(match):
        token = match.group(0)
        if token[0] == "'" and _is_digit_separator(text, match.start()):
            return token
        return re.sub(r"[^\n]", " ", token)

    return _TOKENS.sub(blank, text)


def _is_digit_separator(text, at):
    return at > 0 and text[at - 1].isalnum()


def folder_order(path, text):
    """Includes follow proto -> common -> kernels -> server | worker -> cli."""
    folder = path.split("/")[0]
    if folder not in MAY_INCLUDE:
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+[<"]([^">]+)[">]', line)
        if not match:
            continue
        included = match.group(1)
        if included.endswith(".pb.h") and included.startswith("selari/"):
            other = "proto"
        else:
            other = included.split("/")[0]
        if other == "tests" or (other in MAY_INCLUDE and other != folder):
            if other not in MAY_INCLUDE[folder]:
                yield f"{path}:{number}: {folder} may not include {included}"


def length(path, text):
    """A file says one thing in FILE_LINES_MAX lines."""
    lines = text.count("\n")
    if lines > FILE_LINES_MAX and path not in LONG_FILES:
        yield (
            f"{path}:{lines}: {lines} lines; split it at {FILE_LINES_MAX}, "
            "or list it in LONG_FILES with the reason"
        )


def function_length(path, text):
    """A function fits a screen.

    Relies on clang-format's layout: a function at namespace level starts in
    column 0 and ends with a line that is exactly "}".
    """
    start = 0
    lines = code_only(text).splitlines()
    for number, line in enumerate(lines, 1):
        if line[:1] not in ("", " ", "}", "#", ")"):
            start = number
        if line.rstrip() == "}" and start:
            size = number - start + 1
            name = _function_name(lines[start - 1])
            if size > FUNCTION_LINES_MAX and f"{path}:{name}" not in LONG_FUNCTIONS:
                yield (
                    f"{path}:{start}: {name} has {size} lines; the limit is "
                    f"{FUNCTION_LINES_MAX}"
                )
            start = 0
        elif line.startswith("};"):  # a class, or a table
            start = 0


def _function_name(line):
    match = re.search(r"([\w:~]+)\s*\(", line)
    return match.group(1) if match else line.strip()


def banned(path, text):
    """Calls that this project does without."""
    code = code_only(text)
    for pattern, instead, allowed in BANNED:
        if any(path.startswith(prefix) for prefix in allowed):
            continue
        for match in re.finditer(pattern, code):
            number = code.count("\n", 0, match.start()) + 1
            yield f"{path}:{number}: {match.group(0).strip()}: {instead}"


def include_guard(path, text):
    """SELARI_PATH_TO_FILE_H_."""
    guard = "SELARI_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"{path}:1: the include guard should be {guard}"


def todo(path, text):
    """A TODO names an issue."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line) and not re.search(
            r"\bTODO\((issue |#)\d+\): \S", line
        ):
            yield f"{path}:{number}: write TODO(#N): what, with the issue's number"
