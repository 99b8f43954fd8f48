// A menu of commands, opened by a button or beside the pointer. Arrow keys move in it; Escape or a click elsewhere closes it.

import {h} from "../core/element.js"

const WIDTH = 264 // pixels, as in the style sheet
const EDGE = 6 // free pixels at the edge of the window

// `items()` returns {words, key, title, act, disabled} of every command, and "-" for a line between them.
export function menu(label, items) {
  const element = h("div", {class: "commands", role: "menu", popover: "auto", "aria-label": label})
  let origin = null // gets the focus back when the menu is closed
  const commands = () => [...element.querySelectorAll("button:not([disabled])")]

  function item(one) {
    if (one === "-") return h("hr")
    const {words, key, title, act, disabled} = one
    return h("button", {role: "menuitem", tabindex: "-1", disabled, "aria-keyshortcuts": key ?? null, title: title ?? null, "data-item": words, onclick: () => { close(); act() }},
      h("span", {}, words), key ? h("kbd", {"aria-hidden": "true"}, key) : null)
  }

  function place(left, top) {
    element.style.left = `${Math.max(Math.min(left, window.innerWidth - WIDTH - EDGE), EDGE)}px`
    element.style.top = `${Math.max(top, EDGE)}px`
    element.style.maxHeight = `${window.innerHeight - Math.max(top, EDGE) - EDGE}px`
  }

  function close() {
    element.hidePopover()
    origin?.focus({preventScroll: true})
  }

  function fill() {
    element.replaceChildren(...items().filter(Boolean).map(item))
    commands()[0]?.setAttribute("autofocus", "") // gets the focus when the menu opens, before the next key
  }

  function openAt(left, top, from) {
    origin = from
    fill()
    element.style.maxHeight = ""
    place(left, top)
    if (element.matches(":popover-open")) commands()[0]?.focus()
    else element.showPopover()
    place(left, Math.min(top, window.innerHeight - element.offsetHeight - EDGE))
  }

  // The browser opens and closes the menu of its button.
  function button(words, attributes = {}) {
    const opener = h("button", {class: "button", "aria-haspopup": "menu", ...attributes}, words)
    opener.popoverTargetElement = element
    element.addEventListener("beforetoggle", (event) => {
      if (event.newState !== "open") return
      origin = opener
      fill()
      const box = opener.getBoundingClientRect()
      place(box.left, box.bottom + 4)
    })
    return opener
  }

  element.addEventListener("keydown", (event) => {
    const all = commands(), at = all.indexOf(event.composedPath()[0])
    const next = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1}[event.key]
    if (next !== undefined) {
      event.preventDefault()
      all.at(next % all.length)?.focus()
    }
    if (next !== undefined || ["Escape", "Enter", " ", "Tab"].includes(event.key)) event.stopPropagation() // other keys belong to the page
    if (event.key === "Escape" || event.key === "Tab" || event.key.length === 1 && event.key !== " ") {
      if (event.key === "Escape") event.preventDefault()
      close()
    }
  })

  return {element, openAt, button}
}
