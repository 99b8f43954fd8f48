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
