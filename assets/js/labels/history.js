// Everything that was ever said, the newest first; any act can be taken back, and all labels brought back to any time.

import {h, redraw} from "../dom.js"
import {count, moment} from "../told.js"

export function historyPart({tell, now}) {
  const element = h("div", {class: "history"})
  let sure = null // number of the act whose "Back to here" was pressed once

  function draw() {
    const {acts, image, before, more, total} = now()
    redraw(element, h("div", {class: "tools"}, h("form", {class: "line", onsubmit: (event) => { event.preventDefault(); const id = event.target.elements[0].value; tell("image", {id: id ? Number(id) : null}) }},
      h("input", {type: "number", min: 1, placeholder: "Image", "aria-label": "Number of an image", value: image ?? ""}), h("button", {class: "button"}, "Its history")),
    image !== null ? h("button", {class: "button", onclick: () => tell("image", {id: null})}, "All acts") : h("span", {class: "soft"}, `${count(total)} acts`), h("span", {class: "space"}),
    before ? h("button", {class: "button", onclick: () => tell("older", {before: null})}, "Newest") : null, more ? h("button", {class: "button", onclick: () => tell("older", {before: acts[acts.length - 1].number})}, "Older") : null),
    acts.length ? h("div", {class: "card scroll"}, h("table", {}, h("thead", {}, h("tr", {}, ["Act", "When (UTC)", "Who", "What", "Images", "Why", ""].map((word) => h("th", {}, word)))), h("tbody", {}, acts.map(row))))
      : h("p", {class: "soft"}, image === null ? "Nothing was said yet" : `Nothing was ever said of image ${image}`))
  }

  function row(act) {
    const back = (event) => { if (sure === act.number) { sure = null; tell("revert", {number: act.number}) } else { sure = act.number; event.currentTarget.textContent = "Really, all labels?" } }
    return h("tr", {class: act.undone ? "undone" : null, "data-act": act.number}, h("td", {class: "number"}, act.number), h("td", {}, moment(act.at)), h("td", {}, act.who),
      h("td", {}, act.what, act.check ? h("div", {class: "soft"}, act.check) : null), h("td", {class: "number"}, count(act.images)), h("td", {class: "soft"}, act.why, act.confidence === null ? "" : `, ${Math.round(100 * act.confidence)} %`),
      h("td", {}, act.undone ? h("span", {class: "soft"}, "taken back") : h("button", {class: "plain", "data-key": `undo-${act.number}`, onclick: () => tell("undo", {number: act.number})}, "Take back"),
        now().image === null ? h("button", {class: "plain", "data-key": `back-${act.number}`, onclick: back}, "Back to here") : null))
  }

  return {element, draw}
}
