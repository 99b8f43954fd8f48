// Who sits here: every label carries a name. A name is enough, for on a ship nobody wants another password.

import {ask, h, icon} from "../dom.js"
import {popover} from "./popover.js"

const YEAR = 365 * 86400

export function personChooser(model) {
  const name = h("span", {class: "who"})
  const button = h("button", {class: "plain", title: "Who sits here"}, icon("person"), name)
  const menu = popover(model, button, fill)

  function choose(person) {
    model.person = person
    document.cookie = `bentho-person=${encodeURIComponent(person)}; path=/; max-age=${YEAR}; samesite=lax`
    menu.close()
  }

  function fill(pop) {
    const input = h("input", {"aria-label": "Your name", placeholder: "Your name", maxlength: 80, value: model.person})
    const say = (event) => { event.preventDefault(); if (input.value.trim()) choose(input.value.trim()) }
    const known = h("ul", {})
    pop.append(h("h3", {}, "Who sits here?"), h("div", {class: "people"},
      h("form", {onsubmit: say}, input, h("button", {class: "button main"}, "That's me")), known))
    ask("/api/v1/people").then((people) => known.append(...people.map((person) =>
      h("li", {}, h("button", {class: "plain", onclick: () => choose(person.name)}, icon("person"), person.name)))))
  }

  const apply = () => {
    name.textContent = model.person || "Who are you?"
    button.setAttribute("aria-label", model.person ? `Person: ${model.person}` : "Say who you are")
  }
  model.on("person", apply)
  apply()
  return menu.holder
}
