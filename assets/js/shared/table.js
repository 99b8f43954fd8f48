// A table drawn by Tabulator: how cells look, and the buttons that copy and save what the filters let through.
// A press on a button of a row becomes the event "table-act" with {act, ...}, for the board around the table.

import {h, icon} from "../core/element.js"
import {painted} from "../core/painted.js"
import {count, time} from "../core/format.js"
import {copyText, saveText} from "../core/hand_over.js"

const HEAD = 70 // pixels: a table that is higher has rows
const rowOf = (cell) => JSON.parse(cell.getData().row || "{}")
const filled = (words, row) => words.replace(/{(\w+)}/g, (_, name) => row[name] ?? "")
const percent = (part) => (part > 0 && part < 0.01 ? "<1 %" : `${Math.round(100 * part)} %`)
const missing = (value) => value === null || value === undefined || Number.isNaN(value)
const number = (shown) => (cell) => (missing(cell.getValue()) ? "" : shown(cell.getValue()))

// `confirm` is the text of the button after the first press; the second press runs the command.
function button(cell, options, ...content) {
  const row = rowOf(cell)
  const {act, words, state, when, otherwise = "", once, confirm} = options
  if (when && !row[when]) return filled(otherwise, row)
  let sure = !confirm
  const press = (event) => {
    event.stopPropagation()
    if (once && row[state]) return
    if (!sure) { sure = true; event.currentTarget.textContent = confirm; return }
    event.currentTarget.dispatchEvent(new CustomEvent("table-act", {bubbles: true, composed: true, detail: {act: filled(act, row), number: row.id, name: row.name}}))
  }
  const title = words ? filled(words, row) : null
  const element = h("button", {type: "button", class: options.text ? "plain word" : "plain", title, "aria-label": title, "aria-pressed": state ? String(Boolean(row[state])) : null, onclick: press}, content)
  return keepingFocus(element, `${cell.getField()}-${row.id}`)
}

// Tabulator replaces rows, or takes them out and puts them back. The button that had the focus, or the new one at its
// place, gets it again before the next key arrives.
let focused = null // key of the button
let isPressed = false
function keepingFocus(element, key) {
  element.dataset.key = key // a dialog gives the focus back by it
  const take = () => { if (focused === key && element.isConnected) element.focus({preventScroll: true}) }
  element.addEventListener("focus", () => { focused = key })
  element.addEventListener("blur", ({relatedTarget}) => {
    const byPerson = relatedTarget || isPressed || !document.hasFocus() // the browser says nothing when it removes an element
    if (byPerson) focused = null
    else queueMicrotask(take)
  })
  if (focused === key) queueMicrotask(() => (element.isConnected ? take() : setTimeout(take))) // Tabulator may put it into the page later
  return element
}

function followPointer() {
  document.addEventListener("pointerdown", () => { isPressed = true }, {capture: true})
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => { isPressed = false }, {capture: true})
}

const face = (options, row) => (options.text ? filled(options.text, row) : icon(options.state && row[options.state] ? options.on : options.icon))

const FORMATTERS = {
  text: (cell) => String(cell.getValue() ?? ""),
  count: number(count),
  seconds: number(time),
  figure: (cell, {digits}) => number((value) => (digits ? value.toFixed(digits) : String(Number(value.toPrecision(6)))))(cell),
  share: number((part) => h("div", {class: "share"}, h("div", {class: "bar"}, h("i", {style: `width: ${100 * part}%`})), h("span", {}, percent(part)))),
  // The name of a row: opens it, with remarks behind.
  open: (cell, options) => h("span", {class: "name", title: cell.getValue()}, button(cell, options, cell.getValue()), (rowOf(cell).tags ?? []).map(([word, why]) => h("span", {class: "tag", title: why}, word))),
  // A title that the keyboard reaches: Enter sorts as a click does.
  heading: (cell) => keepingFocus(h("button", {type: "button", class: "heading"}, cell.getValue()), `heading-${cell.getValue()}`),
  // A text with a remark below.
  remarked: (cell, {below}) => h("div", {}, String(cell.getValue() ?? ""), rowOf(cell)[below] ? h("div", {class: "soft"}, rowOf(cell)[below]) : null),
  link: (cell, {href, text, when}) => (rowOf(cell)[when] ? h("a", {class: "plain word", href: filled(href, rowOf(cell))}, filled(text, rowOf(cell))) : ""),
  button: (cell, options) => button(cell, options, face(options, rowOf(cell))),
}

// A row's `mark` says how it stands out: shown, struck or faint.
const safely = (draw) => (cell, options) => {
  const inRow = Boolean(cell.getRow) // the cells of the head are in none
  const content = draw(cell, options, inRow ? rowOf(cell) : {})
  if (inRow) cell.getRow().getElement().dataset.mark = rowOf(cell).mark ?? ""
  return typeof content === "string" ? document.createTextNode(content) : content // Tabulator takes a string for markup
}

// A page adds looks of its own before its table is drawn.
const looks = {...FORMATTERS}
export function addLooks(more) {
  Object.assign(looks, more)
  if (window.Tabulator) giveLooks()
}

function giveLooks() {
  window.Tabulator.extendModule("format", "formatters", Object.fromEntries(Object.entries(looks).map(([name, draw]) => [name, safely(draw)])))
}

let library = null // a promise: Tabulator is there
function loadLibrary(address) {
  library ??= new Promise((resolve, reject) => {
    if (window.Tabulator) resolve()
    else document.head.append(h("script", {src: address, onload: resolve, onerror: () => { library = null; reject(new Error("The table could not be loaded. Reload the page.")) }}))
  }).then(giveLooks)
  return library
}

followPointer()

// The rows on screen, through the shadow roots between.
export function drawnRows(element) {
  const roots = [element, element.shadowRoot].filter(Boolean)
  return roots.flatMap((root) => [...root.querySelectorAll(".tabulator-row"), ...[...root.querySelectorAll("*")].filter((each) => each.shadowRoot).flatMap((each) => drawnRows(each.shadowRoot))])
}

export function render({model}) {
  const status = h("span", {class: "soft", role: "status"})
  const ask = (act) => () => model.send_msg({act})
  model.on("msg:custom", ({act, text}) => {
    if (act === "save") saveText(text, `${model.label.toLowerCase()}.csv`)
    else { copyText(text); status.textContent = "Copied" }
  })
  const place = h("div", {class: "place waiting"})
  const section = h("section", {class: "card", role: "region", "aria-label": model.label}, h("div", {class: "tools"}, status,
    h("button", {class: "plain", type: "button", onclick: ask("copy")}, icon("content_copy"), "Copy"),
    h("button", {class: "plain", type: "button", onclick: ask("save")}, icon("download"), "Save as CSV")), place)

  const reserve = () => { if (!table) place.style.minHeight = `${model.space}px` }
  let table = null

  function draw() {
    table = model.get_child("drawn")
    if (!table) return
    place.classList.remove("waiting")
    place.replaceChildren(table)
    const sized = new ResizeObserver(() => { // the place keeps its height until the table has rows
      if (table.offsetHeight <= HEAD) return
      place.style.minHeight = ""
      sized.disconnect()
    })
    sized.observe(table)
  }

  // A table that is not in the page, or in a hidden part of it, would be drawn without a width.
  const watch = new IntersectionObserver(async (seen) => {
    if (!seen.at(-1).isIntersecting) return
    watch.disconnect()
    await painted
    try {
      await loadLibrary(model.library)
      model.send_msg({act: "open"})
    } catch (error) {
      place.replaceChildren(h("p", {class: "soft"}, error.message))
    }
  }, {rootMargin: "200px"})

  model.on("label", () => section.setAttribute("aria-label", model.label))
  model.on("drawn", draw)
  model.on("space", reserve)
  model.on("remove", () => watch.disconnect())
  draw()
  reserve()
  if (!table) watch.observe(place)
  return section
}
