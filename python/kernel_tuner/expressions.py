"""Expressions of Kernel Tuner, which are Python, as expressions of tiletune, which are nearly so."""
import ast
import builtins
import math
import re

import numpy

WORD = re.compile(r"[a-zA-Z0-9_]+")
SAME_FUNCTIONS = ("min", "max", "abs", "int", "float", "bool", "pow")
KNOWN = {"ceil": math.ceil, "floor": math.floor, "math": math, "np": numpy, "numpy": numpy}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd,
             ast.BitOr, ast.BitXor, ast.And, ast.Or, ast.Not, ast.USub, ast.Invert, ast.Eq, ast.NotEq, ast.Lt, ast.LtE,
             ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Load)
NODES = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List) + OPERATORS


class Untranslatable(Exception):
    """tiletune has no such expression; Python can evaluate it."""


class _Translator(ast.NodeTransformer):
    def __init__(self, names):
        self.names = names

    def generic_visit(self, node):
        if not isinstance(node, NODES):
            raise Untranslatable
        return super().generic_visit(node)

    def visit_Name(self, node):
        if node.id not in self.names:
            raise Untranslatable
        return node

    def visit_Constant(self, node):
        if isinstance(node.value, str) and re.search(r"['\\\n]", node.value):
            raise Untranslatable
        if not isinstance(node.value, (bool, int, float, str)):
            raise Untranslatable
        return node

    def visit_UnaryOp(self, node):
        return self.visit(node.operand) if isinstance(node.op, ast.UAdd) else self.generic_visit(node)

    def visit_Call(self, node):
        name = ast.unparse(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        if node.keywords:
            raise Untranslatable
        if name in SAME_FUNCTIONS:
            return ast.Call(ast.Name(name), arguments, [])
        if len(arguments) == 1 and name in ("ceil", "math.ceil"):
            return ast.UnaryOp(ast.USub(), _floor(ast.UnaryOp(ast.USub(), arguments[0])))
        if len(arguments) == 1 and name in ("floor", "math.floor"):
            return _floor(arguments[0])
        raise Untranslatable


def _floor(node):
    return ast.Call(ast.Name("int"), [ast.BinOp(node, ast.FloorDiv(), ast.Constant(1))], [])


def parsed(text, names, what):
    """The syntax tree. Raises ValueError for what is not Python, and for names that nothing stands for."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{what} {text!r} is not a Python expression: {error.msg}") from None
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in (set(names) | KNOWN.keys() | bound | set(dir(builtins))):
            raise ValueError(f"{what} {text!r} names {node.id!r}, which is not a tunable parameter")
    return tree


def translated(text, names, what):
    """The expression in tiletune's language. Raises Untranslatable."""
    tree = _Translator(names).visit(parsed(text, names, what).body)
    return ast.unparse(ast.fix_missing_locations(tree))


def evaluator(text, names, what):
    """(function of a configuration, the names that it reads)"""
    tree = parsed(text, names, what)
    code = compile(tree, f"<{what}>", "eval")
    used = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(names))
    return lambda configuration: eval(code, KNOWN, {name: configuration[name] for name in used}), used


def with_values(text, configuration):
    """The text with every word that is a parameter replaced by its value."""
    return WORD.sub(lambda word: str(configuration.get(word.group(), word.group())), text)


def words_of(text, names):
    """The parameters that the text names as words."""
    return [word for word in dict.fromkeys(WORD.findall(text)) if word in names]
