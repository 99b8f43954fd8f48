"""Every page sends what it sent before, and REST has the keys it had. Made by golden_content.py."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.pages.golden_content import (
    CASES,
    COMMAND,
    copy_of,
    file_of,
    page_content,
    repeatable,
    rest_content,
    written,
)


@pytest.fixture(autouse=True)
def same_seeds() -> Iterator[None]:
    with repeatable():
        yield


def differences(current: Any, before: Any, path: str = "") -> list[str]:
    """Differences by path. Numbers may differ as far as another machine's arithmetic makes them."""
    if isinstance(current, dict) and isinstance(before, dict):
        missing = [f"{path}/{key}: is missing" for key in before.keys() - current.keys()]
        new = [f"{path}/{key}: is new" for key in current.keys() - before.keys()]
        both = (differences(current[key], before[key], f"{path}/{key}") for key in current.keys() & before.keys())
        return sorted([*missing, *new, *(line for lines in both for line in lines)])
    if isinstance(current, list) and isinstance(before, list) and len(current) == len(before):
        pairs = enumerate(zip(current, before, strict=True))
        return [line for at, pair in pairs for line in differences(*pair, f"{path}[{at}]")]
    if is_number(current) and is_number(before) and math.isclose(current, before, rel_tol=0.02, abs_tol=0.005):
        return []
    return [] if type(current) is type(before) and current == before else [f"{path}: {current!r}, was {before!r}"]


def is_number(value: Any) -> bool:
    return isinstance(value, float)


@pytest.mark.parametrize("name", ["rest", *CASES])
def test_pages_and_rest_send_what_the_golden_files_hold(name, sample_workspace, tmp_path):
    with copy_of(sample_workspace, tmp_path / "copy" / "workspace") as workspace:
        content = rest_content(workspace) if name == "rest" else page_content(workspace, name)
    found = differences(json.loads(written(content)), json.loads(file_of(name).read_text(encoding="utf-8")))
    assert not found, f"if this change is intended, run `{COMMAND}` and review the files:\n" + "\n".join(found[:40])


def test_a_lost_key_a_new_one_and_another_value_are_found():
    before = {"a": 1, "b": [0.5, {"c": "x"}], "d": 2}
    assert differences(before, before) == []
    assert differences({"a": 1, "b": [0.5001, {"c": "y"}], "e": 2}, before) == [
        "/b[1]/c: 'y', was 'x'",
        "/d: is missing",
        "/e: is new",
    ]
    assert differences({**before, "b": [0.6, {"c": "x"}]}, before) == ["/b[0]: 0.6, was 0.5"]
    assert differences({**before, "a": True}, before) == ["/a: True, was 1"]
