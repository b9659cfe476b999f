"""The kernel's source, and what it says of its arguments."""
import os
import pathlib
import re

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
ASSIGNS = re.compile(r"\s*(\.\w+\s*)*((<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--)")


def looks_like_a_file(text):
    return len(text) <= 250 and not re.search(r"[();{}\\\n]", text) and any(end in text for end in (".c", ".h"))


class Source:
    """`text` of the kernel, and the `folders` where its headers may be."""

    def __init__(self, kernel_source, lang):
        sources = kernel_source if isinstance(kernel_source, (list, tuple)) else [kernel_source]
        if not sources or callable(sources[0]):
            raise ValueError("kernel_source: a function that writes the source is not supported; write the source with "
                             "#if, or tune one generated source at a time")
        first = os.fspath(sources[0])
        is_file = isinstance(sources[0], pathlib.PurePath) or looks_like_a_file(first)
        self.text = pathlib.Path(first).read_text(encoding="utf-8") if is_file else first
        files = [pathlib.Path(first)] if is_file else []
        files += map(pathlib.Path, sources[1:])
        for file in files:
            if not file.is_file():
                raise FileNotFoundError(f"kernel_source: there is no file {file}")
        self.folders = list(dict.fromkeys([*(str(file.resolve().parent) for file in files), os.getcwd()]))
        self.all_text = "\n".join([self.text, *(file.read_text(encoding="utf-8") for file in files[is_file:])])
        self._check_language(lang)

    def _check_language(self, lang):
        name = (lang or ("OpenCL" if "__kernel" in self.all_text else "CUDA")).upper()
        if name not in ("CUDA", "CUPY", "NVCUDA", "PYCUDA"):
            raise ValueError(f"lang: {lang or 'OpenCL'} is not supported; tiletune compiles CUDA C++")

    def mentions(self, word):
        return re.search(rf"\b{word}\b", self.all_text) is not None

    def read_only(self, kernel, count):
        """For each of `count` arguments, whether the kernel provably does not write to it."""
        text = COMMENT.sub(" ", self.all_text)
        for match in re.finditer(rf"\b{re.escape(kernel)}\s*\(", text):
            parameters, end = _enclosed(text, match.end() - 1)
            opening = re.match(r"\s*\{", text[end:])
            declared = _split(parameters)
            if opening is None or len(declared) != count:
                continue
            body, _ = _enclosed(text, end + opening.end() - 1)
            macros = "\n".join(re.findall(r"^\s*#\s*define\s+\S+(.*(?:\\\n.*)*)", text, re.M))
            return [_is_read_only(parameter, body, macros) for parameter in declared]
        return [False] * count


def _enclosed(text, opening):
    """(what stands between the bracket at `opening` and its other one, the place behind that)"""
    pairs = {"(": ")", "[": "]", "{": "}"}
    depth, bracket = 0, text[opening]
    for place in range(opening, len(text)):
        depth += (text[place] == bracket) - (text[place] == pairs[bracket])
        if depth == 0:
            return text[opening + 1:place], place + 1
    return text[opening + 1:], len(text)


def _split(text):
    """At the commas that no bracket encloses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def split_arguments(text):
    return _split(text)


def _is_passed(body, begin, end):
    """Whether what stands there is an argument of a call, which may take it by reference."""
    if not re.match(r"\s*[,)]", body[end:]) or not re.search(r"[(,]\s*$", body[:begin]):
        return False
    depth = 0
    for place in range(begin - 1, -1, -1):
        depth += (body[place] in ")]}") - (body[place] in "([{")
        if depth < 0:
            caller = re.search(r"(\w+)\s*(?:<[^<>()]*>)?\s*$", body[:place])
            return body[place] == "(" and caller is not None and caller[1] not in ("if", "while", "for", "switch", "return")
    return False


def _is_read_only(parameter, body, macros):
    kind, _, name = parameter.rpartition("*")
    if not kind:
        return True
    if re.search(r"\bconst\b", kind):
        return True
    name = re.sub(r"\b(__restrict__|__restrict|restrict|const)\b", "", name).strip()
    if not name.isidentifier() or re.search(rf"\b{name}\b", macros):
        return False
    for use in re.finditer(rf"(?<!\.)(?<!->)\b{name}\b", body):
        opening = re.match(r"\s*\[", body[use.end():])
        if opening is None or re.search(r"(&\s*\w*\s*=?|\+\+|--)\s*$", body[:use.start()]):
            return False
        _, end = _enclosed(body, use.end() + opening.end() - 1)
        if ASSIGNS.match(body[end:]) or _is_passed(body, use.start(), end):
            return False
    return True
