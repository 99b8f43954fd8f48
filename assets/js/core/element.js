// Building elements, in one line each; texts are always set as text, never as markup.

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

// Puts other children into an element. Where one of them had the focus, its successor gets it: the one with the same
// data-key, or else the one in the same place.
export function redraw(element, ...children) {
  const focused = element.getRootNode().activeElement
  const held = focused && focused !== element && element.contains(focused)
  const key = held ? focused.dataset?.key : null
  const path = held ? placeOf(focused, element) : []
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  if (!held || element.contains(element.getRootNode().activeElement)) return
  const heir = key ? element.querySelector(`[data-key="${CSS.escape(key)}"]`) : path.reduce((node, at) => node?.children[at], element)
  heir?.focus({preventScroll: true})
}

function placeOf(node, root) {
  const path = []
  for (let at = node; at !== root; at = at.parentNode) path.unshift([...at.parentNode.children].indexOf(at))
  return path
}

export function icon(name) {
  return h("span", {class: "icon", "aria-hidden": "true"}, name)
}

// Removing what a component set on the document when its view goes away.
export function whileShown(model, target, event, listener, options) {
  target.addEventListener(event, listener, options)
  model.on("remove", () => target.removeEventListener(event, listener, options))
}

export async function ask(path, options = {}) {
  const answer = await fetch(path, {credentials: "same-origin", ...options})
  const told = await answer.json().catch(() => ({}))
  if (!answer.ok) {
    const {where = "server", what = `answered ${answer.status}`, remedy = ""} = told.error ?? {}
    throw new Error(`${where}: ${what}${remedy ? `; ${remedy}` : ""}`)
  }
  return told
}
