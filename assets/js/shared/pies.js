// Pies of the shares of clusters, one for each dive. A card and the accessible name state their values.

import {h, s} from "../core/element.js"
import {PIE, freePosition} from "./scatter_view.js"

export const percent = (share) => (share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`)

// [name, share, colour] of each slice of a pie that is not empty.
const valuesOf = ({shares, names, colours}) => shares.map((share, at) => [names[at], share, colours[at]]).filter(([, share]) => share > 0.0005)

export const pieText = (dive) => `${dive.name}: ${valuesOf(dive).map(([name, share]) => `${name} ${percent(share)}`).join(", ")}`

// Pies are moved apart; a line connects each pie with its dive. `pixel` maps data to pixels, `card` shows values.
export function pies(model, pixel, {width, height}, card) {
  const occupied = [], crowded = model.pies.length > 16 || height < 260
  return model.pies.map((dive) => {
    if (!valuesOf(dive).length) return null // without clusters
    const [x, y] = pixel([dive.x, dive.y])
    if (x < 0 || y < 0 || x > width || y > height) return null
    const [px, py] = freePosition([x, y], occupied, crowded, {width, height})
    occupied.push([px, py])
    const act = () => { card.hide(); model.send_msg({act: "dive", dive: dive.dive}) }
    const show = (event) => { card.fill(...pieFacts(dive)); card.show(event) }
    return s("g", {class: "pie", "data-dive": dive.dive, "data-key": `pie ${dive.dive}`, role: "button", tabindex: "0", "aria-label": pieText(dive), onclick: act,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); act() } },
      onpointermove: show, onpointerleave: () => card.hide(), onblur: () => card.hide(),
      onfocus: (event) => { if (event.target.matches(":focus-visible")) show(beside(event.target)) }},
      s("line", {x1: x, y1: y, x2: px, y2: py, class: "leader"}), s("circle", {cx: x, cy: y, r: 2.5, class: "foot"}),
      s("g", {transform: `translate(${px} ${py})`}, s("circle", {r: PIE + 2, class: "rim"}), ...slices(dive),
        crowded ? null : s("text", {y: PIE + 14, class: "name"}, dive.name.length > 14 ? `…${dive.name.slice(-13)}` : dive.name)))
  })
}

// A place for a card beside an element, in the form of the event of a pointer.
export function beside(element) {
  const box = element.getBoundingClientRect()
  return {clientX: box.right, clientY: box.top + box.height / 2}
}

function pieFacts(dive) {
  return [h("b", {}, dive.name), h("ul", {}, valuesOf(dive).map(([name, share, colour]) =>
    h("li", {}, h("i", {class: "dot", style: `background: ${colour}`}), h("span", {}, name), h("span", {class: "number"}, percent(share)))))]
}

function slices({shares, colours}) {
  let turn = -Math.PI / 2
  return shares.map((share, at) => {
    const from = turn
    turn += share * 2 * Math.PI
    if (share >= 0.9999) return s("circle", {r: PIE, fill: colours[at]})
    const arc = `A${PIE} ${PIE} 0 ${share > 0.5 ? 1 : 0} 1 ${PIE * Math.cos(turn)} ${PIE * Math.sin(turn)}`
    return s("path", {fill: colours[at], d: `M0 0L${PIE * Math.cos(from)} ${PIE * Math.sin(from)}${arc}Z`})
  })
}
