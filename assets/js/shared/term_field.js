// The field in which a label is found by its first letters or created, on every page with labels. It is never redrawn,
// so that typed text is not lost.

import {ask, h, icon} from "../core/element.js"

const CREATE = "create" // the row that creates a new term
const EMPTY = {text: "", terms: [], exact: false, alike: false, total: null}

// `choose` gets the chosen term {id, name, path}. With `offer`, an empty workspace is offered a vocabulary immediately,
// not only when the field has the focus.
export function termField({choose, title = "Label", placeholder = "Type to search or create", offer = false, attributes = {}}) {
  const field = h("input", {class: "find", type: "search", placeholder, "aria-label": title, autocomplete: "off", spellcheck: "false", role: "combobox",
    "aria-autocomplete": "list", "aria-expanded": "false", oninput: typed, onkeydown: pressed, onfocus: look, onblur: close, ...attributes})
  const list = h("ul", {class: "hits", role: "listbox", "aria-label": "Terms", popover: "manual", onpointerdown: (event) => event.preventDefault()})
  const first = h("div", {class: "first", hidden: true})
  const element = h("div", {class: "finder"}, field, first, list)
  let matches = EMPTY // the latest answer of the server
  let active = 0 // row that Enter chooses
  let awaited = null // row that was chosen before the list arrived
  let failed = ""

  const text = () => field.value.trim()
  const ready = () => matches.text === text()

  // The row for a new term comes first if the others are only similar, last if they begin with the text.
  function rows() {
    if (!text()) return []
    if (matches.exact) return matches.terms
    return matches.alike ? [CREATE, ...matches.terms] : [...matches.terms, CREATE]
  }

  function typed() {
    awaited = null
    active = 0
    failed = ""
    draw()
    look()
  }

  async function look() {
    const sought = text()
    const answer = await ask(`/api/v1/terms?q=${encodeURIComponent(sought)}`).catch(() => null)
    if (!answer || sought !== text()) return
    matches = answer
    draw()
    take()
  }

  function pressed(event) {
    event.stopPropagation()
    const {key} = event
    if (key === "Escape") { event.preventDefault(); return leave() }
    if (!text()) return
    if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1)
    else if (key === "Enter") ask_for(event.shiftKey ? CREATE : active)
    else if (event.altKey && /^[1-9]$/.test(key)) ask_for(key - 1)
    else return
    event.preventDefault()
  }

  function move(by) {
    const number = rows().length
    if (number) active = (active + by + number) % number
    draw()
  }

  function ask_for(row) {
    awaited = row
    take()
  }

  // The chosen row is applied as soon as the list belongs to the current text.
  function take() {
    if (awaited === null || !ready() || !text()) return
    const row = awaited === CREATE ? (matches.exact ? matches.terms[0] : CREATE) : rows()[awaited]
    awaited = null
    if (row === CREATE) create()
    else if (row) pick(row)
  }

  async function create() {
    const name = text()
    try {
      const term = await ask("/api/v1/terms", {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({name})})
      first.hidden = true
      pick(term)
    } catch (error) { failed = error.message; draw() }
  }

  function pick(term) {
    leave()
    choose(term)
  }

  function leave() {
    field.value = ""
    matches = {...EMPTY, total: matches.total}
    awaited = null
    field.blur()
    close()
  }

  function close() {
    if (list.matches(":popover-open")) list.hidePopover()
    field.setAttribute("aria-expanded", "false")
  }

  // --- a workspace without terms

  async function catami() {
    field.focus() // so that typing goes to the field while the terms are being stored
    try { await ask("/api/v1/vocabularies/catami", {method: "POST"}) }
    catch (error) { failed = error.message; return draw() }
    first.hidden = true
    matches = EMPTY
    look()
  }

  const start = () => [h("p", {}, h("b", {}, "No labels yet. "), "Type your own word and press Enter, or start with the standard vocabulary for images of the sea floor."),
    h("button", {type: "button", class: "button", onclick: catami}, icon("library_add"), "Use CATAMI")]

  // --- the list

  function row(term, at) {
    const state = {role: "option", "aria-selected": String(at === active)}
    const key = at === active ? "Enter" : term === CREATE ? "Shift Enter" : at < 9 ? `Alt ${at + 1}` : ""
    const take_this = () => { awaited = at; take() }
    if (term === CREATE) return h("li", {...state, class: "create", onclick: take_this}, icon("add"), h("b", {}, `Create "${text()}"`), h("kbd", {}, key))
    return h("li", {...state, onclick: take_this}, h("i", {style: `background:${term.colour || "var(--line)"}`}), h("b", {}, term.name), h("kbd", {}, key), term.path === term.name ? null : h("span", {class: "soft"}, term.path))
  }

  function draw() {
    const empty = matches.total === 0 && !text()
    first.hidden = !(offer && empty)
    if (!first.hidden && !first.childElementCount) first.append(...start())
    const shown = failed ? [h("li", {class: "wrong", role: "alert"}, failed)] : ready() && text() ? rows().map(row) : empty && !offer ? [h("li", {class: "start"}, ...start())] : null
    if (shown === null && text()) return // the previous list stays until the new one arrives
    list.replaceChildren(...(shown ?? []))
    if (!shown?.length || field.getRootNode().activeElement !== field) return close()
    if (!list.matches(":popover-open")) list.showPopover()
    field.setAttribute("aria-expanded", "true")
    place()
  }

  // Below the field, or above it if there is more room; always inside the window.
  function place() {
    const box = field.getBoundingClientRect(), wide = Math.max(box.width, 260)
    const below = window.innerHeight - box.bottom - 8, above = box.top - 8
    const up = below < Math.min(list.scrollHeight, 240) && above > below
    Object.assign(list.style, {left: `${Math.max(Math.min(box.left, window.innerWidth - wide - 8), 8)}px`, width: `${wide}px`, maxHeight: `${up ? above : below}px`,
      top: up ? "auto" : `${box.bottom + 2}px`, bottom: up ? `${window.innerHeight - box.top + 2}px` : "auto"})
  }

  if (offer) look()
  return {element, field, focus: () => field.focus(), submit: () => ask_for(active)}
}
