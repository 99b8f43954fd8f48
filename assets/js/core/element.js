// Builds elements, each in one line. Texts are always set as text, never as markup.

import {byKey} from "./focus.js"

export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value)
    else if (key === "class") element.className = value
    else if (key === "value") element.value = value
    else element.setAttribute(key, value === true ? "" : value)
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return element
}

const SVG = "http://www.w3.org/2000/svg"

export function s(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value)
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined))
  return element
}

// Replaces the children of an element. If one of them had the focus, it keeps it if it is still there. Otherwise the new
// child with the same data-key gets it, or else the one in the same place.
export function redraw(element, ...children) {
  const focused = element.getRootNode().activeElement
  const held = focused && focused !== element && element.contains(focused)
  const key = held ? focused.dataset?.key : null
  const path = held ? placeOf(focused, element) : []
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  if (!held || element.contains(element.getRootNode().activeElement)) return
  const next = element.contains(focused) ? focused : key ? byKey(element, key) : path.reduce((node, at) => node?.children[at], element)
  next?.focus({preventScroll: true})
}

function placeOf(node, root) {
  const path = []
  for (let at = node; at !== root; at = at.parentNode) path.unshift([...at.parentNode.children].indexOf(at))
  return path
}

export function icon(name) {
  return h("span", {class: "icon", "aria-hidden": "true"}, name)
}

// Adds a listener that is removed with the component.
export function whileShown(model, target, event, listener, options) {
  target.addEventListener(event, listener, options)
  model.on("remove", () => target.removeEventListener(event, listener, options))
}

export async function ask(path, options = {}) {
  const answer = await fetch(path, {credentials: "same-origin", ...options})
  const body = await answer.json().catch(() => ({}))
  if (!answer.ok) {
    const {where = "server", what = `answered ${answer.status}`, remedy = ""} = body.error ?? {}
    throw new Error(`${where}: ${what}${remedy ? `; ${remedy}` : ""}`)
  }
  return body
}
