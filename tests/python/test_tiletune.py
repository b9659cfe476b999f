"""The functions of python/tiletune, with a tiletune whose sweeps run on the fake GPU worker."""
import importlib.util
import unittest

from fixture import SandboxTest

import tiletune

CONFIG = {"templates": ["sgemm_coalesced"], "problems": ["64x32x16", "8x8x8"]}
HAS_PANDAS = importlib.util.find_spec("pandas") is not None


class TiletuneTest(SandboxTest):
    @unittest.skipUnless(HAS_PANDAS, "python3 has no pandas")
    def test_sweep_returns_its_rows_with_a_column_for_each_parameter(self):
        rows = tiletune.sweep(CONFIG, db="a.db", problem="64x32x16", baseline="none", quiet=True)
        self.assertEqual(set(rows["problem"]), {"64x32x16"})
        self.assertEqual(set(rows["outcome"]), {"ok", "screened_out"} & set(rows["outcome"]))
        self.assertLessEqual({1, 2, 4, 8}, set(rows["BM"]))
        self.assertEqual(list(self.folder.glob("tiletune_*.json")), [], "the config was a temporary file")
        more = tiletune.sweep(CONFIG, db="a.db", problem="8x8x8", baseline="none", quiet=True)
        self.assertEqual(set(more["problem"]), {"8x8x8"}, "only those of this sweep")
        ranked = tiletune.rank(db="a.db", problem=["64x32x16", "8x8x8"])
        self.assertEqual(set(ranked["problem"]), {"64x32x16", "8x8x8"})
        self.assertIn("rank", ranked)

    def test_best_and_export_write_what_programs_use(self):
        tiletune.run("sweep", self.config(), db="a.db", baseline="none", quiet=True)
        entries = tiletune.best(db="a.db", problem="8x8x8")
        self.assertEqual([entry["problem"] for entry in entries], ["8x8x8"])
        self.assertTrue(entries[0]["definition"]["source"].endswith("kernel.cuh"))
        tiletune.export("tuned.h", db="a.db", format="header")
        self.assertIn("namespace tuned", (self.folder / "tuned.h").read_text())

    def test_a_mistake_is_an_error_with_the_programs_words(self):
        with self.assertRaises(tiletune.Error) as caught:
            tiletune.run("sweep", "nowhere.json", db="a.db")
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("nowhere.json", str(caught.exception))

    def test_options_are_words(self):
        self.assertEqual(tiletune.arguments_of({"learn_from": "a", "quiet": True, "gpu": None, "best": False, "problem": [1, 2]}),
                         ["--learn-from", "a", "--quiet", "--problem", "1", "--problem", "2"])

    def config(self):
        file = self.folder / "config.json"
        file.write_text('{"templates": ["sgemm_coalesced"], "problems": ["64x32x16", "8x8x8"]}')
        return file


if __name__ == "__main__":
    unittest.main()
