// A modal dialog that is open while `model.shown` says something, keeps the keyboard inside, and closes by Escape.

import {h, icon} from "./dom.js"

export function dialogOf(model, draw, {wide = false} = {}) {
  const element = h("dialog", {class: wide ? "wide" : null})
  const heading = h("h2", {})
  const body = h("div", {class: "body"})
  const close = h("button", {class: "plain", "aria-label": "Close", onclick: () => model.send_msg({act: "close"})}, icon("close"))
  element.append(h("header", {}, heading, close), body)
  element.addEventListener("cancel", (event) => { event.preventDefault(); model.send_msg({act: "close"}) })

  const show = () => {
    const shown = model.shown
    if (!shown || !Object.keys(shown).length) {
      if (element.open) element.close()
      body.replaceChildren()
      return
    }
    heading.textContent = shown.title ?? ""
    element.setAttribute("aria-label", heading.textContent)
    draw(body, shown)
    if (!element.open && element.isConnected) element.showModal()
    else if (!element.open) requestAnimationFrame(show) // what is open from the beginning is drawn before it is in the page
  }
  model.on("shown", show)
  queueMicrotask(show)
  return element
}
