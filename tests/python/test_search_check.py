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

    def run_check(self, check, **replaced):
        shown = io.StringIO()
        with unittest.mock.patch.multiple(search, **replaced), unittest.mock.patch.object(common, "VERDICTS", []), \
                contextlib.redirect_stdout(shown):
            check(common.Bench(pathlib.Path(os.environ["TILETUNE"]), self.folder, 1))
            return shown.getvalue(), list(common.VERDICTS)

    def test_a_search_of_a_small_space_finds_its_best(self):
        small = search.Search(self.config(), 20)
        text, verdicts = self.run_check(search.check_search, F32=small, F32_FREE=small)
        for problem in ("256x256x256", "512x512x512"):
            self.assertEqual(len([line for line in text.splitlines() if line.split()[:1] == [problem]]), 2, text)
        self.assertIn("search: 2 of 2 problems within 1% of the best of all", text)
        self.assertEqual(verdicts, [True, True], text)

    def test_a_search_that_was_cut_off_is_behind(self):
        cut = search.Search(self.config(), 20, limit_s=0)
        text, verdicts = self.run_check(search.check_search, F32=cut, F32_FREE=cut)
        self.assertEqual(verdicts, [False, False], text)


if __name__ == "__main__":
    unittest.main()
