// Imports of files of other programs, and exports of labels with a list of what is not included.

import {ask, h, redraw} from "../../core/element.js"
import {count, moment} from "../../core/format.js"

const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

const jobList = (jobs) => (jobs.length ? h("ul", {class: "jobs"}, jobs.map((job) => h("li", {class: job.error ? "wrong" : "soft"}, `${job.title}: ${job.error ?? (job.result || job.state)}`))) : null)

export function importPart({tell, now}) {
  const words = h("p", {class: "soft", role: "status"})
  const field = h("input", {type: "file", multiple: true, hidden: true, "aria-label": "Files with labels", onchange: () => sent(field.files)})
  const list = h("div", {class: "files"})
  const drop = h("section", {class: "card pad drop"}, h("h2", {}, "Labels from other programs"),
    h("p", {class: "soft"}, "iFDO, Squidle+, BIIGLE (CSV or ZIP), Darwin Core, COCO, AUV tracks with labels, CoralNet, CPCe, lists of images, or any table with a column of images and a column of labels"),
    h("div", {class: "line"}, h("button", {class: "button main", onclick: () => field.click()}, "Choose files"), h("span", {class: "soft"}, "or drop them here. You see first what would be stored")), words, field)
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

  const draw = () => redraw(list, jobList(now().jobs))
  return {element: h("div", {class: "filespart"}, drop, list), draw}
}

export function exportPart({tell, now}) {
  const list = h("div", {class: "files"})
  const out = h("section", {class: "card pad"}, h("h2", {}, "Labels for other programs"), h("p", {class: "soft"}, "CSV, iFDO, Squidle+, BIIGLE, IMOS tracks, Darwin Core, COCO or lists of images. You see first what a format cannot store"),
    h("button", {class: "button main", onclick: () => tell("export")}, "Export labels", h("kbd", {}, "x")))

  const one = (made) => h("li", {class: "card pad", "data-export": made.id}, h("div", {class: "line"}, h("b", {}, made.format), h("span", {}, `${count(made.rows)} labels of ${count(made.images)} images`), h("span", {class: "soft"}, `${moment(made.at)} UTC · ${size(made.size)}`),
    h("span", {class: "space"}), h("a", {class: "button", href: `/api/v1/exports/${made.id}/file`, download: ""}, "Download")),
  made.losses.length ? h("details", {}, h("summary", {}, `Not included: ${made.losses.length}`), h("ul", {}, made.losses.map((loss) => h("li", {}, `${count(loss.count)} ${loss.what}: ${loss.why}`)))) : h("p", {class: "soft"}, "Everything is included"))

  const draw = () => redraw(list, jobList(now().jobs), now().exports.length ? h("ul", {class: "exports"}, now().exports.map(one)) : h("p", {class: "soft"}, "No exports yet"))
  return {element: h("div", {class: "filespart"}, out, list), draw}
}
