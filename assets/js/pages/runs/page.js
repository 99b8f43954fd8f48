// The Runs page: running jobs, the list of runs, one run in detail, a comparison of two, and a plot of widths.

import {ask, h, icon, redraw} from "../../core/element.js"
import {thumbnail} from "../../core/image_set_codec.js"
import {plotShelf} from "../../shared/plot_frame.js"
import {count, progress, short} from "../../core/format.js"
import {followJobs} from "../../core/job_list.js"

const CLUSTERINGS = ["cluster", "start", "chain"]

export function render({model}) {
  const send = (act, rest = {}) => model.send_msg({act, ...rest})
  const live = h("section", {class: "live", "aria-live": "off"})
  const body = h("div", {class: "runs"})
  const tableHolder = h("div", {}, model.get_child("table")) // it stays in the page: Tabulator fails where it is drawn outside of it
  const root = h("div", {class: "page"}, h("header", {class: "head"}, h("h1", {}, "Runs"),
    h("a", {class: "button", href: "/library"}, icon("bubble_chart"), "Cluster images")), live, tableHolder, body)
  root.addEventListener("table-act", ({detail: {act, number}}) => send(act, {number}))
  const plots = plotShelf(model)
  showRunning(model, live, plotShelf(model))

  function draw() {
    const content = model.content
    tableHolder.hidden = !content.any
    if (!content.any) {
      redraw(body, h("section", {class: "empty"}, icon("hub"), h("h2", {}, "No runs yet"),
        h("p", {}, "A run is one clustering of the images. Describe the images in Library, then cluster them."),
        h("a", {class: "button main", href: "/library"}, "Go to Library")), gone(content))
      return
    }
    redraw(body, comparison(content.comparison, send, plots), sweep(content.sweeps, send, plots), details(content.shown, plots, content.version), gone(content))
    plots.prune()
  }

  function gone(content) {
    if (!content.deleted.length) return null
    return h("details", {class: "gone"}, h("summary", {}, `${count(content.deleted.length)} deleted`), h("ul", {}, content.deleted.map((run) =>
      h("li", {}, run.name, " ", h("button", {class: "button", onclick: () => send("restore", {number: run.id})}, "Restore")))))
  }

  model.on("content", draw)
  draw()
  return root
}

// The curves of running clusterings are long; they are fetched when the list of jobs changes.
function showRunning(model, live, plots) {
  let latest = 0 // an answer that comes after a newer one is not drawn
  followJobs(model, async (jobs) => {
    const number = ++latest
    const running = jobs.filter((job) => CLUSTERINGS.includes(job.kind) && job.state === "running")
    const details = await Promise.all(running.map((job) => ask(`/api/v1/jobs/${job.id}`))).catch(() => null)
    if (number !== latest || !details) return // without details the server is restarting
    const shown = details.filter((job) => job.kind === "cluster" || job.figures.trace)
    if (!shown.length && !live.childElementCount) return
    redraw(live, shown.map((job) => card(job, plots)))
    plots.prune()
  })
}

function card(job, plots) {
  const trace = job.figures.trace ?? []
  const {text} = progress(job)
  const plot = (name, label) => plots.frame(name, {query: {job: job.id}, label, height: 240, live: true})
  return h("div", {class: "card job"}, h("header", {}, icon("bubble_chart"), h("b", {}, job.title), h("span", {class: "soft"}, [job.message, text].filter(Boolean).join(" · ")),
    h("button", {class: "button", disabled: job.cancel_requested, onclick: () => ask(`/api/v1/jobs/${job.id}/cancel`, {method: "POST"})},
      job.cancel_requested ? "Stopping…" : trace.length ? "Stop and keep" : "Stop")), // k-means has no trace, and nothing to keep
  trace.length > 1 ? h("div", {class: "plots"}, plot("lower-bound", "Lower bound so far"), plot("cluster-count", "Number of clusters so far"),
    job.figures.sizes?.length ? plot("cluster-sizes", "Sizes of the clusters so far") : null) : null)
}

function details(run, plots, version) {
  const query = {run: run.id}
  const sizes = plots.frame("cluster-sizes", {query, label: `Cluster sizes of ${run.name}`})
  const training = run.has_trace ? [plots.frame("lower-bound", {query, label: `Lower bound during the fit of ${run.name}`, height: 240}), plots.frame("cluster-count", {query, label: `Clusters during the fit of ${run.name}`, height: 240})] : []
  const pairs = (rows) => h("dl", {}, rows.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))))
  return h("section", {class: "card details"}, h("h2", {}, run.name), h("p", {class: "soft"},
    [`${count(run.clusters)} clusters of ${count(run.images)} images`, run.bound === null ? "" : `lower bound ${short(run.bound)}`,
      run.held_out === null ? "" : `held-out log likelihood ${run.held_out.toFixed(4)}`, run.converged === false ? "stopped before it converged" : ""].filter(Boolean).join(" · ")),
  ...run.limits.map((sentence) => h("p", {class: "limit"}, sentence)),
  purity(run),
  run.levels.length ? h("p", {}, "Levels: ", run.levels.map(([level, number, clusters]) => h("a", {class: "follow", href: `/explore?run=${number}`}, `${level}, ${count(clusters)} clusters`))) : null,
  h("div", {class: "plots"}, sizes, training), training.length ? null : h("p", {class: "soft"}, "No training log"),
  run.has_names ? recognition(run, version) : null,
  h("div", {class: "halves"}, h("div", {}, h("h3", {}, "Parameters"), pairs(run.parameters)), h("div", {}, h("h3", {}, "Reproducibility"), pairs(run.provenance))))
}

// How pure the clusters are. It takes a moment for large runs, so it does not delay the rest of the page.
const purityTexts = new Map() // the last text of each run: it stays while a new one is computed

function purity(run) {
  const line = h("p", {class: "soft"}, purityTexts.get(run.id) ?? "")
  const say = (text) => { purityTexts.set(run.id, text); line.textContent = text }
  ask(`/api/v1/runs/${run.id}/purity`).then(({text}) => say(text), (error) => say(error.message))
  return line
}

const unfolded = new Set() // runs whose names are shown: they stay open when the page is drawn again

// The names that labels give to the clusters of a run. They are fetched when somebody opens this part.
function recognition(run, version) {
  const body = h("div", {class: "names"})
  const row = ({cluster, name, images, example_ids: examples}) => h("tr", {}, h("th", {scope: "row"},
    h("a", {class: "plain", href: `/explore?run=${run.id}&cluster=${cluster}`}, cluster === run.without_cluster ? "Without cluster" : name ? `${name} ${cluster}` : `Cluster ${cluster}`)),
  h("td", {class: "number"}, count(images)), h("td", {}, examples.map((id) => h("img", {src: thumbnail(id, 128, version), alt: "", width: 64, height: 48, loading: "lazy"}))))
  const show = async () => {
    const {objects, text} = await ask(`/api/v1/runs/${run.id}/recognition`)
    redraw(body, h("p", {}, text), h("div", {class: "scroll"}, h("table", {}, h("thead", {}, h("tr", {}, ["Name", "Images", "Typical images"].map((word) => h("th", {scope: "col", class: word === "Images" ? "number" : ""}, word)))), h("tbody", {}, objects.map(row)))))
  }
  const fold = h("details", {class: "recognition", open: unfolded.has(run.id)}, h("summary", {}, "Names from labels"), body)
  fold.addEventListener("toggle", () => {
    if (fold.open) unfolded.add(run.id)
    else unfolded.delete(run.id)
    if (fold.open) show().catch((error) => redraw(body, h("p", {class: "limit", role: "alert"}, error.message)))
  })
  return fold
}

function comparison(result, send, plots) {
  if (!result) return null
  const {one, other} = result
  const table = plots.frame("contingency", {query: {run: one.id, against: other.id}, label: `Images by cluster of ${one.name} and ${other.name}`, height: 320})
  const part = (into) => (number) => number === into.without_cluster ? "images without a cluster" : number
  const pieces = (list, run, into) => list.slice(0, 12).map((split) => h("li", {}, `Cluster ${split.cluster} of ${run.name} is divided into ${split.into.map(part(into)).join(", ")} of ${into.name}`))
  const outside = [one, other].filter((run) => run.unclustered).map((run) => ` ${count(run.unclustered)} images without a cluster of ${run.name} count as one cluster, ${run.without_cluster}.`)
  return h("section", {class: "card details"}, h("header", {class: "head"}, h("h2", {}, `${one.name} compared with ${other.name}`),
    h("button", {class: "plain", "aria-label": "End comparison", onclick: () => send("compare", {number: null})}, icon("close"))),
  h("dl", {class: "stats"}, [["V-measure", result.v_measure.toFixed(3)], ["Adjusted Rand index", result.adjusted_rand.toFixed(3)], ["Images in both", count(result.images)]]
    .map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
  [one, other].map((run) => h("div", {}, h("h3", {}, `${run.name}: ${count(run.clusters)} clusters`), purity(run))),
  h("p", {class: "soft"}, `Rows are clusters of ${one.name}, columns are clusters of ${other.name}. The shade is the share of the row.`,
    outside, result.left_out ? ` ${count(result.left_out)} small clusters are not shown.` : ""),
  h("div", {class: "comparison"}, table, h("ul", {class: "splits"}, pieces(result.splits.one, one, other), pieces(result.splits.other, other, one))))
}

function sweep(sweeps, send, plots) {
  if (!sweeps.length) return null
  return h("section", {class: "card details"}, h("h2", {}, "Width of clusters"), ...sweeps.map(({model, features, points}) => {
    const number = ({width, clusters, likelihood}) => points.find((point) => point[0] === width && (point[1] === clusters || point[2] === likelihood))?.[3]
    const options = {query: {run: points[0][3]}, stamp: JSON.stringify(points), onpick: (mark) => { if (number(mark)) send("select", {number: number(mark)}) }}
    return h("div", {}, h("h3", {}, `${model} on ${features}`), h("div", {class: "plots"}, plots.frame("width-sweep", {...options, label: "Clusters by width"}),
      points.some((point) => point[2] !== null) ? plots.frame("held-out", {...options, label: "Held-out score by width"})
        : h("p", {class: "soft nothing"}, "To compare widths by a score, set a held-out share when you cluster.")))
  }))
}
