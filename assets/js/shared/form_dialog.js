// The form of a job: important fields first, the others under "More", the cost, and one button.

import {h} from "../core/element.js"
import {dialogOf} from "./dialog.js"

const LISTED = new Set(["one", "several"]) // kinds with several inputs
const PAUSE = 250 // milliseconds after the last key before the cost is requested

export function render({model}) {
  let values = {}
  let drawn = null // title of the shown form: its inputs are not redrawn while cost and error change
  let timer = null
  const cost = h("p", {class: "cost soft", "aria-live": "polite"})
  const error = h("p", {class: "wrong", role: "alert"})
  const changed = (name, value) => {
    values = {...values, [name]: value}
    clearTimeout(timer)
    timer = setTimeout(() => model.send_msg({act: "change", values}), PAUSE)
  }

  function input(field) {
    const id = `field-${field.name}`
    const common = {id, "aria-describedby": `${id}-help`}
    const value = values[field.name]
    if (field.kind === "switch") {
      const box = h("input", {...common, type: "checkbox", onchange: () => changed(field.name, box.checked)})
      box.checked = Boolean(value)
      return box
    }
    if (field.kind === "choice") {
      return h("select", {...common, onchange: (event) => changed(field.name, event.target.value)},
        field.choices.map(([word, words]) => h("option", {value: word, selected: word === value}, words)))
    }
    if (field.kind === "one") { // each choice with its description
      const buttons = field.choices.map(([word, words]) => {
        const [name, ...about] = words.split(": ")
        const button = h("input", {type: "radio", name: id, value: word, onchange: () => changed(field.name, word)})
        button.checked = value === word
        return h("label", {class: "several"}, button, h("span", {}, h("b", {}, name), h("br", {}), h("span", {class: "soft"}, about.join(": "))))
      })
      return h("div", {role: "radiogroup", "aria-labelledby": `${id}-label`}, buttons)
    }
    if (field.kind === "several") {
      const boxes = field.choices.map(([word, words]) => {
        const [name, ...about] = words.split(": ")
        const box = h("input", {type: "checkbox", value: word, onchange: () =>
          changed(field.name, boxes.map((label) => label.firstChild).filter((one) => one.checked).map((one) => one.value))})
        box.checked = value.includes(word)
        return h("label", {class: "several"}, box, h("span", {}, h("b", {}, name), " ", about.join(": ")))
      })
      return h("div", {role: "group", "aria-labelledby": `${id}-label`}, boxes)
    }
    const number = field.kind === "number" || field.kind === "integer"
    return h("input", {...common, type: number ? "number" : "text", value: value ?? "", min: field.minimum,
      max: field.maximum, step: number ? field.step ?? (field.kind === "integer" ? 1 : "any") : null,
      oninput: (event) => changed(field.name, event.target.value)})
  }

  const row = (field) => h("div", {class: `field of-${field.kind}`},
    h(LISTED.has(field.kind) ? "span" : "label", {for: LISTED.has(field.kind) ? null : `field-${field.name}`,
      id: `field-${field.name}-label`, class: "label"}, field.label),
    input(field), h("p", {id: `field-${field.name}-help`, class: "help soft"}, field.help, field.look ? [" ", look(field)] : null))

  const look = (field) => h("a", {href: field.look, target: "_blank", rel: "noopener", onclick: (event) => {
    event.currentTarget.href = `${field.look}?collection=${encodeURIComponent(values.collection ?? "")}`
  }}, "See before and after")

  // The field that the error is about is marked; the error itself stands beside the buttons, where it is always in view.
  function mark(body, {wrong}) {
    for (const input of body.querySelectorAll("input, select")) input.setAttribute("aria-invalid", String(input.id === `field-${wrong}`))
    body.querySelector("details [aria-invalid=true]")?.closest("details").setAttribute("open", "")
  }

  function draw(body, shown) {
    cost.textContent = shown.error ? "" : shown.cost
    error.textContent = shown.error
    if (drawn === shown.title && body.childElementCount) return mark(body, shown)
    drawn = shown.title
    values = {...shown.values}
    const more = shown.fields.filter((field) => field.more)
    body.replaceChildren(h("form", {novalidate: true, onsubmit: (event) => { // the server validates and explains errors
      event.preventDefault()
      clearTimeout(timer)
      model.send_msg({act: "start", values})
    }}, h("p", {class: "intro"}, shown.intro), ...shown.fields.filter((field) => !field.more).map(row),
      more.length ? h("details", {}, h("summary", {}, "More"), ...more.map(row)) : null,
      h("footer", {}, h("div", {class: "told"}, cost, error),
        h("button", {type: "button", class: "button", onclick: () => model.send_msg({act: "close"})}, "Cancel"),
        h("button", {class: "button main"}, shown.action))))
  }

  return dialogOf(model, draw)
}
