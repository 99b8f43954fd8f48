"""Vocabularies: CATAMI and own trees, edited, searched, rolled up and translated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benthoscope.engine.labelling.terms import TermTree
from benthoscope.engine.labelling.vocabulary_file import add_catami, read_vocabulary, write_vocabulary
from benthoscope.engine.problems import BadInput
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.labels.term_search import search
from benthoscope.engine.workspace.labels.vocabularies import NewTerm, Term, TermLink


@pytest.fixture(scope="module")
def catami(tmp_path_factory):
    with Workspace.create(tmp_path_factory.mktemp("catami") / "w") as made:
        yield made.vocabularies.terms(add_catami(made).id)


def by_path(terms):
    return {" > ".join(term.path): term for term in terms}


@pytest.fixture
def own_terms(workspace):
    """The terms of a small vocabulary, by path."""
    words = workspace.vocabularies.add(
        "own",
        [
            NewTerm(("Ground",)),
            NewTerm(("Ground", "Sand")),
            NewTerm(("Ground", "Sand", "Rippled"), "S2"),
            NewTerm(("Life",)),
            NewTerm(("Life", "Kelp"), details={"synonyms": ["Ecklonia", "golden kelp"]}),
        ],
    )
    return by_path(workspace.vocabularies.terms(words.id))


def test_catami_is_complete(catami):
    assert len(catami) == 289 and {term.path[0] for term in catami} == {"Biota", "Physical"}
    term = by_path(catami)["Biota > Ascidians > Stalked > Colonial"]
    assert term.code == "35000906" and term.colour == "#e07b39"
    assert len({term.code for term in catami}) == 289
    assert all(term.colour for term in catami if len(term.path) > 1)


def test_adding_catami_twice_changes_nothing(workspace):
    first = workspace.vocabularies.terms(add_catami(workspace).id)
    assert workspace.vocabularies.terms(add_catami(workspace).id) == first


def test_a_term_is_renamed_and_described_and_keeps_its_id(workspace, own_terms):
    kelp = own_terms["Life > Kelp"]
    changed = workspace.vocabularies.change(kelp.id, name="Kelp forest", colour="#123456", notes="canopy", examples=[3])
    assert (changed.id, changed.path, changed.colour) == (kelp.id, ("Life", "Kelp forest"), "#123456")
    assert changed.details == {"synonyms": ["Ecklonia", "golden kelp"], "notes": "canopy", "examples": [3]}
    assert "notes" not in workspace.vocabularies.change(kelp.id, notes=None).details


def test_impossible_changes_are_rejected(workspace, own_terms):
    workspace.vocabularies.add("own", [NewTerm(("Life", "Coral"))])
    with pytest.raises(BadInput, match="beside it"):
        workspace.vocabularies.change(own_terms["Life > Kelp"].id, name="Coral")
    with pytest.raises(BadInput, match="is not a colour"):
        workspace.vocabularies.change(own_terms["Life > Kelp"].id, colour="green")
    with pytest.raises(BadInput, match="has labels or terms below it"):
        workspace.vocabularies.remove(own_terms["Ground > Sand"].id)


def test_only_a_term_nobody_used_can_be_removed(workspace, own_terms):
    ann = workspace.people.named("Ann").id
    workspace.labels.label(ann, [1], own_terms["Life > Kelp"].id)
    with pytest.raises(BadInput, match="has labels"):
        workspace.vocabularies.remove(own_terms["Life > Kelp"].id)
    workspace.vocabularies.remove(own_terms["Ground > Sand > Rippled"].id)
    assert len(workspace.vocabularies.all_terms()) == 4


def test_a_digit_key_holds_one_term_and_a_term_one_key(workspace, own_terms):
    ann, kelp, sand = workspace.people.named("Ann").id, own_terms["Life > Kelp"].id, own_terms["Ground > Sand"].id
    workspace.favourites.choose(ann, "2", kelp)
    workspace.favourites.choose(ann, "1", sand)
    assert list(workspace.favourites.of(ann).items()) == [("1", sand), ("2", kelp)]
    workspace.favourites.choose(ann, "1", kelp)
    assert workspace.favourites.of(ann) == {"1": kelp}
    workspace.favourites.choose(ann, "1", None)
    assert workspace.favourites.of(ann) == {}
    with pytest.raises(BadInput, match="neither a digit"):
        workspace.favourites.choose(ann, "x", kelp)


def test_labels_roll_up_to_any_level(own_terms):
    tree = TermTree.of(own_terms.values())
    rippled, sand, ground, life = (
        own_terms[path].id for path in ("Ground > Sand > Rippled", "Ground > Sand", "Ground", "Life")
    )
    array = np.array([rippled, sand, life, rippled])
    assert tree.rolled_up(array, 1).tolist() == [ground, ground, life, ground]
    assert tree.rolled_up(array, 2).tolist() == [sand, sand, life, sand]
    assert tree.below(ground) == {ground, sand, rippled}


def test_a_term_is_translated_directly_or_by_its_nearest_ancestor(workspace, own_terms, catami):
    other = by_path(workspace.vocabularies.terms(add_catami(workspace).id))
    sand, kelp = other["Physical > Substrate > Unconsolidated (soft)"], other["Biota > Macroalgae"]
    workspace.term_links.add(
        [
            TermLink(own_terms["Ground > Sand"].id, sand.id, "broader"),
            TermLink(kelp.id, own_terms["Life > Kelp"].id, "narrower"),
        ]
    )
    own_id, theirs = (
        vocabulary.id for vocabulary in (workspace.vocabularies.named("own"), workspace.vocabularies.named("CATAMI"))
    )
    links = workspace.term_links.between(own_id, theirs)
    array = np.array([own_terms[path].id for path in ("Ground > Sand > Rippled", "Life > Kelp", "Life")])
    content, exact = TermTree.of(own_terms.values()).translated(array, links)
    assert content.tolist() == [sand.id, kelp.id, 0] and exact.tolist() == [False, False, False]
    workspace.term_links.add([TermLink(own_terms["Life > Kelp"].id, kelp.id, "same")])
    content, exact = TermTree.of(own_terms.values()).translated(
        array[1:2], workspace.term_links.between(own_id, theirs)
    )
    assert (content.tolist(), exact.tolist()) == ([kelp.id], [True])


@pytest.mark.parametrize(
    "typed, expected",
    [
        ("spo", "Biota > Sponges"),
        ("asc st col", "Biota > Ascidians > Stalked > Colonial"),
        ("35000906", "Biota > Ascidians > Stalked > Colonial"),
        ("brozoa", "Biota > Bryozoa"),
    ],
)
def test_a_few_letters_find_the_term(catami, typed, expected):
    assert " > ".join(search(catami, typed)[0].path) == expected


def test_synonyms_are_searched_and_favourites_come_first(own_terms):
    terms = list(own_terms.values())
    assert search(terms, "eckl")[0].name == "Kelp"
    assert search(terms, "", favourites={own_terms["Ground"].id}) == [own_terms["Ground"]]
    assert search(terms, "qqqqq") == []


def test_parent_columns_numbers_and_paths_give_the_same_terms():
    expected = [("Ground",), ("Ground", "Sand"), ("Ground", "Sand", "Rippled")]
    files = (
        "path;colour\nGround > Sand > Rippled;ff0000\n",
        "id,name,parent_id\n1,Ground,\n7,Sand,1\n9,Rippled,7\n",
        "name\tparent\nGround\t\nSand\tGround\nRippled\tSand\n",
        "# note\n\ufeffpath\nGround: Sand: Rippled\n",
    )
    for text in files[:3]:
        terms, problems = read_vocabulary(text.encode(), source="own.csv")
        assert [term.path for term in terms] == expected and problems == []
    assert read_vocabulary(files[0].encode(), source="own.csv")[0][-1].colour == "#ff0000"


def test_lines_without_a_term_are_listed_and_others_kept():
    text = "id,name,parent_id,color\n1,Ground,,\n2,Sand,8,\n3,Kelp,,greenish\n4,A,5,\n5,B,4,\n"
    terms, problems = read_vocabulary(text.encode(), source="own.csv")
    assert [term.path for term in terms] == [("Ground",), ("Kelp",)]
    assert [str(problem).split(":")[0] for problem in problems] == [
        "own.csv line 3",
        "own.csv line 5",
        "own.csv line 6",
        "own.csv line 4",
    ]


@pytest.mark.parametrize("text", ["", "# only a note\n", "colour,code\nred,1\n"])
def test_a_file_without_terms_is_rejected(text):
    with pytest.raises(BadInput, match=r"own\.csv"):
        read_vocabulary(text.encode(), source="own.csv")


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_give_terms_or_a_clear_error(data):
    try:
        terms, _ = read_vocabulary(b"path,colour\n" + data, source="own.csv")
    except BadInput:
        return
    assert all(term.path and all(term.path) for term in terms)


def test_written_vocabularies_are_read_back(catami):
    described = [Term(term.path, term.code, "#aabbcc", {"notes": "a, b", "synonyms": ["x", "y z"]}) for term in catami]
    terms, problems = read_vocabulary(write_vocabulary(described).encode(), source="out.csv")
    assert problems == [] and len(terms) == 289
    assert {(t.path, t.code, t.colour, str(t.details)) for t in terms} == {
        (t.path, t.code, t.colour, str(t.details)) for t in described
    }


NAMES = st.text("ab>\\: |()", min_size=1, max_size=8).map(str.strip).filter(bool)


@given(st.lists(st.lists(NAMES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=5, unique=True))
def test_any_names_survive_a_round_trip_through_a_vocabulary_file(paths):
    terms = [Term(**vars(NewTerm(path)), id=number) for number, path in enumerate(paths, 1)]
    read = {term.path for term in read_vocabulary(write_vocabulary(terms).encode(), source="own.csv")[0]}
    assert read >= set(paths)
    assert read == {path[:depth] for path in paths for depth in range(1, len(path) + 1)}


def test_a_binary_file_is_not_a_vocabulary():
    with pytest.raises(BadInput, match="PNG image"):
        read_vocabulary(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), source="own.csv")


def test_a_name_with_an_arrow_is_one_name_after_export_and_import(workspace):
    words = workspace.vocabularies.add("own", [NewTerm(("Size",)), NewTerm(("Size", "a > b")), NewTerm(("x: y",))])
    text = write_vocabulary(workspace.vocabularies.terms(words.id))
    again = workspace.vocabularies.add("again", read_vocabulary(text.encode(), source="again.csv")[0])
    assert {term.path for term in workspace.vocabularies.terms(again.id)} == {("Size",), ("Size", "a > b"), ("x: y",)}
