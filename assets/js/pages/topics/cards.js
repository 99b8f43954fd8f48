// Cards of topics: typical patches and images, share of each dive, related labels, and the name.

import {h, icon} from "../../core/element.js"
import {count} from "../../core/format.js"
import {group} from "../../core/group_words.js"
import {segmentCrop, thumbnail} from "../../core/image_set_codec.js"

const PAUSE = 250 // milliseconds after the last key before the cards are filtered
const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`

// Not redrawn with the page, so that typed text is not lost.
export function finder(now, tell) {
  let timer = null
  const field = h("input", {type: "search", placeholder: "Name or number", "aria-label": "Find a topic by its name or number"})
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => tell("word", {word: field.value}), PAUSE) })
  const show = () => { if (!field.matches(":focus")) field.value = now().shown.word }
  return {element: field, show, focus: () => field.focus()}
}

export function cards(body, content, tell, open) {
  const {shown} = content
  if (!shown.cards.length) { body.replaceChildren(h("p", {class: "soft"}, "No topic has this name or number.")); return }
  let list = body.querySelector(".topiccards")
  if (!list) { list = h("div", {class: "objectcards topiccards", role: "list"}); body.replaceChildren(list) }
  const old = new Map([...list.children].map((element) => [element.dataset.key, element]))
  const wanted = shown.cards.map((card) => {
    const key = JSON.stringify([card, content.cut, content.version, content.run])
    return old.get(key) ?? topicCard(content, card, tell, open, key)
  })
  if (wanted.length === list.children.length && wanted.every((element, at) => element === list.children[at])) return
  const focused = list.getRootNode().activeElement?.closest?.(".topic")?.dataset.number
  list.replaceChildren(...wanted)
  if (focused) list.querySelector(`[data-number="${focused}"] input`)?.focus({preventScroll: true})
}

function topicCard(content, card, tell, open, key) {
  const dot = h("i", {class: "dot"})
  dot.style.background = card.colour
  const {number} = card, [one, many] = content.part_words
  const crop = ([image, patch], at) => h("button", {class: "near", title: `${one[0].toUpperCase()}${one.slice(1)} ${patch} of image ${image}`, "aria-label": `Open image ${image}`, onclick: () => open(card.crops, at)},
    h("img", {src: segmentCrop(content.cut, image, patch, 96, content.version), alt: "", loading: "lazy", decoding: "async"}))
  const pairs = card.images.map(([id]) => [id, -1])
  const picture = ([id, weight], at) => h("button", {class: "near", title: `Image ${id}: ${percent(weight)} of this topic`, "aria-label": `Open image ${id}`, onclick: () => open(pairs, at)},
    h("img", {src: thumbnail(id, 128, content.version), alt: "", loading: "lazy", decoding: "async"}), h("span", {class: "weight"}, `${Math.round(100 * weight)} %`))
  const title = h("h2", {title: card.name}, card.name, card.given ? h("span", {class: "soft"}, ` ${number}`) : null)
  return h("div", {class: "card object topic", role: "listitem", "data-key": key, "data-number": number, "aria-label": `${card.name}, ${percent(card.share)} of all images`},
    h("header", {}, dot, title, h("span", {class: "soft size", title: `${percent(card.patch_share)} of all ${many}; the largest topic of ${count(card.largest_in)} images`}, `${percent(card.share)} · largest in ${count(card.largest_in)}`)),
    card.crops.length ? h("div", {class: "cropgrid"}, card.crops.map(crop)) : h("p", {class: "soft"}, `The ${many} were removed or computed again.`),
    h("div", {class: "typicalimages"}, card.images.map(picture)), bars(card), related(card), naming(card, tell),
    h("div", {class: "acts"}, h("a", {class: "button", href: `/explore?run=${content.run}&cluster=${number}`, title: "Images in which this topic is the largest"}, icon("explore"), "Explore"),
      h("button", {class: "button", title: "Images with the largest share of this topic", onclick: () => tell("mixture", {text: `${number}: 100 %`})}, icon("image_search"), "Images with it")))
}

function naming(card, tell) {
  const field = h("input", {value: card.given, placeholder: "Name this topic", "aria-label": `Name of topic ${card.number}`, maxlength: "60"})
  const submit = () => { if (field.value.trim() !== card.given) tell("name", {topic: card.number, name: field.value}) }
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") submit() })
  return h("div", {class: "naming"}, field, h("button", {class: "button", onpointerdown: (event) => event.preventDefault(), onclick: submit}, "Name"))
}

function bars(card) {
  const most = Math.max(...card.dives.map(([, share]) => share), 1e-9)
  return h("div", {class: "dives", role: "img", title: `Share of each ${group()}`, "aria-label": `Share of each ${group()}: ${card.dives.map(([dive, share]) => `${dive} ${percent(share)}`).join(", ")}`}, card.dives.map(([dive, share]) => {
    const bar = h("i", {title: `${dive}: ${percent(share)}`})
    bar.style.height = `${share > 0.0005 ? Math.max(2, (22 * share) / most) : 0}px`
    bar.style.background = card.colour
    return h("span", {title: `${dive}: ${percent(share)}`}, bar)
  }))
}

function related(card) {
  if (!card.labels.length) return h("p", {class: "soft state"}, "No labelled images yet")
  return h("p", {class: "state", title: "The share of this topic that is in images with the label"}, "Labels: ", card.labels.map(([name, share]) => `${name} ${Math.round(100 * share)}\u00a0%`).join(", "))
}
