// A modal dialog, open while `model.shown` is not empty. Escape closes it.

import {h, icon} from "../core/element.js"
import {rememberFocus} from "../core/focus.js"

export function dialogOf(model, draw, {wide = false} = {}) {
  const element = h("dialog", {class: wide ? "wide" : null})
  const heading = h("h2", {})
  const body = h("div", {class: "body"})
  const closeButton = h("button", {class: "plain", "aria-label": "Close", onclick: () => model.send_msg({act: "close"})}, icon("close"))
  element.append(h("header", {}, heading, closeButton), body)
  element.addEventListener("cancel", (event) => { event.preventDefault(); model.send_msg({act: "close"}) })

  let giveFocusBack = () => {} // the browser does so, but not if the element was replaced while the dialog was open

  const open = () => {
    giveFocusBack = rememberFocus()
    element.showModal()
  }

  const close = () => {
    element.close()
    giveFocusBack()
  }

  const show = () => {
    const shown = model.shown
    if (!shown || !Object.keys(shown).length) {
      if (element.open) close()
      body.replaceChildren()
      return
    }
    heading.textContent = shown.title ?? ""
    element.setAttribute("aria-label", heading.textContent)
    draw(body, shown)
    if (!element.open && element.isConnected) open()
    else if (!element.open) requestAnimationFrame(show) // a dialog that is open at the start is drawn before it is in the page
  }
  model.on("shown", show)
  queueMicrotask(show)
  return element
}
