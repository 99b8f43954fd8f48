"""Named selections are kept, replaced by name, and brought back after they were removed."""

import numpy as np
import pytest

from benthoscope.engine.problems import BadInput


@pytest.fixture
def person(workspace):
    return workspace.people.named("Ada").id


def test_a_saved_selection_is_found_by_number_and_by_name(workspace, person):
    saved = workspace.selections.save(person, " kelp  edge ", np.array([5, 3, 3, 900_000]), {"tool": "lasso"})
    assert saved.name == "kelp edge" and saved.images.tolist() == [3, 5, 900_000] and saved.origin == {"tool": "lasso"}
    assert workspace.selections.named("kelp edge").id == workspace.selections.get(saved.id).id == saved.id
    assert workspace.selections.list() == [(saved.id, "kelp edge", 3)]


def test_saving_under_a_known_name_replaces_what_was_there(workspace, person):
    first = workspace.selections.save(person, "sand", np.arange(10))
    second = workspace.selections.save(person, "sand", np.arange(4))
    assert second.id == first.id and len(workspace.selections.get(first.id).images) == 4


def test_a_removed_selection_can_be_saved_again_as_it_was(workspace, person):
    saved = workspace.selections.save(person, "sand", np.arange(1_000_000))
    gone = workspace.selections.remove(saved.id)
    with pytest.raises(BadInput, match="no selection"):
        workspace.selections.get(saved.id)
    assert (workspace.selections.save(person, gone.name, gone.images).images == saved.images).all()


@pytest.mark.parametrize(("name", "images"), [("", [1]), ("  ", [1]), ("sand", [])])
def test_a_selection_without_name_or_images_is_rejected(workspace, person, name, images):
    with pytest.raises(BadInput, match="selection"):
        workspace.selections.save(person, name, np.array(images))


def test_a_wrong_name_offers_the_nearest(workspace, person):
    workspace.selections.save(person, "kelp", np.array([1]))
    with pytest.raises(BadInput, match="did you mean 'kelp'"):
        workspace.selections.named("kellp")
