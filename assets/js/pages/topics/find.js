// Images by their topics: a mixture as text and as sliders, or the topics of one image.

import {h, icon} from "../../core/element.js"
import {count} from "../../core/format.js"
import {thumbnail} from "../../core/image_set_codec.js"

const STEP = 5 // per cent

export function find(body, content, tell, open) {
  const {shown} = content
  let board = body.querySelector(".mixtures")
  if (!board || board.dataset.run !== `${content.run} ${content.names.length}`) {
    board = form(content, tell)
    body.replaceChildren(board, h("section", {class: "found"}))
  }
  board.fill(content)
  body.querySelector(".found").replaceChildren(...results(content, shown, tell, open))
}

function form(content, tell) {
  const field = h("input", {type: "search", class: "text", placeholder: "3: 50 %, 7: 50 %", "aria-label": "Mixture of topics, like 3: 50 %, 7: 50 %"})
  const sliders = content.names.map((name, topic) => h("input", {type: "range", min: "0", max: "100", step: STEP, value: 0, "aria-label": `Share of ${name}`, "data-topic": topic}))
  const values = content.names.map(() => h("output", {}, ""))
  const titles = content.names.map((name, topic) => h("span", {class: "name"}))
  const wanted = () => sliders.map((slider, topic) => [topic, Number(slider.value)]).filter(([, share]) => share > 0)
  const describe = () => { sliders.forEach((slider, topic) => { values[topic].textContent = Number(slider.value) ? `${slider.value} %` : "" }) }
  // The other sliders give way, so that the shares never sum to more than 100 %.
  const moved = (topic) => {
    const rest = 100 - Number(sliders[topic].value), others = sliders.filter((slider, at) => at !== topic)
    const total = others.reduce((sum, slider) => sum + Number(slider.value), 0)
    if (total > rest) for (const slider of others) slider.value = Math.floor((Number(slider.value) * rest) / total / STEP) * STEP
    describe()
    field.value = wanted().map(([at, share]) => `${at}: ${share} %`).join(", ")
  }
  const search = (event) => { event?.preventDefault(); tell("mixture", {text: field.value}) }
  sliders.forEach((slider, topic) => {
    slider.addEventListener("input", () => moved(topic))
    slider.addEventListener("change", () => search())
  })
  const note = h("p", {class: "soft"})
  const board = h("section", {class: "card pad mixtures", "data-run": `${content.run} ${content.names.length}`}, h("h2", {}, "Images by topics"),
    h("p", {class: "soft"}, "Write the wanted shares, such as 3: 50 % or half topic 3, or move the sliders. Shares that you leave open may belong to any other topic."),
    h("form", {class: "ask", onsubmit: search}, field, h("button", {class: "button main", type: "submit"}, icon("search"), "Find")), note,
    h("div", {class: "sliders"}, sliders.map((slider, topic) => h("label", {}, dot(content.colours[topic]), titles[topic], slider, values[topic]))))
  board.fill = (newest) => {
    const {mixture, like, region, wanted: shares} = newest.shown
    if (!field.matches(":focus")) field.value = mixture
    sliders.forEach((slider, topic) => { if (!slider.matches(":active")) slider.value = Math.round(shares[topic] / STEP) * STEP })
    newest.names.forEach((name, topic) => { titles[topic].textContent = name === `Topic ${topic}` ? name : `${name} (${topic})`; titles[topic].title = name })
    describe()
    note.textContent = like !== null ? `Images with the topics of image ${like}, the most similar first.`
      : region ? `Images with the topics of a region of image ${region.split(":")[0]}, the best match first.` : ""
    note.hidden = !note.textContent
  }
  return board
}

function dot(colour) {
  const mark = h("i", {class: "dot"})
  mark.style.background = colour
  return mark
}

function results(content, shown, tell, open) {
  if (shown.problem) return [h("p", {class: "limit", role: "alert"}, shown.problem)]
  if (!shown.total) return [h("p", {class: "soft"}, "Nothing is searched for yet.")]
  const pairs = shown.images.map(([id]) => [id, -1])
  const tile = ([id, distance, weights], at) => h("figure", {class: "match"}, h("button", {class: "near", title: `Image ${id}, distance ${distance}`, "aria-label": `Open image ${id}`, onclick: () => open(pairs, at)},
    h("img", {src: thumbnail(id, 320, content.version), alt: "", loading: "lazy", decoding: "async"})), stack(content, weights),
  h("figcaption", {}, h("span", {class: "soft", title: "Distance of the topics, 0 to 1"}, `distance ${distance.toFixed(2)}`),
    h("button", {class: "plain", title: "Images like this one by topics", "aria-label": `Images like image ${id} by topics`, onclick: () => tell("like", {image: id})}, icon("image_search"))))
  return [h("p", {class: "soft", role: "status"}, `${count(shown.total)} images, the nearest first`), h("div", {class: "matches"}, shown.images.map(tile)),
    shown.images.length < shown.total ? h("button", {class: "button", onclick: () => tell("more")}, "Show more") : null].filter(Boolean)
}

function stack(content, weights) {
  const told = weights.map((weight, topic) => [weight, topic]).filter(([weight]) => weight >= 0.01)
  const largest = [...told].sort((a, b) => b[0] - a[0]).slice(0, 3).map(([weight, topic]) => `${content.names[topic]} ${Math.round(100 * weight)} %`).join(", ")
  return h("div", {class: "stack", role: "img", title: largest, "aria-label": largest}, told.map(([weight, topic]) => {
    const part = h("i", {})
    part.style.cssText = `flex: ${weight}; background: ${content.colours[topic]}`
    return part
  }))
}
