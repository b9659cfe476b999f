"""tools/gpu_check tensor, without a GPU: its list of configurations, its table, and what it does without time."""
import contextlib
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import time
import unittest.mock

import fixture

sys.path.insert(0, str(fixture.ROOT / "tools"))
from checks import common, tensor  # noqa: E402

TABLES = [("f16", tensor.HALVES), ("bf16", tensor.HALVES), *tensor.NARROW.items()]


def valid_counts(config):
    """By problem: how many of the listed configurations of a config are valid."""
    shown = subprocess.run([os.environ["TILETUNE"], "space", str(config)], capture_output=True, text=True, check=True).stdout
    valid = {}
    for problem, count in re.findall(r"(\d+x\d+x\d+): \d+ listed configurations?, (\d+) valid", shown):
        valid[problem] = valid.get(problem, 0) + int(count)
    return valid


class ListedConfigurations(fixture.SandboxTest):
    def test_each_problem_of_the_table_has_some_and_all_of_them_are_valid(self):
        rows = tensor.listed_configurations()
        for kind, table in TABLES:
            for number, group in enumerate(tensor.groups_of(tensor.entries_of(table, "burst", kind))):
                problems, layout = [entry.problem for entry in group], group[0].layout
                valid = valid_counts(tensor.write_config(self.folder, f"{kind}_{number}", rows, kind, layout, problems))
                for problem in problems:
                    listed = len(tensor.chosen(rows, kind, problem, layout))
                    self.assertGreater(listed, 0, (kind, problem, layout))
                    self.assertEqual(valid.get(problem), listed, (kind, problem, layout))

    def test_a_problem_that_the_list_lacks_has_no_config(self):
        self.assertIsNone(tensor.write_config(self.folder, "none", tensor.listed_configurations(), "f16", "nn", ["7x7x7"]))


class Lines(unittest.TestCase):
    def line(self, **values):
        return tensor.Entry("burst", "f16", "16x8192x8192", "nt", 0.94, 1.02, **values).line()

    def test_a_ratio_is_compared_with_floor_and_aim(self):
        self.assertIn(" 1.030   0.94   1.02  aim met   hgemm_persistent, 97% of the copy bandwidth",
                      self.line(ratio=1.03, template="hgemm_persistent", of_copy=97.2))
        self.assertIn("floor met", self.line(ratio=1.0))
        self.assertIn("missed", self.line(ratio=0.9))

    def test_what_was_not_held_says_why(self):
        self.assertTrue(self.line(why="no time").endswith("-   0.94   1.02  not held: no time"))


class Check(fixture.SandboxTest):
    """With a table of two problems, on the fake GPU worker."""

    SMALL = ((["512x512x512"], "nn", 0.001, 1000.0), (["16x8192x8192", "7x7x7"], "nt", 0.001, 1000.0))

    NARROW = {"e4m3": ((["4096x4096x4096"], "nt", 0.97, 1.0),)}

    def check(self, seconds, table=SMALL):
        out, kept = self.folder / "out", self.folder / "kept"
        for folder in (out, kept):
            folder.mkdir()
        began = time.monotonic()
        shown = io.StringIO()
        with unittest.mock.patch.multiple(tensor, HALVES=table, SETTLED=(), VERIFIED_PER_SECOND=0.05, NARROW=self.NARROW), \
                unittest.mock.patch.dict(os.environ, OUT=str(kept)), \
                unittest.mock.patch.object(common, "VERDICTS", []), contextlib.redirect_stdout(shown):
            tensor.check(common.Bench(pathlib.Path(os.environ["TILETUNE"]), out, seconds))
        self.assertLess(time.monotonic() - began, seconds + 30)
        return shown.getvalue().splitlines(), kept

    def test_finals_are_held_for_each_problem_and_the_means_come_last(self):
        lines, kept = self.check(60)
        text = "\n".join(lines)
        for kind in ("f16", "bf16"):
            for problem in ("512x512x512 ", "16x8192x8192"):
                self.assertRegex(text, rf"burst +{kind} +{problem} .*floor met hgemm_", text)
            self.assertRegex(text, rf"{kind} +7x7x7 .* not held: no configuration is listed", text)
            self.assertRegex(text, rf"FAIL tensor_{kind}: 2 of 3 problems reach their floor, 1 without finals", text)
        self.assertRegex(text, r"e4m3 +4096x4096x4096 ", text)
        for line, kind in zip(lines[-2:], ("f16", "bf16")):
            self.assertRegex(line, rf"^FAIL tensor_{kind}: geometric mean 0\.\d+ of 2 of 3 rows .*aligned.*, 0\.\d+ of 2 of 3 rows")
        self.assertIn(lines[-1], (kept / "tensor.txt").read_text())
        with contextlib.closing(sqlite3.connect(kept / "tensor.db")) as database:
            finals = database.execute("SELECT count(DISTINCT problem || element_types) FROM trial WHERE timed_in = 'final'").fetchone()
        self.assertEqual(finals[0], 5)

    def test_the_fastest_of_a_database_take_part_instead(self):
        _, kept = self.check(60)
        rows = tensor.fastest_configurations(kept / "tensor.db", each=2)
        for kind, problem, layout in (("f16", "512x512x512", "nn"), ("bf16", "16x8192x8192", "nt"), ("e4m3", "4096x4096x4096", "nt")):
            self.assertEqual(len(tensor.chosen(rows, kind, problem, layout)), 2, rows)
            self.assertEqual(valid_counts(tensor.write_config(self.folder, kind, rows, kind, layout, [problem])), {problem: 2})
        with contextlib.closing(sqlite3.connect(kept / "tensor.db")) as database:
            best, = database.execute("SELECT parameters FROM trial WHERE kind = 'kernel' AND problem = '512x512x512' AND element_types LIKE 'A:f16 %' "
                                     "AND timed_in = 'final' ORDER BY median_us LIMIT 1").fetchone()
        self.assertEqual(tensor.values_of(tensor.chosen(rows, "f16", "512x512x512", "nn")[0]), common.texts(json.loads(best)))

    def test_without_time_each_problem_has_a_line_that_says_so(self):
        lines, kept = self.check(0.1)
        table = [line for line in lines if "not held: " in line]
        self.assertEqual(len(table), 2 * 3 + 1)
        self.assertEqual(sum("no configuration is listed" in line for line in table), 2)
        self.assertEqual(sum("was used up" in line for line in table), 2 * 2 + 1)
        self.assertTrue(any("tensor_edges: not run" in line for line in lines))
        self.assertRegex(lines[-1], r"^FAIL tensor_bf16: geometric mean nan of 0 of 3 rows")
        self.assertIn(lines[-1], (kept / "tensor.txt").read_text())

    def test_a_kernel_that_cannot_be_believed_is_the_reason(self):
        self.use_worker("always_impossible")
        lines, _ = self.check(60, ((["4092x4092x4092"], "nn", 2.55, 2.7),))
        listed = len(tensor.chosen(tensor.listed_configurations(), "f16", "4092x4092x4092", "nn"))
        self.assertTrue(any("4092x4092x4092" in line and f"not held: {listed} x implausible: " in line for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
