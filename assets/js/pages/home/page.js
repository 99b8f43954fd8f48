// The Home page: a strip of images and the steps from a folder to labelled clusters.

import {h, icon} from "../../core/element.js"
import {startJobs} from "./start_jobs.js"

const ICONS = {done: "check_circle", next: "arrow_circle_right", later: "radio_button_unchecked", running: "autorenew"}

export function render({model}) {
  const root = h("div", {class: "home"})
  let running = [] // kinds of work
  const jobs = startJobs(model, (kinds) => {
    if (String(kinds) === String(running)) return
    running = kinds
    drawSteps()
  })
  const list = h("ol")
  const begin = (empty) => h("section", {class: "begin"},
    h("button", {class: empty ? "button main" : "button", onclick: () => model.send_msg({act: "choose"})}, icon("create_new_folder"), empty ? "Choose a folder" : "Add another folder"),
    h("p", {class: "soft"}, empty ? "Images are imported, described and clustered in one job. They stay where they are and are never changed."
      : "Its images are imported and described. Then all images are clustered again."))
  const draw = () => {
    const {workspace, pictures, empty} = model.content
    const strip = pictures.length
      ? h("div", {class: "strip", "aria-hidden": "true"}, pictures.map((address) => h("img", {src: address, alt: "", loading: "lazy", decoding: "async"})))
      : h("div", {class: "strip none", "aria-hidden": "true"})
    root.replaceChildren(strip, h("div", {class: "middle"}, h("h1", {}, workspace), begin(empty), jobs,
      list))
    drawSteps()
  }

  // While the job of a step runs, no other step is marked as the next one.
  function drawSteps() {
    const busy = model.content.steps.some((step) => runs(step))
    list.replaceChildren(...model.content.steps.map((step) => {
      const state = runs(step) ? "running" : busy && step.state === "next" ? "later" : step.state
      return h("li", {class: state}, h("a", {href: step.href, "aria-current": state === "next" || state === "running" ? "step" : null},
        icon(ICONS[state]), h("span", {}, h("b", {}, step.title), h("small", {}, step.about)),
        state === "next" ? h("span", {class: "go"}, "Next", icon("chevron_right")) : state === "running" ? h("span", {class: "go"}, "Running") : null))
    }))
  }

  const runs = (step) => step.job_kinds.some((kind) => running.includes(kind))

  model.on("content", draw)
  draw()
  return root
}
