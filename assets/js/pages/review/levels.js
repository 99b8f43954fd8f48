// Finer and coarser clusters in Review: two buttons, and the clicks at each level.

import {h, icon} from "../../core/element.js"
import {count} from "../../core/format.js"

const WORDS = {coarser: ["Coarser", "unfold_less", "<"], finer: ["Finer", "unfold_more", ">"]}

export function levelButtons({mode, levels}, switchTo, compute) {
  if (mode !== "cluster") return null
  if (levels.computable) {
    return h("div", {class: "levels"}, h("button", {class: "button", "data-key": "compute-levels", disabled: levels.computing || null, onclick: compute,
      title: "Compute finer and coarser clusters"}, icon("unfold_more"), levels.computing ? "Computing levels" : "Finer and coarser clusters"))
  }
  if (!levels.coarser && !levels.finer) return null
  const button = (direction) => {
    const [word, sign, key] = WORDS[direction], target = levels[direction]
    return h("button", {class: "button", "data-key": `level-${direction}`, disabled: target ? null : true, onclick: () => switchTo(direction),
      title: target ? `${word}: ${count(target.clusters)} clusters (key ${key})` : `There are no ${direction} clusters`}, icon(sign), word)
  }
  return h("div", {class: "levels", role: "group", "aria-label": "Level of the clusters"}, button("coarser"), button("finer"))
}

// Remembers the clicked images of a page when its level is left, and restores them when the page is shown again.
export function clickedPlaces() {
  const places = new Map()
  const key = ({run, cluster, page}) => `${run}-${cluster}-${page}`
  return {
    keep: (content, list) => { if (list.length) places.set(key(content), list) },
    restore(content, marks) {
      const list = places.get(key(content))
      if (!list || content.mode !== "cluster") return
      places.delete(key(content))
      const shown = new Set(content.images.map((image) => image.id))
      marks.add(list.filter((id) => shown.has(id)))
    },
  }
}
