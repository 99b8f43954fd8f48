// Crowd: campaigns, a new one, and one in full: link, standing, results, people, what was refused.

import {h, icon, s, whileShown} from "./dom.js"
import {count, moment, time} from "./told.js"

const LOOK = 3000 // milliseconds between two looks at an open campaign
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7b4fa3", "#a23b3b", "#4b6b2f", "#6b7280"]
const STATES = {draft: "not open yet", open: "open", paused: "paused", closed: "closed"}
const colour = (number) => COLOURS[number % COLOURS.length]
const thumbnail = (image, size = 128) => `/thumbnails/image/${image}/${size}.jpg`

export function render({model}) {
  const send = (act, rest = {}) => model.send_msg({act, ...rest})
  let writing = model.content.chosen !== null // the form for a new campaign stays while the rest is drawn anew
  const names = {} // words typed for clusters
  const side = h("aside", {})
  const main = h("div", {class: "runs"})
  const root = h("div", {class: "page"}, h("header", {class: "head"}, h("h1", {}, "Crowd"),
    h("button", {class: "button main", onclick: () => { writing = true; draw() }}, icon("add"), "New campaign")), h("div", {class: "studio"}, side, main))
  let form = null

  function draw() {
    const found = model.content
    if (writing && !form) form = newCampaign(found)
    if (!writing) form = null
    side.replaceChildren(list(found))
    if (!found.shown && !writing) {
      main.replaceChildren(h("section", {class: "empty"}, icon("groups"), h("h2", {}, "Ask many people which images belong together"),
        h("p", {}, "Each sees a few images at a time behind a link, on a phone or a computer, without an account. From their answers come clusters, what each person goes by, and who does not look."),
        h("button", {class: "button main", onclick: () => { writing = true; draw() }}, "New campaign")))
      return
    }
    const open = new Set([...main.querySelectorAll("details[open]")].map((part) => part.dataset.part))
    const parts = found.shown ? [head(found.shown), standing(found.shown), ...results(found.shown), people(found.shown), refused(found.shown)] : []
    if (!form?.isConnected || parts.length) main.replaceChildren(...[form, ...parts].filter(Boolean))
    for (const part of main.querySelectorAll("details")) part.open ||= open.has(part.dataset.part)
  }

  function list(found) {
    return h("nav", {class: "card campaigns", "aria-label": "Campaigns"}, found.campaigns.length ? found.campaigns.map((one) =>
      h("button", {class: "plain", "aria-current": one.id === found.shown?.id ? "true" : null, onclick: () => { writing = false; send("select", {number: one.id}); draw() }},
        h("b", {}, one.name), h("span", {class: "soft"}, `${STATES[one.state]} · ${count(one.images)} images`))) : h("p", {class: "soft"}, "No campaigns yet."))
  }

  // --- a new campaign

  function newCampaign(found) {
    const own = found.defaults
    const field = (label, input, help) => {
      input.setAttribute("aria-label", help ? `${label}. ${help}` : label) // else the options of a choice would be read with it
      return h("label", {class: "field"}, h("span", {}, label), input, help ? h("small", {class: "soft"}, help) : null)
    }
    const number = (name, value, min, max) => h("input", {name, type: "number", value, min, max, required: true})
    const options = [h("option", {value: ""}, `All ${count(found.images)} images`), ...found.selections.map((one) =>
      h("option", {value: one.id, selected: one.id === found.chosen}, `${one.name} (${count(one.count)})`))]
    const element = h("form", {class: "card details", "aria-label": "New campaign"}, h("h2", {}, "New campaign"), h("div", {class: "fields"},
      field("Name", h("input", {name: "name", required: true, maxlength: 120})),
      field("Images", h("select", {name: "selection"}, options)),
      field("Of those, at random", number("count", 200, 0, 100000), "0: all of them"),
      field("Images in a task", number("size", own.size, 2, 60)), field("Tasks each image is in", number("views", own.views, 1, 1000)),
      field("People for each task", number("repeats", own.repeats, 1, 1000)),
      field("Tasks one person does at most", number("most_tasks", own.most_tasks, 0, 100000), "0: as many as they like"),
      field("Known pairs", number("known", 0, 0, 200), "Drawn from labels; who misses them is asked no further"),
      field("Title people see", h("input", {name: "title", maxlength: 200})),
      field("What they are to do", h("textarea", {name: "instructions", rows: 3, value: own.instructions})),
      field("What they agree to", h("textarea", {name: "consent", rows: 3, value: own.consent}))),
    h("footer", {}, h("button", {type: "button", class: "button", onclick: () => { writing = false; draw() }}, "Cancel"), h("button", {class: "button main"}, "Make it")))
    element.addEventListener("submit", (event) => {
      event.preventDefault()
      const said = Object.fromEntries(new FormData(element))
      for (const name of ["count", "size", "views", "repeats", "most_tasks", "known"]) said[name] = Number(said[name])
      said.selection = said.selection ? Number(said.selection) : null
      writing = false
      send("create", {values: said})
      draw()
    })
    return element
  }

  // --- one campaign

  function head(shown) {
    const act = (name, words, symbol, rest) => h("button", {class: "button", onclick: () => send(name, rest)}, icon(symbol), words)
    const acts = {draft: [act("open", "Open", "play_arrow")], open: [act("pause", "Pause", "pause"), act("close", "Close", "stop")],
      paused: [act("open", "Go on", "play_arrow"), act("close", "Close", "stop")], closed: []}[shown.state]
    const link = shown.state === "open" || shown.state === "paused" ? h("div", {class: "share"},
      shown.code ? h("img", {src: shown.code, alt: "The link as a QR code", class: "code"}) : null,
      h("div", {}, h("h3", {}, "Send this link"), h("p", {}, h("a", {href: shown.link, target: "_blank", rel: "noopener"}, shown.link)),
        shown.here_only ? h("p", {class: "soft"}, "Only this machine can open it: start the server with --host 0.0.0.0 and open this page by the machine's name.") : null,
        h("p", {class: "soft"}, `Good until ${moment(shown.expires_at)} UTC. `, h("button", {class: "plain", onclick: () => send("renew")}, icon("autorenew"), "New link"))))
      : null
    return h("section", {class: "card details"}, h("header", {class: "head"}, h("div", {}, h("h2", {}, shown.name), h("p", {class: "soft"}, STATES[shown.state])),
      h("div", {class: "acts"}, acts)), link)
  }

  function standing({standing: now, state}) {
    const share = now.wanted ? now.answered / now.wanted : 0
    const facts = [["Answers", `${count(now.answered)} of ${count(now.wanted)}`], ["Under way", count(now.under_way)], ["People", count(now.workers)],
      ["Asked no further", count(now.stopped)], ["Last hour", count(now.per_hour)], ["A task takes", now.median_seconds === null ? "–" : time(now.median_seconds)]]
    return h("section", {class: "card details", "aria-label": "How it goes"}, h("dl", {class: "stats"}, facts.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
      h("div", {class: "bar", role: "progressbar", "aria-label": "Answers", "aria-valuenow": Math.round(share * 100), "aria-valuemin": 0, "aria-valuemax": 100},
        h("i", {style: `width: ${share * 100}%`})), now.answered ? h("div", {class: "acts after"},
        h("button", {class: "button main", onclick: () => send("aggregate")}, icon("bubble_chart"), "Cluster the answers"),
        state === "closed" ? null : h("button", {class: "button", onclick: () => send("aggregate", {more: 20}), title: "Clusters, then adds 20 tasks on what is least sure"}, icon("add_task"), "Cluster, and ask 20 more")) : null)
  }

  function results(shown) {
    const found = shown.result
    if (!found) return []
    return [clusters(found), h("section", {class: "card details"}, h("h2", {}, "Where images lie"), h("div", {class: "beside"}, cloud(found), disputed(found)))]
  }

  function clusters(found) {
    const card = (one) => h("li", {style: `--own: ${colour(one.number)}`}, h("header", {}, h("b", {}, `${one.number + 1}`), h("span", {class: "soft"}, `${count(one.size)} images`),
      h("button", {class: "plain", title: "Ask about these among themselves: people make finer groups", "aria-label": `Refine cluster ${one.number + 1}`, onclick: () => send("refine", {cluster: one.number})}, icon("zoom_in"))),
      h("div", {class: "few"}, one.exemplars.map((image) => h("img", {src: thumbnail(image), alt: "", loading: "lazy"}))),
      h("input", {"aria-label": `Name of cluster ${one.number + 1}`, placeholder: "Name it", value: names[`${found.run}-${one.number}`] ?? "",
        oninput: (event) => { names[`${found.run}-${one.number}`] = event.target.value }}))
    const adopt = () => send("adopt", {names: Object.fromEntries(found.clusters.map((one) => [one.number, names[`${found.run}-${one.number}`] ?? ""]))})
    const weak = found.gain !== null && found.gain !== undefined && found.gain < 0.05
    return h("section", {class: "card details"}, h("header", {class: "head"}, h("h2", {}, `${found.clusters.length} clusters`),
      h("div", {class: "acts"}, h("a", {class: "button", href: `/explore?run=${found.run}`}, icon("explore"), "Explore"), h("button", {class: "button", onclick: adopt}, icon("label"), "Adopt names as labels"))),
    weak ? h("p", {role: "alert"}, "These answers hold little structure: people may have guessed, or the question is too hard.") : null, h("ul", {class: "clusters"}, found.clusters.map(card)))
  }

  function cloud(found) {
    const span = (at) => [Math.min(...found.points.map((point) => point[at])), Math.max(...found.points.map((point) => point[at]))]
    const [left, right] = span(0), [low, high] = span(1), place = (value, from, to, size) => 10 + ((value - from) / (to - from || 1)) * (size - 20)
    return s("svg", {viewBox: "0 0 560 380", class: "cloud", role: "img", "aria-label": `${found.points.length} images in ${found.clusters.length} clusters`},
      ...found.points.map(([x, y, cluster, image]) => s("circle", {cx: place(x, left, right, 560), cy: place(y, high, low, 380), r: 4, fill: colour(cluster)}, s("title", {}, `image ${image}, cluster ${cluster + 1}`))))
  }

  function disputed(found) {
    return h("div", {class: "disputed"}, h("h3", {}, "What people disagree on"), h("div", {class: "few"}, found.disputed.slice(0, 18).map(([image, sure]) =>
      h("img", {src: thumbnail(image), alt: `Image ${image}, ${Math.round(sure * 100)} % sure`, title: `${Math.round(sure * 100)} % sure`, loading: "lazy"}))))
  }

  function people(shown) {
    if (!shown.workers.length) return null
    const tables = shown.result?.tables ?? [], order = shown.result?.order ?? []
    const line = (one) => h("tr", {class: one.looking ? null : "guess"}, h("td", {class: "number"}, one.number + 1), h("td", {}, one.nickname || "–"), h("td", {class: "number"}, count(one.answers)),
      h("td", {class: "number"}, one.gold_asked ? `${one.gold_right} of ${one.gold_asked}` : ""), h("td", {class: "number"}, one.quality === null ? "" : one.quality.toFixed(2)),
      h("td", {}, one.school || ""), h("td", {}, one.state === "stopped" ? "asked no further" : one.looking ? "" : "does not look"), h("td", {}, one.quality !== null && tables[one.number] ? table(tables[one.number], order, one) : ""))
    const heads = ["Nr", "Nickname", "Answers", "Known pairs", "Quality", "School", "", "Puts clusters together"]
    return h("details", {class: "card details", "data-part": "people"}, h("summary", {}, h("h2", {}, `${count(shown.workers.length)} people`)), h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "People"},
      h("table", {}, h("thead", {}, h("tr", {}, heads.map((text) => h("th", {scope: "col"}, text)))), h("tbody", {}, [...shown.workers].sort((a, b) => (b.quality ?? -1) - (a.quality ?? -1)).map(line)))))
  }

  function table(values, order, one) {
    const size = 9
    return s("svg", {viewBox: `0 0 ${order.length * size} ${order.length * size}`, width: order.length * size, height: order.length * size, class: "table", role: "img", "aria-label": `What person ${one.number + 1} merges`},
      ...order.flatMap((row, y) => order.map((column, x) => s("rect", {x: x * size, y: y * size, width: size - 1, height: size - 1, "fill-opacity": values[row][column]},
        s("title", {}, `clusters ${row + 1} and ${column + 1}: ${Math.round(values[row][column] * 100)} %`)))))
  }

  function refused(shown) {
    if (!shown.refusals.length) return null
    return h("details", {class: "card details", "data-part": "refused"}, h("summary", {}, h("h2", {}, `${count(shown.standing.refused)} refused`)), h("ul", {class: "refusals"}, shown.refusals.map((one) =>
      h("li", {}, `${moment(one.at)} · ${one.worker === null ? "somebody" : `person ${one.worker + 1}`} · ${one.what}`))))
  }

  let over = false
  const timer = setInterval(() => {
    const typing = root.contains(root.getRootNode().activeElement) && root.getRootNode().activeElement?.matches("input, textarea, select")
    if (!over && !document.hidden && !typing && model.content.shown?.state === "open") send("look")
  }, LOOK)
  model.on("remove", () => { over = true; clearInterval(timer) })
  whileShown(model, document, "visibilitychange", () => { if (!document.hidden) send("look") })
  model.on("content", draw)
  draw()
  queueMicrotask(() => send("address", {origin: location.origin}))
  return root
}
