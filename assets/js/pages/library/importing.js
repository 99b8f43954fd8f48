// Queued and running imports on the Library page.

import {h, icon} from "../../core/element.js"
import {progress} from "../../core/format.js"
import {followJobs} from "../../core/job_list.js"

const PATIENCE = 4000 // milliseconds after an import within which its images arrive
const UNDER_WAY = ["queued", "running"]

// `changed` is called when an import begins or ends; `element` shows the progress.
export function importing(model, changed) {
  const element = h("section", {class: "importing card", hidden: true, "aria-label": "Imports"})
  let jobs = []
  let ended = false // an import is done, but the server has not sent its images yet

  function draw() {
    element.hidden = !jobs.length
    element.replaceChildren(...jobs.map((job) => {
      const {share, text} = progress(job)
      return h("div", {}, h("p", {}, icon("add_photo_alternate"), h("b", {}, job.title), h("span", {class: "soft"}, job.state === "queued" ? "queued" : [job.message, text].filter(Boolean).join(" · "))),
        h("div", {class: share === null ? "bar unknown" : "bar", role: "progressbar", "aria-label": job.title, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share === null ? null : Math.round(share * 100)},
          h("i", {style: share === null ? null : `width: ${100 * share}%`})))
    }))
  }

  function show(newest) {
    const before = jobs
    jobs = newest.filter((job) => job.kind === "import" && UNDER_WAY.includes(job.state))
    draw()
    if (Boolean(before.length) === Boolean(jobs.length)) return
    ended = !jobs.length && newest.some((job) => job.state === "done" && before.some((earlier) => earlier.id === job.id))
    if (ended) setTimeout(() => { ended = false; changed() }, PATIENCE)
    changed()
  }

  followJobs(model, show)
  return {element, active: () => jobs.length > 0 || ended}
}
