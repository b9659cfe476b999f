import unittest

import fixture  # noqa: F401: sets the path

from kernel_tuner.expressions import Untranslatable, evaluator, translated, with_values

NAMES = ["a", "b", "t"]


class Expressions(unittest.TestCase):
    def test_what_tiletune_has_stays_as_it_is(self):
        for text in ("a % b == 0", "a // 2 + b ** 2", "a == 1 or (not b > 2)", "t in ('x', 'y')", "1 <= a <= b",
                     "min(a, b) if a else max([a, b])", "a << 2 & b"):
            with self.subTest(text):
                ours = translated(text, NAMES, "restriction")
                values = {"a": 8, "b": 4, "t": "x"}
                self.assertEqual(eval(ours, {}, values), eval(text, {}, values))

    def test_rounding_becomes_floor_division(self):
        for text, a in (("ceil(a / b)", 7), ("math.ceil(a / b)", 8), ("floor(a / b)", -7), ("ceil(a / b)", -7)):
            with self.subTest(text=text, a=a):
                ours = translated(text, NAMES, "size")
                self.assertNotIn("ceil", ours)
                self.assertEqual(eval(ours, {}, {"a": a, "b": 2}),
                                 evaluator(text, NAMES, "size")[0]({"a": a, "b": 2, "t": ""}))

    def test_what_only_python_has_is_left_to_it(self):
        for text in ("len(t) > 1", "t[0] == 'x'", "any(v > 1 for v in (a, b))", "math.sqrt(a) > 2", "a is b", "'\\'' == t"):
            with self.subTest(text):
                with self.assertRaises(Untranslatable):
                    translated(text, NAMES, "restriction")

    def test_mistakes_name_the_place_and_the_word(self):
        with self.assertRaisesRegex(ValueError, "restriction 'a == c'.*'c'"):
            translated("a == c", NAMES, "restriction")
        with self.assertRaisesRegex(ValueError, "grid_div_x 'a &&'"):
            evaluator("a && b".replace(" b", ""), NAMES, "grid_div_x")

    def test_words_are_replaced_as_a_whole(self):
        self.assertEqual(with_values("a + ab + a1 * b", {"a": 3, "b": "float"}), "3 + ab + a1 * float")
