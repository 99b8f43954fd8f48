// A tour of Explore at its first use: five steps, each beside the part of the page that it explains.

import {h, icon, whileShown} from "../../core/element.js"

const KEPT = "bentho-tour-explore" // "closed" once a person does not want to see it again
const START = "bentho-tour" // event on the window by which shared/selection_bar.js starts the tour again
const WIDTH = 320 // pixels, as in the style sheet
const GAP = 12

const STEPS = [
  ["clusters", "Clusters", "The program sorted similar images into clusters. Each card shows images that stand for its cluster. Show only filters the page by a cluster."],
  ["embedding", "Embedding", "Similar images are near each other. Press L and draw a line around points to select them."],
  ["map", "Map", "Where the images were taken, and one dive or album from its first image to its last."],
  ["gallery", "Gallery", "All images, or those you selected. Shift-click selects a range, Enter opens an image, and a right-click shows more commands."],
  ["bar", "Label what you selected", "Select images in any view. Then type a label here and press Enter. To label whole clusters, go on to Review."],
]

export function tour(model, bench, panes) {
  const spot = h("div", {class: "spot", popover: "manual"})
  const title = h("h2"), text = h("p"), place = h("span", {class: "soft"})
  const back = h("button", {class: "button", onclick: () => show(at - 1)}, "Back")
  const next = h("button", {class: "button main", onclick: () => (at + 1 < steps().length ? show(at + 1) : end(true))})
  const card = h("div", {class: "tour", popover: "manual", role: "dialog", "aria-label": "Tour of Explore", "aria-live": "polite"},
    h("header", {}, title, h("button", {class: "plain", title: "Close (Esc)", "aria-label": "Close the tour", onclick: () => end(false)}, icon("close"))), text,
    h("footer", {}, place, h("span", {class: "space"}), back, next),
    h("button", {class: "plain never", onclick: () => end(true)}, "Do not show again"))
  let at = 0
  let origin = null // had the focus before

  const steps = () => STEPS.filter(([name]) => name === "bar" || !panes[name].element.hidden && !(name === "map" && bench.dataset.folded === "true") && !(name === "clusters" && !model.told.clusters))

  function area([name]) {
    if (name !== "bar") return panes[name].element.getBoundingClientRect()
    const {left, top, width} = bench.getBoundingClientRect()
    return new DOMRect(left, top - 44, width, 42) // the bar lies above the panes
  }

  function show(number) {
    at = Math.max(Math.min(number, steps().length - 1), 0)
    const step = steps()[at], box = area(step)
    title.textContent = step[1]
    text.textContent = step[2]
    place.textContent = `${at + 1} of ${steps().length}`
    back.disabled = at === 0
    next.textContent = at + 1 < steps().length ? "Next" : "Done"
    spot.style.cssText = `left: ${box.left}px; top: ${box.top}px; width: ${box.width}px; height: ${box.height}px`
    for (const element of [spot, card]) if (!element.matches(":popover-open")) element.showPopover()
    const right = box.right + GAP + WIDTH < window.innerWidth ? box.right + GAP : box.left - GAP - WIDTH > 0 ? box.left - GAP - WIDTH : window.innerWidth - WIDTH - GAP
    const top = step[0] === "bar" ? box.bottom + GAP : Math.min(box.top + 24, window.innerHeight - card.offsetHeight - GAP)
    card.style.left = `${right}px`
    card.style.top = `${Math.max(top, GAP)}px`
    next.focus()
  }

  function start() {
    origin = bench.getRootNode().activeElement
    show(0)
  }

  function end(forEver) {
    if (forEver) localStorage.setItem(KEPT, "closed")
    spot.hidePopover()
    card.hidePopover()
    origin?.focus()
  }

  card.addEventListener("keydown", (event) => {
    const act = {ArrowRight: () => show(at + 1), ArrowLeft: () => show(at - 1), Escape: () => end(false)}[event.key]
    event.stopPropagation() // keys in the card are not for the page
    if (!act) return
    event.preventDefault()
    act()
  })
  const redraw = () => { if (card.matches(":popover-open")) show(at) }
  whileShown(model, window, "resize", redraw)
  whileShown(model, window, START, start)
  if (localStorage.getItem(KEPT) !== "closed") requestAnimationFrame(() => { if (card.isConnected && !model.pane) start() })
  return [spot, card]
}
