// Runs: what is being clustered now, the list, one run in full, two compared, and widths against each other.

import {ask, h, icon, whileShown} from "./dom.js"
import {linePlot, short} from "./line_plot.js"
import {count, moment, progress, time} from "./told.js"

const LOOK = 1000 // milliseconds between two looks at a running job

export function render({model}) {
  const send = (act, rest = {}) => model.send_msg({act, ...rest})
  const live = h("section", {class: "live", "aria-live": "off"})
  const body = h("div", {class: "runs"})
  const root = h("div", {class: "page"}, h("header", {class: "head"}, h("h1", {}, "Runs"),
    h("a", {class: "button", href: "/library"}, icon("bubble_chart"), "Cluster images")), live, body)
  watchJobs(model, live)

  function draw() {
    const found = model.content
    if (!found.runs.length) {
      body.replaceChildren(h("section", {class: "empty"}, icon("hub"), h("h2", {}, "No runs yet"),
        h("p", {}, "A run is one clustering of the images. Describe the images in the library, then cluster them."),
        h("a", {class: "button main", href: "/library"}, "Library")), gone(found))
      return
    }
    body.replaceChildren(list(found), ...[comparison(found.comparison, send), sweep(found.sweeps, send), details(found.shown)].filter(Boolean), gone(found))
  }

  function list(found) {
    const heads = [["", ""], ["Run", ""], ["Model", ""], ["Description", ""], ["Width", "number"], ["Clusters", "number"], ["Images", "number"],
      ["Held-out", "number"], ["Made (UTC)", ""], ["Took", "number"], ["", ""]]
    const line = (run) => h("tr", {class: run.id === found.shown?.id ? "shown" : null}, h("td", {}, current(run)), h("td", {}, name(run)),
      h("td", {}, run.model), h("td", {}, run.features), h("td", {class: "number"}, run.width ?? ""), h("td", {class: "number"}, run.clusters ?? ""),
      h("td", {class: "number"}, run.images === null ? "" : count(run.images)), h("td", {class: "number"}, run.held_out === null ? "" : run.held_out.toFixed(3)),
      h("td", {}, moment(run.created)), h("td", {class: "number"}, time(run.seconds)), h("td", {class: "acts"}, ...acts(run, found)))
    return h("section", {class: "card scroll", tabindex: "0", role: "region", "aria-label": "Runs"}, h("table", {}, h("thead", {}, h("tr", {},
      heads.map(([text, kind]) => h("th", {scope: "col", class: kind}, text)))), h("tbody", {}, found.runs.map(line))))
  }

  const current = (run) => h("button", {class: "plain", "aria-pressed": String(run.current), onclick: () => { if (!run.current) send("choose", {number: run.id}) },
    title: run.current ? "The current run: Explore opens with it" : "Make it the current run",
    "aria-label": run.current ? `${run.name} is the current run` : `Make ${run.name} the current run`}, icon(run.current ? "star" : "star_border"))

  function name(run) {
    const button = h("button", {class: "plain name", onclick: () => send("select", {number: run.id})}, run.name,
      run.partial ? h("span", {class: "tag"}, "stopped early") : null)
    return button
  }

  function acts(run, found) {
    const comparing = found.comparison?.other.id === run.id
    const own = run.id === found.shown?.id
    return [
      own ? null : h("button", {class: "plain", "aria-pressed": String(comparing), title: `Compare with ${found.shown?.name}`, "aria-label": `Compare ${run.name}`,
        onclick: () => send("compare", {number: comparing ? null : run.id})}, icon("compare_arrows")),
      h("button", {class: "plain", title: "Rename", "aria-label": `Rename ${run.name}`, onclick: (event) => edit(event, run)}, icon("edit")),
      h("button", {class: "plain", title: "Delete", "aria-label": `Delete ${run.name}`, onclick: () => send("delete", {number: run.id})}, icon("delete_outline")),
    ].filter(Boolean)
  }

  function edit(event, run) {
    const cell = event.target.closest("tr").children[1]
    const input = h("input", {value: run.name, "aria-label": "New name", maxlength: 120})
    let over = false
    const end = (keep) => {
      if (over) return
      over = true
      if (keep && input.value.trim() && input.value.trim() !== run.name) send("rename", {number: run.id, name: input.value.trim()})
      else cell.replaceChildren(name(run))
    }
    input.addEventListener("keydown", (pressed) => {
      if (pressed.key === "Enter") end(true)
      if (pressed.key === "Escape") { pressed.stopPropagation(); end(false) }
    })
    input.addEventListener("blur", () => end(true))
    cell.replaceChildren(input)
    input.select()
  }

  function gone(found) {
    if (!found.deleted.length) return ""
    return h("details", {class: "gone"}, h("summary", {}, `${count(found.deleted.length)} deleted`), h("ul", {}, found.deleted.map((run) =>
      h("li", {}, run.name, " ", h("button", {class: "button", onclick: () => send("restore", {number: run.id})}, "Bring back")))))
  }

  model.on("content", draw)
  draw()
  return root
}

function watchJobs(model, live) {
  let over = false
  let timer = null
  async function look() {
    clearTimeout(timer)
    if (over) return
    try {
      const {jobs} = await ask("/api/v1/jobs")
      const running = jobs.filter((job) => job.kind === "cluster" && job.state === "running")
      const full = await Promise.all(running.map((job) => ask(`/api/v1/jobs/${job.id}`)))
      live.replaceChildren(...full.map(card))
    } catch { /* the server is restarting: look again */ }
    timer = setTimeout(look, live.childElementCount ? LOOK : LOOK * 2)
  }
  model.on("remove", () => { over = true; clearTimeout(timer) })
  whileShown(model, document, "visibilitychange", () => { if (!document.hidden) look() })
  look()
}

function card(job) {
  const trace = job.figures.trace ?? []
  const clusters = trace.length ? trace[trace.length - 1][2] : null
  const {text} = progress(job)
  return h("div", {class: "card job"}, h("header", {}, icon("bubble_chart"), h("b", {}, job.title), h("span", {class: "soft"}, [job.message, text].filter(Boolean).join(" · ")),
    h("button", {class: "button", disabled: job.cancel_requested, onclick: () => ask(`/api/v1/jobs/${job.id}/cancel`, {method: "POST"})},
      job.cancel_requested ? "Stopping…" : "Stop and keep")),
  h("div", {class: "plots"}, linePlot({points: trace.map(([step, bound]) => [step, bound]), x: "step", y: "bound an image", label: "Lower bound while the run goes on"}),
    linePlot({points: trace.map(([step, , number]) => [step, number]), x: "step", y: "clusters", steps: true, label: `Number of clusters, now ${clusters}`}), liveSizes(job.figures.sizes)))
}

// Columns, the largest cluster first: what is still splitting shows at once.
function liveSizes(sizes) {
  if (!sizes?.length) return null
  const sorted = [...sizes].sort((a, b) => b - a), largest = Math.max(sorted[0], 1)
  return h("div", {class: "columns", role: "img", "aria-label": `Sizes of ${sizes.length} clusters, from ${count(sorted[0])} to ${count(sorted[sorted.length - 1])} images`},
    h("p", {}, "sizes of clusters"), h("div", {}, sorted.map((size) => h("i", {style: `height: ${Math.max((size / largest) * 100, 1)}%`, title: `${count(size)} images`}))))
}

function details(run) {
  const largest = Math.max(...run.sizes.map(([, size]) => size), 1)
  const sizes = [...run.sizes].sort((a, b) => b[1] - a[1]).map(([number, size]) => h("a", {class: "size", href: `/explore?run=${run.id}&cluster=${number}`},
    h("span", {}, `${number}`), h("div", {class: "bar"}, h("i", {style: `width: ${(size / largest) * 100}%`})), h("span", {class: "number"}, count(size))))
  const pairs = (rows) => h("dl", {}, rows.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))))
  const curve = run.trace.length > 1 ? linePlot({points: run.trace.map(([step, bound]) => [step, bound]), x: "step", y: "bound an image", label: "Course of the lower bound"}) : null
  return h("section", {class: "card details"}, h("h2", {}, run.name), h("p", {class: "soft"},
    [`${count(run.clusters)} clusters of ${count(run.images)} images`, run.bound === null ? "" : `lower bound ${short(run.bound)}`,
      run.held_out === null ? "" : `held-out log likelihood ${run.held_out.toFixed(4)}`, run.converged === false ? "stopped before it had settled" : ""].filter(Boolean).join(" · ")),
  h("div", {class: "thirds"}, h("div", {}, h("h3", {}, "Sizes of clusters"), h("div", {class: "sizes"}, sizes)),
    h("div", {}, h("h3", {}, "Course"), curve ?? h("p", {class: "soft"}, "The course was not kept."), h("h3", {}, "Parameters"), pairs(run.parameters)),
    h("div", {}, h("h3", {}, "To do it again"), pairs(run.provenance))))
}

function comparison(found, send) {
  if (!found) return null
  const {one, other} = found
  const cell = (value, at, total) => h("td", {class: value ? "hit" : "", style: value ? `--share: ${Math.round((value / Math.max(total, 1)) * 100)}%` : "",
    title: `${count(value)} images in ${found.rows[at.row]} of ${one.name} and ${found.columns[at.column]} of ${other.name}`}, value ? count(value) : "")
  const heading = (run, number) => h("a", {href: `/explore?run=${run.id}&cluster=${number}`}, `${number}`)
  const table = h("table", {class: "contingency"}, h("thead", {}, h("tr", {}, h("th", {}, ""), found.columns.map((number) => h("th", {scope: "col"}, heading(other, number))))),
    h("tbody", {}, found.rows.map((number, row) => h("tr", {}, h("th", {scope: "row"}, heading(one, number)),
      found.table[row].map((value, column) => cell(value, {row, column}, found.row_totals[row]))))))
  const pieces = (list, run, into) => list.slice(0, 12).map((split) => h("li", {}, `Cluster ${split.cluster} of ${run.name} lies in ${split.into.join(", ")} of ${into.name}`))
  return h("section", {class: "card details"}, h("header", {class: "head"}, h("h2", {}, `${one.name} against ${other.name}`),
    h("button", {class: "plain", "aria-label": "End comparison", onclick: () => send("compare", {number: null})}, icon("close"))),
  h("dl", {class: "stats"}, [["V-measure", found.v_measure.toFixed(3)], ["Adjusted Rand index", found.adjusted_rand.toFixed(3)], ["Images in both", count(found.images)]]
    .map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
  h("p", {class: "soft"}, `Rows are clusters of ${one.name}, columns those of ${other.name}; the shade is the share of the row.`,
    found.left_out ? ` ${count(found.left_out)} small clusters are left out.` : ""),
  h("div", {class: "beside"}, h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Contingency table"}, table),
    h("ul", {class: "splits"}, pieces(found.splits.one, one, other), pieces(found.splits.other, other, one))))
}

function sweep(sweeps, send) {
  if (!sweeps.length) return null
  return h("section", {class: "card details"}, h("h2", {}, "Width of clusters"), ...sweeps.map((found) => h("div", {},
    h("h3", {}, `${found.model} on ${found.features}`), h("div", {class: "plots"},
      linePlot({points: found.points.map(([width, clusters, , id]) => [width, clusters, id]), x: "width", y: "clusters", marks: true, logX: true,
        label: "Clusters by width", onpick: (id) => send("select", {number: id})}),
      found.points.some((point) => point[2] !== null)
        ? linePlot({points: found.points.filter((point) => point[2] !== null).map(([width, , score, id]) => [width, score, id]), x: "width", y: "held-out log likelihood",
          marks: true, logX: true, label: "Held-out score by width", onpick: (id) => send("select", {number: id})})
        : h("p", {class: "soft nothing"}, "Keep some images aside when clustering, and the widths can be compared by how well they foretell those.")))))
}
