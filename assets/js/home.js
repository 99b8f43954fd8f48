// Home: a strip of the workspace's own images, and the way from a folder to named clusters.

import {h, icon} from "./dom.js"

const ICONS = {done: "check_circle", next: "arrow_circle_right", later: "radio_button_unchecked"}

export function render({model}) {
  const root = h("div", {class: "home"})
  const draw = () => {
    const {workspace, pictures, steps} = model.content
    const strip = pictures.length
      ? h("div", {class: "strip", "aria-hidden": "true"}, pictures.map((address) => h("img", {src: address, alt: "", loading: "lazy", decoding: "async"})))
      : h("div", {class: "strip none", "aria-hidden": "true"})
    root.replaceChildren(strip, h("div", {class: "middle"}, h("h1", {}, workspace),
      h("ol", {}, steps.map((step) => h("li", {class: step.state}, h("a", {href: step.href, "aria-current": step.state === "next" ? "step" : null},
        icon(ICONS[step.state]), h("span", {}, h("b", {}, step.title), h("small", {}, step.about)),
        step.state === "next" ? h("span", {class: "go"}, "Next", icon("chevron_right")) : null))))))
  }
  model.on("content", draw)
  draw()
  return root
}
