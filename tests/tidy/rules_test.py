"""Each rule finds what it is for, and nothing in good code."""

import unittest

from tests.tidy import owners, rules


class RulesTest(unittest.TestCase):
    def found(self, rule, path, text):
        return list(rule(path, text))

    def test_folder_order(self):
        def order(path, text):
            return self.found(rules.folder_order, path, text)

        self.assertEqual(order("server/a.cc", '#include "common/b.h"\n'), [])
        self.assertEqual(order("server/a.cc", '#include "selari/v1/job.pb.h"\n'), [])
        self.assertEqual(order("tests/a.cc", '#include "worker/b.h"\n'), [])
        self.assertIn("may not", order("server/a.cc", '#include "worker/b.h"\n')[0])
        self.assertIn("may not", order("common/a.h", '#include "kernels/b.h"\n')[0])
        self.assertIn("may not", order("worker/a.h", '#include "tests/b.h"\n')[0])

    def test_length(self):
        self.assertEqual(self.found(rules.length, "a.cc", "x\n" * 500), [])
        self.assertEqual(len(self.found(rules.length, "a.cc", "x\n" * 501)), 1)

    def test_function_length(self):
        def function(lines):
            return "int F(int a,\n      int b) {\n" + "  x();\n" * lines + "}\n"

        def size(text):
            return self.found(rules.function_length, "a.cc", text)

        self.assertEqual(size(function(67)), [])
        self.assertIn("F has 71 lines", size(function(68))[0])
        two_short = function(60) + "\n" + function(60)
        self.assertEqual(size(two_short), [])
        a_class = "class A {\n" + "  int x_;\n" * 100 + "};\n" + function(60)
        self.assertEqual(size(a_class), [])

    def test_banned(self):
        def bad(path, text):
            return self.found(rules.banned, path, text)

        self.assertIn("Status", bad("common/a.cc", "throw x;\n")[0])
        self.assertIn("CondVar", bad("common/a.cc", "::usleep(3);\n")[0])
        self.assertIn("user", bad("server/a.cc", "std::cout << 1;\n")[0])
        self.assertIn("mutex.h", bad("server/a.h", "std::mutex mu_;\n")[0])
        self.assertIn("mutex.h", bad("server/a.h", "absl::MutexLock l(&m);\n")[0])
        self.assertEqual(bad("cli/main.cc", "std::cout << 1;\n"), [])
        self.assertEqual(bad("common/mutex.h", "std::mutex mu_;\n"), [])
        self.assertEqual(bad("common/a.cc", "// may throw\n"), [])
        self.assertEqual(bad("common/a.cc", 'F("throw", R"(throw)");\n'), [])
        self.assertEqual(bad("common/a.cc", "n = 1'000; F(); c = 'x';\n"), [])
        self.assertEqual(len(bad("common/a.cc", "n = 1'000; throw 1;\n")), 1)

    def test_include_guard(self):
        good = "#ifndef SELARI_COMMON_A_H_\n#define SELARI_COMMON_A_H_\n"
        self.assertEqual(self.found(rules.include_guard, "common/a.h", good), [])
        self.assertEqual(len(self.found(rules.include_guard, "common/b.h", good)), 1)

    def test_todo(self):
        mark = "TO" + "DO"
        self.assertEqual(self.found(rules.todo, "a.cc", f"// {mark}(#7): do it\n"), [])
        self.assertEqual(len(self.found(rules.todo, "a.cc", f"// {mark}: do it\n")), 1)

    def test_owners(self):
        builds = {
            "": "",
            "a": 'cc_library(name = "x", srcs = ["x.cc"])\nfuzz_target(name = "f")',
            "a/g": 'filegroup(name = "g", srcs = glob(["*.py"]))',
        }
        builds["c"] = '[cc_library(name = n, srcs = [n + ".cc"]) for n in ["p", "q"]]'
        files = ["c/q.cc", "a/x.cc", "a/f_fuzz.cc", "a/g/z.py"]
        self.assertEqual(list(owners.unowned(files, builds)), [])
        lost = ["c/n.cc", "a/y.cc", "a/b/x.cc", "a/g/x.cc", "b/x.cc"]
        self.assertEqual(len(list(owners.unowned(lost, builds))), 5)


if __name__ == "__main__":
    unittest.main()
