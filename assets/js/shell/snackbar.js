// One message about the last command, with an undo button. Panel's notifications would keep every session in memory.

import {h, icon} from "../core/element.js"

const SHOWN = {info: 5000, success: 6000, error: 15000} // milliseconds; errors take longer to read

export function snackbar(model) {
  const holder = h("div", {"aria-live": "polite"})
  let timer = null
  const hide = () => { clearTimeout(timer); holder.replaceChildren() }
  const show = () => {
    const {text, kind, undo, link} = model.message
    hide()
    if (!text) return
    const parts = [h("span", {}, text)]
    if (undo) parts.push(h("button", {onclick: () => { hide(); model.send_msg({act: "undo"}) }}, "Undo"))
    if (link) parts.push(h("a", {href: link.href}, link.text))
    parts.push(h("button", {class: "close", "aria-label": "Close", onclick: hide}, icon("close")))
    holder.append(h("div", {class: `snack ${kind}`, role: kind === "error" ? "alert" : "status"}, ...parts))
    timer = setTimeout(hide, undo || link ? 12000 : SHOWN[kind])
  }
  model.on("message", show)
  show()
  return holder
}
