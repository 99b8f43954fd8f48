// Four panes with movable borders; one of them can fill the page.

import {h, icon, whileShown} from "../../core/element.js"
import {typing} from "../../shell/keyboard.js"
import {fill} from "../../shared/choices.js"
import {tour} from "./tour.js"

const PANES = [["clusters", "Clusters"], ["embedding", "Embedding"], ["map", "Map"], ["gallery", "Gallery"]]
const KEPT = "bentho-workbench"
const USUAL = {left: 0.27, right: 0.36, top: 0.52}

export function render({model}) {
  const sizes = {...USUAL, ...JSON.parse(localStorage.getItem(KEPT) ?? "{}")}
  const bench = h("div", {class: "bench"})
  const panes = Object.fromEntries(PANES.map(([name, title]) => [name, pane(model, name, title)]))
  const bars = [["left", "v", "Width of the clusters"], ["right", "v", "Width of the gallery"], ["top", "h", "Height of the embedding"]]
    .map(([side, way, title]) => separator(bench, sizes, side, way, title))
  const apply = () => {
    bench.style.setProperty("--left", `${100 * sizes.left}%`)
    bench.style.setProperty("--right", `${100 * sizes.right}%`)
    bench.style.setProperty("--top", `${100 * sizes.top}%`)
    localStorage.setItem(KEPT, JSON.stringify(sizes))
  }
  bench.addEventListener("sized", apply)
  bench.append(...Object.values(panes).map((one) => one.element), ...bars)
  const focus = () => {
    bench.dataset.pane = model.pane
    for (const [name, one] of Object.entries(panes)) one.element.hidden = Boolean(model.pane) && model.pane !== name
    for (const bar of bars) bar.hidden = Boolean(model.pane)
    for (const one of Object.values(panes)) one.draw()
  }
  // Without positions the pane is folded until a person opens it.
  const fold = h("button", {class: "plain", onclick: () => {
    sizes[folding()] = !isFolded()
    apply()
    mapped()
  }})
  panes.map.add(fold)
  const folding = () => (model.has_map ? "foldedMap" : "foldedSequence")
  const isFolded = () => sizes[folding()] ?? !model.has_map
  const mapped = () => {
    const title = model.has_map ? "Map" : "Sequence", folded = isFolded()
    bench.dataset.map = model.has_map ? "drawn" : "none"
    bench.dataset.folded = String(folded)
    panes.map.call(title)
    fold.replaceChildren(icon(folded ? "expand_less" : "expand_more"))
    fold.title = folded ? `Unfold ${title.toLowerCase()}` : `Fold ${title.toLowerCase()}`
    fold.setAttribute("aria-label", fold.title)
    fold.setAttribute("aria-expanded", String(!folded))
    fold.hidden = Boolean(model.pane)
    bars[2].hidden = !model.has_map || folded || Boolean(model.pane)
  }
  const nameClusters = () => panes.clusters.call(model.noun === "topic" ? "Topics" : "Clusters")
  model.on("noun", nameClusters)
  for (const name of ["pane", "tools", "told"]) model.on(name, focus)
  for (const name of ["pane", "has_map"]) model.on(name, mapped)
  whileShown(model, document, "keydown", (event) => {
    const at = ["1", "2", "3", "4"].indexOf(event.key)
    if (at < 0 || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return
    model.pane = model.pane === PANES[at][0] ? "" : PANES[at][0]
  })
  apply()
  nameClusters()
  focus()
  mapped()
  return h("div", {class: "benchholder"}, h("h1", {class: "spoken", "aria-label": "Explore"}), bench, ...tour(model, bench, panes))
}

function pane(model, name, title) {
  const heading = h("h2", {}, title), tools = h("div", {class: "choices"}), note = h("span", {class: "soft told"})
  const whole = h("button", {class: "plain", onclick: () => { model.pane = model.pane === name ? "" : name }}, icon("fullscreen"))
  const body = h("div", {class: "panebody"}, model.get_child(name), name === "map" ? model.get_child("strip") : null)
  const element = h("section", {class: `pane ${name}`, "aria-label": title}, h("header", {}, heading, note, h("span", {class: "space"}), tools, whole), body)
  const draw = () => {
    fill(tools, model.tools[name] ?? [], (message) => model.send_msg(message))
    note.textContent = model.told[name] ?? ""
    const full = model.pane === name
    whole.firstChild.textContent = full ? "fullscreen_exit" : "fullscreen"
    whole.title = full ? "Show all panes" : `Only ${title.toLowerCase()}`
    whole.setAttribute("aria-label", whole.title)
    whole.setAttribute("aria-pressed", String(full))
  }
  const call = (other) => {
    title = other
    heading.textContent = other
    element.setAttribute("aria-label", other)
    draw()
  }
  return {element, draw, call, add: (button) => whole.before(button)}
}

function separator(bench, sizes, side, way, title) {
  const bar = h("div", {class: `separator ${side}`, role: "separator", tabindex: "0", "aria-label": title, "aria-orientation": way === "v" ? "vertical" : "horizontal",
    "aria-valuemin": "12", "aria-valuemax": "70", "aria-valuenow": String(Math.round(100 * sizes[side]))})
  const set = (share) => {
    sizes[side] = Math.min(Math.max(share, 0.12), 0.7)
    bar.setAttribute("aria-valuenow", String(Math.round(100 * sizes[side])))
    bench.dispatchEvent(new Event("sized"))
  }
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault() // otherwise the browser selects text
    bar.focus()
    bar.setPointerCapture(event.pointerId)
    const moved = (next) => {
      const box = bench.getBoundingClientRect()
      set(side === "left" ? (next.clientX - box.left) / box.width : side === "right" ? (box.right - next.clientX) / box.width : (next.clientY - box.top) / box.height)
    }
    bar.addEventListener("pointermove", moved)
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", moved), {once: true})
  })
  bar.addEventListener("dblclick", () => set(USUAL[side]))
  bar.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -0.02, ArrowRight: 0.02, ArrowUp: -0.02, ArrowDown: 0.02}[event.key]
    if (by) { event.preventDefault(); set(sizes[side] + (side === "right" ? -by : by)) }
  })
  return bar
}
