"""Commands of one tab run in their order; tabs do not wait for each other."""

import threading
from functools import partial

import pytest
from bokeh.document import Document

from benthoscope.app.server.session_executor import Lanes

PATIENCE = 30  # seconds


@pytest.fixture
def lanes():
    with Lanes(4) as made:
        yield made


def test_acts_of_one_document_are_done_in_order_one_at_a_time(lanes):
    document, done, inside = Document(), [], []

    def event(doc, number):
        inside.append(number)
        assert len(inside) == 1, "two at once"
        threading.Event().wait(0.001)
        done.append(number)
        inside.clear()

    for future in [lanes.submit(event, document, number) for number in range(200)]:
        future.result(PATIENCE)
    assert done == list(range(200))


def test_a_slow_act_of_one_document_holds_up_no_other(lanes):
    slow, quick, go = Document(), Document(), threading.Event()
    future = lanes.submit(lambda doc: go.wait(PATIENCE), slow)
    behind = lanes.submit(lambda doc: "after", slow)
    assert lanes.submit(lambda doc: "at once", quick).result(PATIENCE) == "at once"
    assert not behind.done()
    go.set()
    assert future.result(PATIENCE) and behind.result(PATIENCE) == "after"


def test_an_act_that_fails_says_so_and_the_next_is_done(lanes):
    document = Document()
    failed, next_one = lanes.submit(lambda doc: 1 / 0, document), lanes.submit(lambda doc: 7, document)
    with pytest.raises(ZeroDivisionError):
        failed.result(PATIENCE)
    assert next_one.result(PATIENCE) == 7


def test_the_document_is_found_among_what_is_bound_too_and_let_go_of(lanes):
    document = Document()
    assert lanes.submit(partial(lambda doc: doc, document)).result(PATIENCE) is document
    assert lanes.submit(lambda: "nobody's").result(PATIENCE) == "nobody's"
    lanes.shutdown(wait=True)
    assert not lanes._lanes


def test_many_documents_share_few_threads_and_all_is_done(lanes):
    documents, done = [Document() for _ in range(20)], {}
    futures = [
        lanes.submit(lambda doc, n: done.setdefault(id(doc), []).append(n), documents[n % 20], n) for n in range(2000)
    ]
    for future in futures:
        future.result(PATIENCE)
    assert all(number == sorted(number) and len(number) == 100 for number in done.values()) and len(done) == 20
