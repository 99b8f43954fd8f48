// Keys that work on every page, and the map of all keys of this page on `?`.

import {h, icon} from "../dom.js"

const CHORD = 1200 // milliseconds between `g` and the letter of a page

// Whether a key belongs to a field or an open dialog rather than to the page.
export function typing(event) {
  const path = event.composedPath()
  const target = path[0]
  if (path.some((part) => part.tagName === "DIALOG")) return true
  return target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
}

export function keyboard(model) {
  const body = h("dl", {class: "keys"})
  const element = h("dialog", {"aria-label": "Keyboard map"}, h("header", {}, h("h2", {}, "Keyboard"),
    h("button", {class: "plain", "aria-label": "Close", onclick: () => element.close()}, icon("close"))), body)
  let afterG = -Infinity

  const row = ([key, what]) => h("div", {}, h("dt", {}, ...key.split(" ").map((part) => h("kbd", {}, part))), h("dd", {}, what))
  function open() {
    const everywhere = [["/", "Search"], ["?", "This map"], ["Esc", "Close what is open"], ["t", "Light or dark theme"],
      ...model.pages.filter((page) => page.key).map((page) => [`g ${page.key}`, `Go to ${page.title}`])]
    const own = model.keys.length ? [h("h4", {}, "On this page"), ...model.keys.map(row)] : []
    body.replaceChildren(...own, h("h4", {}, "Everywhere"), ...everywhere.map(row))
    element.showModal()
  }

  function pressed(event) {
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return
    const search = element.parentNode?.querySelector("input[type=search]")
    if (event.key === "?") { event.preventDefault(); if (!element.open) open() }
    else if (event.key === "/") { event.preventDefault(); search?.focus() }
    else if (event.key === "t" && event.timeStamp - afterG > CHORD) model.theme = model.theme === "dark" ? "light" : "dark"
    else if (event.key === "g") { afterG = event.timeStamp; return }
    else if (event.timeStamp - afterG < CHORD) {
      const page = model.pages.find((known) => known.key === event.key)
      if (page) window.location.assign(page.href)
    }
    afterG = -Infinity
  }

  return {element, open, pressed}
}
