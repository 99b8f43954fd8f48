// Undoes the person's last change, on every page.

import {h, icon, whileShown} from "../core/element.js"
import {typing} from "./keyboard.js"

export function undoButton(model) {
  const undo = () => { if (model.last_change) model.send_msg({act: "undo_last"}) }
  const button = h("button", {class: "plain", onclick: undo}, icon("undo"))
  const draw = () => {
    button.disabled = !model.last_change
    button.title = model.last_change ? `Undo: ${model.last_change} (Ctrl Z)` : "Nothing to undo"
    button.setAttribute("aria-label", button.title)
  }
  whileShown(model, document, "keydown", (event) => {
    if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.repeat || typing(event)) return
    event.preventDefault()
    undo()
  })
  model.on("last_change", draw)
  draw()
  return button
}
