// Four panes side by side whose borders can be moved; one of them may fill the page.

import {h, icon, whileShown} from "../dom.js"
import {typing} from "../shell/keyboard.js"
import {fill} from "./choices.js"

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
  for (const name of ["pane", "tools", "told"]) model.on(name, focus)
  whileShown(model, document, "keydown", (event) => {
    const at = ["1", "2", "3", "4"].indexOf(event.key)
    if (at < 0 || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return
    model.pane = model.pane === PANES[at][0] ? "" : PANES[at][0]
  })
  apply()
  focus()
  return bench
}

function pane(model, name, title) {
  const tools = h("div", {class: "choices"}), told = h("span", {class: "soft told"})
  const whole = h("button", {class: "plain", onclick: () => { model.pane = model.pane === name ? "" : name }}, icon("fullscreen"))
  const body = h("div", {class: "panebody"}, model.get_child(name), name === "map" ? model.get_child("strip") : null)
  const element = h("section", {class: `pane ${name}`, "aria-label": title}, h("header", {}, h("h2", {}, title), told, h("span", {class: "space"}), tools, whole), body)
  const draw = () => {
    fill(tools, model.tools[name] ?? [], (said) => model.send_msg(said))
    told.textContent = model.told[name] ?? ""
    const full = model.pane === name
    whole.firstChild.textContent = full ? "fullscreen_exit" : "fullscreen"
    whole.title = full ? "Show all panes" : `Only ${title.toLowerCase()}`
    whole.setAttribute("aria-label", whole.title)
    whole.setAttribute("aria-pressed", String(full))
  }
  return {element, draw}
}

function separator(bench, sizes, side, way, title) {
  const bar = h("div", {class: `separator ${side}`, role: "separator", tabindex: "0", "aria-label": title, "aria-orientation": way === "v" ? "vertical" : "horizontal"})
  const set = (share) => {
    sizes[side] = Math.min(Math.max(share, 0.12), 0.7)
    bar.setAttribute("aria-valuenow", String(Math.round(100 * sizes[side])))
    bench.dispatchEvent(new Event("sized"))
  }
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault() // or the browser selects text and takes the pointer for itself
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
