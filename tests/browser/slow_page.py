"""A page with a slow callback, for the test that other tabs do not wait for it."""

import time

import panel as pn

SECONDS = 4


def view(session):
    html = pn.pane.HTML("<p>quick</p>")
    button = pn.widgets.Button(name="Slow")

    def slowly(_):
        time.sleep(SECONDS)
        html.object = "<p>slow is over</p>"

    button.on_click(slowly)
    return pn.Column(button, html)
