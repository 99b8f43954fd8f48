"""Names say what they hold, and each class name has one meaning."""

import ast
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIMIT = 3  # vague identifiers per 1000
VAGUE = frozenset(
    [
        "act",
        "acts",
        "alike",
        "begun",
        "drawn",
        "found",
        "given",
        "heard",
        "held",
        "here",
        "kept",
        "left",
        "look",
        "looks",
        "many",
        "mine",
        "more",
        "now",
        "one",
        "others",
        "ours",
        "own",
        "part",
        "parts",
        "place",
        "places",
        "rest",
        "said",
        "seen",
        "taken",
        "tell",
        "telling",
        "tells",
        "told",
        "twin",
        "wanted",
        "ways",
        "way",
        "what",
        "who",
        "whole",
        "work",
    ]
)


def paths(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def names_in(path: Path) -> tuple[list[str], list[str]]:
    """The identifiers of a file without underscores at their ends, and the names of its classes."""
    identifiers, classes = [], []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                identifiers.append(name.strip("_"))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                identifiers.append(name.strip("_"))
                if isinstance(node, ast.ClassDef):
                    classes.append(name)
    return identifiers, classes


def test_few_identifiers_are_vague():
    """A participle or pronoun tells that a value was found, wanted or kept, but not what it is. A few are good names
    (`left` of a box, `now` of datetime), so a small share is allowed."""
    total, words, files = 0, Counter(), Counter()
    for path in paths("engine", "app", "sample_data", "tests"):
        names, _ = names_in(path)
        vague = [name for name in names if name in VAGUE]
        total += len(names)
        words.update(vague)
        files[str(path.relative_to(ROOT))] = len(vague)
    share = 1000 * words.total() / total
    assert share <= LIMIT, f"{share:.1f} per 1000; files {files.most_common(8)}, words {words.most_common(8)}"


def test_no_class_name_is_defined_twice():
    """A reader who searches for a class finds one definition."""
    files = defaultdict(list)
    for path in paths("engine", "app"):
        for name in names_in(path)[1]:
            files[name].append(str(path.relative_to(ROOT)))
    assert not {name: where for name, where in files.items() if len(where) > 1}
