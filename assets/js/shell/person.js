// The person of this tab. Every label is stored with a name, which is asked for when it is first needed.

import {ask, h, icon} from "../core/element.js"
import {popover} from "./popover.js"

const YEAR = 365 * 86400

function remember(model, person) {
  model.person = person
  document.cookie = `bentho-person=${encodeURIComponent(person)}; path=/; max-age=${YEAR}; samesite=lax`
}

// A field for the name, and the names this workspace knows; `choose` gets the name.
function nameForm(model, choose, ...more) {
  const input = h("input", {"aria-label": "Your name", placeholder: "Your name", maxlength: 80, value: model.person, required: true, autocomplete: "name"})
  const known = h("ul", {"aria-label": "Names used here before"})
  const submit = (event) => { event.preventDefault(); if (input.value.trim()) choose(input.value.trim()) }
  ask("/api/v1/people").then((people) => known.append(...people.map((person) =>
    h("li", {}, h("button", {type: "button", class: "plain", onclick: () => choose(person.name)}, icon("person"), person.name)))), () => {})
  return h("div", {class: "people"}, h("form", {onsubmit: submit}, input, h("button", {class: "button main"}, "Continue"), ...more), known)
}

export function personChooser(model) {
  const name = h("span", {class: "who"})
  const button = h("button", {class: "plain", title: "Your name"}, icon("person"), name)
  const menu = popover(model, button, (pop) => pop.append(h("h3", {}, "Your name"), nameForm(model, (person) => { remember(model, person); menu.close() })))

  const apply = () => {
    name.textContent = model.person || "Your name"
    button.setAttribute("aria-label", model.person ? `Person: ${model.person}` : "Enter your name")
  }
  model.on("person", apply)
  apply()
  return menu.holder
}

// Opens while the server waits for the name to carry out a command.
export function nameDialog(model) {
  const body = h("div", {class: "asked"})
  const cancel = () => { element.close(); model.send_msg({act: "cancel_name"}) }
  const element = h("dialog", {class: "name", "aria-label": "Name needed"}, h("header", {}, h("h2", {}, "Enter your name"),
    h("button", {class: "plain", "aria-label": "Close", onclick: cancel}, icon("close"))), body)
  element.addEventListener("cancel", (event) => { event.preventDefault(); cancel() })

  function show() {
    if (!model.asks_name) return element.close()
    body.replaceChildren(h("p", {}, "Labels are stored with the name of the person who makes them. You enter it once in this browser; your command continues after that."),
      nameForm(model, (person) => { remember(model, person); element.close() }, h("button", {type: "button", class: "button", onclick: cancel}, "Cancel")))
    if (!element.open && element.isConnected) element.showModal()
    body.querySelector("input").focus()
  }
  model.on("asks_name", show)
  queueMicrotask(() => { if (model.asks_name) show() })
  return element
}
