// Keys that work on every page, and the list of all keys (`?`).

import {h, icon} from "../core/element.js"

const CHORD = 6000 // milliseconds for which `g` waits for the letter of a page

// Whether a key belongs to a field or an open dialog rather than to the page. (A closed dialog keeps the focus until the
// page is redrawn.)
export function typing(event) {
  const path = event.composedPath()
  const target = path[0]
  if (path.some((part) => part.tagName === "DIALOG" && part.open)) return true
  return target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
}

export function keyboard(model) {
  const body = h("dl", {class: "keys"})
  const element = h("dialog", {"aria-label": "Keyboard shortcuts"}, h("header", {}, h("h2", {}, "Keyboard shortcuts"),
    h("button", {class: "plain", "aria-label": "Close", onclick: () => element.close()}, icon("close"))), body)
  const chord = chordOf(model.pages.filter((page) => page.key))

  const row = ([key, what]) => h("div", {}, h("dt", {}, ...key.split(" ").map((part) => h("kbd", {}, part))), h("dd", {}, what))
  function open() {
    const everywhere = [["/", "Search"], ["?", "Show keyboard shortcuts"], ["Esc", "Close a dialog"], ["t", "Light or dark theme"], ["Ctrl Z", "Undo your last change"],
      ...model.pages.filter((page) => page.key).map((page) => [`g ${page.key}`, `Go to ${page.title}`])]
    const own = model.keys.length ? [h("h4", {}, "On this page"), ...model.keys.map(row)] : []
    body.replaceChildren(...own, h("h4", {}, "Everywhere"), ...everywhere.map(row))
    element.showModal()
  }

  // Runs before the keys of the page, which ignore the letter after `g`.
  function pressed(event) {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return
    if (chord.isOpen() && event.key !== "Shift") {
      event.preventDefault()
      event.stopImmediatePropagation()
      chord.end(event.key)
    }
    else if (event.key === "?") { event.preventDefault(); if (!element.open) open() }
    else if (event.key === "/") { event.preventDefault(); element.parentNode?.querySelector("input[type=search]")?.focus() }
    else if (event.key === "t") model.theme = model.theme === "dark" ? "light" : "dark"
    else if (event.key === "g" && !event.repeat) chord.begin()
  }

  return {element, hint: chord.hint, open, pressed}
}

// `g` shows a letter for each page; any other key, a click, or waiting closes it.
function chordOf(pages) {
  const hint = h("div", {class: "chord", role: "status", hidden: true})
  let timer = null
  const close = () => {
    clearTimeout(timer)
    hint.hidden = true
    document.removeEventListener("pointerdown", close)
  }
  const begin = () => {
    hint.replaceChildren(h("b", {}, "Go to"), ...pages.map((page) => h("span", {}, h("kbd", {}, page.key), page.title)))
    hint.hidden = false
    document.addEventListener("pointerdown", close)
    timer = setTimeout(close, CHORD)
  }
  const end = (key) => {
    close()
    const page = pages.find((known) => known.key === key)
    if (page) window.location.assign(page.href)
  }
  return {hint, begin, end, isOpen: () => !hint.hidden}
}
