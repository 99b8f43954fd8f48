// Dives by clusters, ordered so that like ones stand side by side; dark is much.

import {h, s} from "../dom.js"

const LABEL = 170, HEAD = 26, LETTERS = 26

export function render({model}) {
  const frame = h("div", {class: "heatmap"})
  const draw = () => frame.replaceChildren(drawn(model, frame))
  for (const name of ["values", "rows", "columns", "current", "colours"]) model.on(name, draw)
  const resized = new ResizeObserver(draw)
  resized.observe(frame)
  model.on("remove", () => resized.disconnect())
  return frame
}

function drawn(model, frame) {
  const {rows, columns, values} = model, width = Math.max(frame.clientWidth - 4, 300)
  const wide = Math.min(Math.max((width - LABEL) / Math.max(columns.length, 1), 5), 46), tall = rows.length > 40 ? 14 : 22
  const svg = s("svg", {width: LABEL + wide * columns.length, height: HEAD + tall * rows.length, role: "img", "aria-label": "Share of every cluster in every dive"})
  const most = Math.max(...values.flat(), 1e-9)
  columns.forEach(({number, colour}, at) => {
    svg.append(s("rect", {x: LABEL + at * wide, y: HEAD - 8, width: wide - 1, height: 5, fill: colour}))
    if (wide > 15) svg.append(s("text", {x: LABEL + (at + 0.5) * wide, y: HEAD - 12, "text-anchor": "middle", class: "small"}, String(number)))
  })
  rows.forEach(({id, name}, line) => {
    const y = HEAD + line * tall
    const label = s("text", {x: LABEL - 6, y: y + tall / 2 + 4, "text-anchor": "end", class: id === model.current ? "small here" : "small", onclick: () => model.send_msg({act: "dive", id})}, name.length > LETTERS ? `…${name.slice(1 - LETTERS)}` : name)
    label.append(s("title", {}, name))
    svg.append(label)
    columns.forEach(({number}, at) => {
      const share = values[line][at]
      const cell = s("rect", {x: LABEL + at * wide, y, width: wide - 1, height: tall - 1, class: "cell", "fill-opacity": (0.04 + 0.96 * Math.sqrt(share / most)).toFixed(3), onclick: () => model.send_msg({act: "cluster", cluster: number, id})})
      cell.append(s("title", {}, `${name}, cluster ${number}: ${(100 * share).toFixed(1)} %`))
      svg.append(cell)
    })
  })
  return svg
}
