// The share of every habitat in every dive, with the interval in which it lies.

import {h, redraw} from "../dom.js"
import {count} from "../told.js"

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`

export function coverPart({tell, now}) {
  const element = h("div", {class: "cover"})

  function draw() {
    const {groups, level} = now()
    if (!groups.length) return redraw(element, h("p", {class: "soft"}, "Nothing is labelled yet. In Learn, the queue cover shows the images whose labels tell most of it."))
    const query = level ? `?level=${level}` : ""
    redraw(element, h("div", {class: "tools"}, h("label", {class: "pick"}, "Level", h("select", {"data-key": "level", "aria-label": "Level of the terms", onchange: (event) => tell("level", {level: event.target.value || null})},
      [["", "as given"], ...[1, 2, 3, 4, 5].map((one) => [one, one])].map(([value, word]) => h("option", {value, selected: String(value) === String(level ?? "")}, word)))),
    h("span", {class: "soft"}, "Intervals at 95 %"), h("span", {class: "space"}), h("a", {class: "button", href: `/api/v1/cover.csv${query}`, download: "cover.csv"}, "Save as CSV"), h("a", {class: "button", href: "/learn?queue=cover"}, "What to label next")),
    h("div", {class: "dives"}, groups.map(dive)))
  }

  function dive(group) {
    const row = (one) => h("tr", {title: `${one.path}: ${percent(one.low)} to ${percent(one.high)}, ${one.method}`}, h("th", {}, one.term), h("td", {class: "share"}, h("i", {class: "estimate", style: `width:${100 * one.estimate}%;background:${one.colour || "var(--primary)"}`}),
      h("i", {class: "interval", style: `left:${100 * one.low}%;width:${Math.max(100 * (one.high - one.low), 0.5)}%`})), h("td", {class: "number"}, percent(one.estimate)), h("td", {class: "number soft"}, `${percent(one.low)} – ${percent(one.high)}`))
    return h("section", {class: "card pad"}, h("h2", {}, group.name), h("p", {class: "soft"}, `${count(group.labelled)} labelled of ${count(group.of)} images`), h("table", {}, h("tbody", {}, group.rows.map(row))))
  }

  return {element, draw}
}
