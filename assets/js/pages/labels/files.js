// Labels as files: exports to be fetched with what they leave behind, and files of other programs to be taken in.

import {ask, h, redraw} from "../dom.js"
import {count, moment} from "../told.js"

const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

export function filesPart({tell, now}) {
  const words = h("p", {class: "soft", role: "status"})
  const field = h("input", {type: "file", multiple: true, hidden: true, "aria-label": "Files with labels", onchange: () => sent(field.files)})
  const list = h("div", {class: "files"})
  const drop = h("section", {class: "card pad drop"}, h("h2", {}, "Labels from other programs"),
    h("p", {class: "soft"}, "iFDO, Squidle+, BIIGLE (CSV or ZIP), Darwin Core, COCO, AUV tracks with labels, CoralNet, CPCe, lists of images, or any table with a column of images and one of labels"),
    h("div", {class: "line"}, h("button", {class: "button", onclick: () => field.click()}, "Choose files"), h("span", {class: "soft"}, "or drop them here")), words, field)
  const out = h("section", {class: "card pad"}, h("h2", {}, "Labels for other programs"), h("p", {class: "soft"}, "CSV, iFDO, Squidle+, BIIGLE, IMOS tracks, Darwin Core, COCO, lists of images: with an account of what each cannot carry"),
    h("button", {class: "button main", onclick: () => tell("export")}, "Export labels", h("kbd", {}, "x")))
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over") })
  drop.addEventListener("dragleave", () => drop.classList.remove("over"))
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); sent(event.dataTransfer.files) })

  async function sent(files) {
    try {
      const tokens = []
      for (const file of files) {
        words.textContent = `Reading ${file.name}`
        tokens.push((await ask(`/api/v1/label-files/${encodeURIComponent(file.name)}`, {method: "PUT", body: file})).token)
      }
      words.textContent = ""
      if (tokens.length) tell("import", {tokens})
    } catch (error) { words.textContent = error.message }
    field.value = ""
  }

  function draw() {
    const {exports, jobs} = now()
    const one = (made) => h("li", {class: "card pad", "data-export": made.id}, h("div", {class: "line"}, h("b", {}, made.format), h("span", {}, `${count(made.rows)} labels of ${count(made.images)} images`), h("span", {class: "soft"}, `${moment(made.at)} UTC · ${size(made.size)}`),
      h("span", {class: "space"}), h("a", {class: "button", href: `/api/v1/exports/${made.id}/file`, download: ""}, "Download")),
    made.losses.length ? h("details", {}, h("summary", {}, `What it leaves behind: ${made.losses.length}`), h("ul", {}, made.losses.map((loss) => h("li", {}, `${count(loss.count)} ${loss.what}: ${loss.why}`)))) : h("p", {class: "soft"}, "Nothing is left behind"))
    const job = (found) => h("li", {class: found.error ? "wrong" : "soft"}, `${found.title}: ${found.error ?? (found.result || found.state)}`)
    redraw(list, jobs.length ? h("ul", {class: "jobs"}, jobs.map(job)) : null, exports.length ? h("ul", {class: "exports"}, exports.map(one)) : h("p", {class: "soft"}, "No export yet"))
  }

  return {element: h("div", {}, h("div", {class: "halves"}, out, drop), list), draw}
}
