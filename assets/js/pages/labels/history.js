// The history of labels, above its table: all entries or those of one image, and the statement about bulk labels.

import {h, redraw} from "../../core/element.js"
import {count} from "../../core/format.js"

export function historyPart({tell, now}) {
  const head = h("div", {})
  const none = h("p", {class: "soft"})
  const element = h("div", {class: "history"}, head, none)

  function draw() {
    const {image, total, bulk} = now()
    redraw(head, h("div", {class: "tools"}, h("form", {class: "line", onsubmit: (event) => { event.preventDefault(); const id = event.target.elements[0].value; tell("image", {id: id ? Number(id) : null}) }},
      h("input", {type: "number", min: 1, placeholder: "Image", "aria-label": "Number of an image", value: image ?? ""}), h("button", {class: "button"}, "Show image history")),
    image !== null ? h("button", {class: "button", onclick: () => tell("image", {id: null})}, "All entries") : h("span", {class: "soft"}, `${count(total)} ${total === 1 ? "entry" : "entries"}`)),
    bulk ? h("p", {class: "bulk"}, bulk.text, " ", h("a", {href: "/review?audit=0"}, bulk.checked ? "Check more" : "Check all bulk labels together")) : null)
    none.textContent = image === null ? "No labels yet" : `Image ${image} has no history`
    none.hidden = now().entries > 0
  }

  return {element, draw}
}
