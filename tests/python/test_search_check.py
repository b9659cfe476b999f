"""tools/gpu_check search, without a GPU: a search beside the sweep of everything, on the fake GPU worker."""
import contextlib
import io
import json
import os
import pathlib
import sys
import unittest
import unittest.mock

import fixture

sys.path.insert(0, str(fixture.ROOT / "tools"))
from checks import common, search  # noqa: E402


class Check(fixture.SandboxTest):
    def config(self):
        config = self.folder / "small.json"
        config.write_text(json.dumps({
            "templates": [{"template": "sgemm_blocktile_2d", "parameters": {"BM": [64, 128], "BN": [64, 128], "BK": [8]}}, {"template": "sgemm_naive"}],
            "problems": [256, "512x512x512"]}))
        return str(config)

    def run_check(self, small, swept=None):
        shown = io.StringIO()
        with unittest.mock.patch.object(common, "VERDICTS", []), contextlib.redirect_stdout(shown):
            search.check("search", small)(common.Bench(pathlib.Path(os.environ["TILETUNE"]), self.folder, 1, swept))
            return shown.getvalue(), list(common.VERDICTS)

    def test_a_search_of_a_small_space_finds_its_best(self):
        text, verdicts = self.run_check(search.Search(self.config(), 20))
        for problem in ("256x256x256", "512x512x512"):
            self.assertEqual(len([line for line in text.splitlines() if line.split()[:1] == [problem]]), 1, text)
        self.assertIn("search: 2 of 2 problems within 1% of the best of all", text)
        self.assertEqual(verdicts, [True], text)

    def test_a_database_of_all_configurations_is_not_made_again_and_time_counts(self):
        self.run_check(search.Search(self.config(), 20))
        swept = (self.folder / "search_all.db").rename(self.folder / "swept")
        text, verdicts = self.run_check(search.Search(self.config(), 20, limit_s=0), swept)
        self.assertIn("search: 2 of 2 problems within 1% of the best of all", text)
        self.assertEqual(verdicts, [False], text)
        self.assertFalse((self.folder / "search_all.db").exists())


if __name__ == "__main__":
    unittest.main()
