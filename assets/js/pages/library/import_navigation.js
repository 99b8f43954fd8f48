// Positions by time in the import dialog: navigation files and their settings, and links that were skipped.

import {h, icon} from "../../core/element.js"
import {count} from "../../core/format.js"

const HELP = "A CSV, GPX or NetCDF file with times and positions or depths. Each image gets the values between the two " +
  "fixes around its time. Files inside the folder are found automatically."

export function navigationSection(model, plan, keep) {
  const {files, lines, clock_offset: offset, max_gap: gap} = plan.navigation
  const file = h("input", {id: "nav-file", value: "", placeholder: "Path of another file", spellcheck: "false"})
  const clock = h("input", {id: "nav-offset", value: offset, inputmode: "decimal", placeholder: "0"})
  const largest = h("input", {id: "nav-gap", value: gap, inputmode: "decimal"})
  const apply = (event) => {
    event.preventDefault()
    keep()
    model.send_msg({act: "join", clock_offset: clock.value, max_gap: largest.value, file: file.value})
  }
  const summary = files.length ? `${count(files.length)} ${files.length === 1 ? "file" : "files"}` : "none found"
  return h("details", {class: "source navigation", open: files.length > 0},
    h("summary", {}, icon("explore"), h("b", {}, "Positions by time"), h("span", {class: "soft"}, ` ${summary}`)),
    h("ul", {class: "tracks"}, files.map((track) => h("li", {}, h("b", {}, track.file),
      h("span", {class: "soft"}, ` ${track.kind}, ${count(track.fixes)} fixes, ${track.first} to ${track.last} UTC`)))),
    lines.map((line) => h("p", {class: "help"}, line)),
    h("form", {class: "join", onsubmit: apply},
      field("nav-file", "Add a navigation file", file, HELP),
      field("nav-offset", "Camera clock offset (s)", clock, "Added to camera times to get UTC; -36000 for UTC+10."),
      field("nav-gap", "Largest gap (s)", largest, "Longest time allowed between the fixes before and after an image."),
      h("button", {class: "button"}, "Apply")))
}

export function skippedLinks(model, plan) {
  if (!plan.skipped_links) return []
  return [h("p", {class: "links"}, `Skipped because they point outside the folder: ${count(plan.skipped_links)} ` +
    `${plan.skipped_links === 1 ? "link" : "links"}. `,
    h("button", {class: "button", type: "button", onclick: () => model.send_msg({act: "follow"})}, "Follow links"))]
}

const field = (id, label, input, help) => h("div", {class: "field"}, h("label", {for: id, class: "label"}, label), input,
  h("p", {class: "help soft"}, help))
