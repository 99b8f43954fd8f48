// One line about the last act, with a way to take it back. Panel's own notifications would keep every session alive.

import {h, icon} from "../dom.js"

const SHOWN = {info: 5000, success: 6000, error: 15000} // milliseconds; errors have to be read

export function snackbar(model) {
  const holder = h("div", {"aria-live": "polite"})
  let timer = null
  const hide = () => { clearTimeout(timer); holder.replaceChildren() }
  const show = () => {
    const {text, kind, undo} = model.message
    hide()
    if (!text) return
    const parts = [h("span", {}, text)]
    if (undo) parts.push(h("button", {onclick: () => { hide(); model.send_msg({act: "undo"}) }}, "Undo"))
    parts.push(h("button", {class: "close", "aria-label": "Close", onclick: hide}, icon("close")))
    holder.append(h("div", {class: `snack ${kind}`, role: kind === "error" ? "alert" : "status"}, ...parts))
    timer = setTimeout(hide, undo ? 12000 : SHOWN[kind])
  }
  model.on("message", show)
  show()
  return holder
}
