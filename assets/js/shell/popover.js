// A button with a popover, closed by Escape, by a click elsewhere, and by the button.

import {h, whileShown} from "../core/element.js"

export function popover(model, button, fill) {
  const holder = h("div", {class: "holder"}, button)
  let pop = null
  const close = () => { pop?.remove(); pop = null; button.setAttribute("aria-expanded", "false") }
  const open = () => {
    pop = h("div", {class: "pop"})
    fill(pop)
    holder.append(pop)
    button.setAttribute("aria-expanded", "true")
    pop.querySelector("input, button, a")?.focus()
  }
  button.setAttribute("aria-haspopup", "true")
  button.setAttribute("aria-expanded", "false")
  button.addEventListener("click", () => (pop ? close() : open()))
  holder.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pop) { event.stopPropagation(); close(); button.focus() }
  })
  whileShown(model, document, "pointerdown", (event) => {
    if (pop && !event.composedPath().includes(holder)) close()
  })
  return {holder, close, refill: () => { if (pop) { pop.replaceChildren(); fill(pop) } }, isOpen: () => pop !== null}
}
