// A grid of shaded cells that are links, and stacked bars whose parts are. Both are tables to those who hear them.

import {h} from "../dom.js"

const LEAST = 0.004 // shares below it are too narrow to see

// `cell(line, column)` says {way, strength 0..1, title, href}.
export function grid({rows, columns, cell, label}) {
  const table = h("table", {class: "shades"})
  const heading = ({name, colour, short}) => h("th", {scope: "col", title: name}, tint(colour), h("span", {"aria-hidden": "true"}, short), h("span", {class: "heard"}, name))
  const line = (row, at) => h("tr", {}, h("th", {scope: "row", title: row.name}, tint(row.colour), h("span", {}, row.name)), columns.map((_, column) => shade(cell(at, column))))
  table.append(h("thead", {}, h("tr", {}, h("td", {}), columns.map(heading))), h("tbody", {}, rows.map(line)))
  walk(table)
  return h("div", {class: "scroll", role: "region", "aria-label": `${label}; arrows move between cells`}, table)
}

function shade({way, strength, title, href}) {
  const link = h("a", {href, title, "aria-label": title, class: way, tabindex: "-1"})
  link.style.setProperty("--strength", `${Math.round(100 * strength)}%`)
  return h("td", {}, link)
}

function tint(colour) {
  const dot = colour ? h("i", {class: "dot"}) : null
  if (dot) dot.style.background = colour
  return dot
}

// One stop of the Tab key for all cells; arrows go on from there.
function walk(table) {
  const lines = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td a")])
  if (lines[0]?.[0]) lines[0][0].tabIndex = 0
  table.addEventListener("keydown", (event) => {
    const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key]
    const line = lines.findIndex((cells) => cells.includes(event.target))
    if (!steps || line < 0) return
    const next = lines[line + steps[0]]?.[lines[line].indexOf(event.target) + steps[1]]
    if (!next) return
    event.preventDefault()
    event.target.tabIndex = -1
    next.tabIndex = 0
    next.focus()
  })
}

export function stacks({rows, names, colours, href}) {
  const part = (row, share, object) => {
    if (share < LEAST) return null
    const title = `${names[object]}: ${(100 * share).toFixed(1)} %`
    const link = h("a", {class: "part", href: href(row, object), title, "aria-label": `${rows[row].name}, ${title}`, tabindex: "-1"})
    link.style.cssText = `flex: ${share}; background: ${colours[object]}`
    return link
  }
  const line = (row, at) => h("div", {class: "mixture", role: "listitem"}, h("a", {class: "name", href: row.href, title: row.name}, row.name), h("div", {class: "stack"}, row.shares.map((share, object) => part(at, share, object))), h("span", {class: "soft number"}, row.note))
  const used = names.map((_, object) => object).filter((object) => rows.some(({shares}) => shares[object] >= LEAST))
  return h("div", {class: "stacked"}, h("ul", {class: "key", "aria-label": "Colours"}, used.map((object) => h("li", {}, tint(colours[object]), names[object]))), h("div", {class: "proportions", role: "list"}, rows.map(line)))
}
