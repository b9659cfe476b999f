"""The kernel's source, and what the compiler says of its arguments."""
import json
import os
import pathlib
import re
import tempfile

from kernel_tuner import runner


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

    def read_only(self, kernel, count, folders=(), **keys):
        """For each of `count` arguments, whether the kernel provably does not write to it: in the code that tiletune compiles
        of it with these keys of a manifest. Nothing is proven where it cannot be compiled."""
        with tempfile.TemporaryDirectory(prefix="tiletune_") as name:
            home = pathlib.Path(name) / "kernel"
            home.mkdir()
            (home / "kernel.cu").write_text(self.text, encoding="utf-8")
            manifest = {
                "name": "kernel", "summary": "its arguments", "source": "kernel.cu", "kernel": kernel, "parameters": [],
                "operation": {"dimensions": ["n"], "buffers": [{"name": "x", "type": "u8", "elements": "n", "role": "inout"}],
                              "flops": "0", "bytes": "0", "accumulation": "1", "bound": "copy", "reference": "none"},
                "launch": {"grid": ["1"], "block": ["1"]}, "arguments": [{"buffer": "x"}] * count, **keys}
            (home / "template.json").write_text(json.dumps(manifest), encoding="utf-8")
            config = pathlib.Path(name) / "config.json"
            config.write_text(json.dumps({"templates": ["kernel"], "problems": [1]}), encoding="utf-8")
            include = [part for folder in folders or self.folders for part in ("--include", folder)]
            code, output, _ = runner.run(["argument-uses", config, *include], runner.show_nothing)
        answer = json.loads(output)["read_only"] if code == 0 else []
        return answer if len(answer) == count else [False] * count


def split_arguments(text):
    """At the commas that no bracket encloses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
