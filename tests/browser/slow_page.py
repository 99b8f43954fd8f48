"""A page with a callback that takes its time, for the test that nobody else waits for it."""

import time

import panel as pn

SECONDS = 4


def view(session):
    told = pn.pane.HTML("<p>quick</p>")
    button = pn.widgets.Button(name="Slow")

    def slowly(_):
        time.sleep(SECONDS)
        told.object = "<p>slow is over</p>"

    button.on_click(slowly)
    return pn.Column(button, told)
