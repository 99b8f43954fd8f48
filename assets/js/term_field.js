// The field in which a term is found by its first letters. It is made once and never redrawn, so that nothing that
// comes from the server meanwhile takes away what is being typed.

import {h} from "./dom.js"

// `model.hits` is {text, terms}: what the server found for a text; `choose` gets the id of a term.
export function termField(model, tell, choose) {
  const field = h("input", {class: "find", type: "search", placeholder: "Term: l, then its first letters", "aria-label": "Term",
    autocomplete: "off", oninput: asked, onkeydown: pressed})
  const list = h("ul", {class: "hits", role: "listbox", "aria-label": "Terms found"})
  let wanted = null // place in the list that was asked for before the list was there

  const text = () => field.value.trim()
  const ready = () => model.hits.text === text()

  function asked() {
    wanted = null
    if (text()) tell("find", {text: text()})
    draw()
  }

  function pressed(event) {
    event.stopPropagation()
    if (event.key === "Escape") return leave()
    const place = event.key === "Enter" ? 0 : event.altKey && /^[1-9]$/.test(event.key) ? event.key - 1 : null
    if (place === null || !text()) return
    event.preventDefault()
    wanted = place
    take()
  }

  // What was asked for is taken as soon as the list belongs to what stands in the field, not to a few letters less.
  function take() {
    if (wanted === null || !ready()) return
    const found = model.hits.terms[wanted]
    wanted = null
    if (found) { choose(found.id); leave() }
  }

  function leave() {
    field.value = ""
    wanted = null
    list.replaceChildren()
    field.blur()
  }

  function draw() {
    const none = h("li", {class: "none soft"}, "No term begins like this")
    const rows = model.hits.terms?.map((one, at) => h("li", {role: "option", onclick: () => { choose(one.id); leave() }},
      h("i", {style: `background:${one.colour || "var(--line)"}`}), one.name, at && at < 9 ? h("kbd", {}, `Alt ${at + 1}`) : null, h("span", {class: "soft"}, one.path)))
    list.replaceChildren(...(text() && model.hits.text ? (rows.length || !ready() ? rows : [none]) : []))
  }

  model.on("change:hits", () => { draw(); take() })
  return {element: h("div", {class: "finder"}, field, list), focus: () => field.focus()}
}
