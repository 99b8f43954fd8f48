"""The address of the browser and what pages show say the same."""

import gc
import weakref

import param

from benthoscope.app.session.address import Address


class Model(param.Parameterized):
    run = param.Integer(default=None, allow_None=True)
    width = param.Number(default=1.0)
    open = param.Boolean(default=False)
    sort = param.Selector(default="size", objects=["size", "name"])
    marks = param.List(default=[], item_type=int)
    word = param.String(default="")


NAMES = ("run", "width", "open", "sort", "marks", "word")


def test_what_a_person_changes_shows_in_the_address_and_defaults_do_not():
    address, model = Address(), Model()
    address.bind(model, *NAMES)
    model.param.update(run=3, open=True, marks=[4, 7], word="a & b")
    assert address.query == {"run": "3", "open": "1", "marks": "4,7", "word": "a & b"}
    model.param.update(run=None, open=False)
    assert address.query == {"marks": "4,7", "word": "a & b"}


def test_a_deep_link_restores_every_kind_of_value():
    address, model = Address(query={"run": "3", "width": "0.5", "open": "1", "sort": "name", "marks": "1,2"}), Model()
    address.bind(model, *NAMES)
    assert (model.run, model.width, model.open, model.sort, model.marks) == (3, 0.5, True, "name", [1, 2])


def test_going_back_restores_what_was():
    address, model = Address(), Model()
    address.bind(model, cluster="run")
    model.run = 5
    before = address.query
    model.run = 6
    address.query = before
    assert model.run == 5
    address.query = {}
    assert model.run is None


def test_nonsense_in_the_address_is_the_default():
    address, model = Address(query={"run": "seven", "sort": "colour", "width": "x", "marks": "a,b"}), Model()
    address.bind(model, *NAMES)
    assert (model.run, model.sort, model.width, model.marks) == (None, "size", 1.0, [])


def test_the_address_does_not_keep_a_model_alive():
    address, model = Address(), Model()
    address.bind(model, "run")
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
