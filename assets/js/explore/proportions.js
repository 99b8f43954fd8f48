// Mixtures as stacked bars, one a row: names on the left, clusters in their colours.

import {h} from "../dom.js"

const LEAST = 0.004 // shares below it are too narrow to see

export function render({model}) {
  const table = h("div", {class: "proportions", role: "list"})
  const draw = () => table.replaceChildren(...model.rows.map((row) => line(model, row)))
  for (const name of ["rows", "colours", "current"]) model.on(name, draw)
  draw()
  return table
}

function line(model, {id, name, shares, note}) {
  const parts = shares.map((share, cluster) => {
    if (share < LEAST) return null
    const part = h("button", {class: "part", title: `${model.names[cluster] ?? `Cluster ${cluster}`}: ${(100 * share).toFixed(1)} %`,
      "aria-label": `${name}, cluster ${cluster}, ${(100 * share).toFixed(1)} %`, tabindex: "-1", onclick: () => model.send_msg({act: "cluster", cluster, id})})
    part.style.cssText = `flex: ${share}; background: ${model.colours[cluster]}`
    return part
  })
  return h("div", {class: `mixture${id === model.current ? " current" : ""}`, role: "listitem"},
    h("button", {class: "plain name", title: name, onclick: () => model.send_msg({act: "dive", id})}, name),
    h("div", {class: "stack"}, parts), h("span", {class: "soft number"}, note ?? ""))
}
