// One card for each cluster: example images, size, shares by dive, labelled share, spread, nearest clusters.

import {h, icon} from "../../core/element.js"
import {group} from "../../core/group_words.js"
import {count} from "../../core/format.js"
import {how} from "../../shared/scatter_view.js"
import {segmentCrop, thumbnail} from "../../core/image_set_codec.js"

export function render({model}) {
  const list = h("div", {class: "cards", role: "list"})
  const tools = h("div", {class: "cardtools"})
  const none = h("p", {class: "empty", hidden: true})
  const limits = h("div", {class: "limits soft"})
  const drawLimits = () => limits.replaceChildren(...model.limits.map((sentence) => h("p", {}, sentence)))
  const state = {drawn: new Map()}
  const draw = () => {
    const cards = new Map()
    const elements = model.cards.map((card) => {
      const key = JSON.stringify([card, model.open.includes(card.number), model.version, model.cut, card.objects.map(([number]) => model.object_names[number]), card.nearest.map((number) => model.names[number])])
      const element = state.drawn.get(key) ?? drawn(model, card)
      cards.set(key, element)
      return element
    })
    state.drawn = cards
    list.replaceChildren(...elements)
    none.hidden = elements.length > 0
    none.textContent = model.total ? `No ${model.noun} passes the filter.` : model.empty
  }
  toolbar(model, tools)
  for (const name of ["cards", "names", "open", "version", "object_names", "object_colours", "cut"]) model.on(name, draw)
  model.on("limits", drawLimits)
  drawLimits()
  draw()
  return h("div", {class: "cardpane"}, tools, limits, list, none)
}

function toolbar(model, tools) {
  const chooser = (name, title, caption) => {
    const select = h("select", {title, "aria-label": title, onchange: () => { model[name] = select.value }},
      model[`${name}_choices`].map(([value, word]) => h("option", {value, selected: value === model[name]}, word)))
    model.on(name, () => { select.value = model[name] })
    return h("label", {class: "choice"}, h("span", {class: "caption", "aria-hidden": "true"}, caption), select)
  }
  const word = h("input", {type: "search", placeholder: "Label or number", "aria-label": "Filter cards by label or number", value: model.word})
  word.addEventListener("input", () => { model.word = word.value })
  tools.append(chooser("kind", "Example images", "Images"), chooser("order", "Order of the cards", "Order"), chooser("only", "Which cards are shown", "Show"), word)
}

function drawn(model, card) {
  const named = !card.has_name && card.labelled >= 0.5 && card.agreeing >= 0.5 // a few labelled images are not enough to name a cluster
  const name = named ? card.label : card.title
  const act = (message) => (event) => { event.stopPropagation(); model.send_msg({...message, how: how(event)}) }
  const open = model.open.includes(card.number)
  const element = h("div", {class: `card${open ? " open" : ""}`, role: "listitem", "data-cluster": card.number, "aria-label": `${name}, ${count(card.size)} images`},
    h("header", {}, h("i", {class: "dot"}), h("b", {title: name}, name), named ? h("span", {class: "soft"}, String(card.number)) : null,
      h("span", {class: "size", title: `${(100 * card.share).toFixed(1)} % of all images`}, count(card.size))),
    h("div", {class: "standins"}, card.images.map((id) => h("button", {class: "near", title: `Image ${id}`, onclick: act({act: "show", id, cluster: card.number})},
      h("img", {src: thumbnail(id, 128, model.version), alt: "", loading: "lazy"})))),
    dives(model, card), objects(model, card, act),
    h("footer", {}, labelled(card), spread(card), h("span", {class: "space"}), ...card.nearest.map((number) => h("button", {class: "chip", title: `${model.names[number]} is near`,
      onclick: act({act: "reveal", cluster: number})}, h("i", {class: "dot", style: `background: ${model.colours[number]}`}), String(number)))),
    h("div", {class: "acts"}, h("button", {class: "button", onclick: act({act: "open", cluster: card.number})}, icon(open ? "filter_alt_off" : "filter_alt"), open ? "Show all" : "Show only"),
      h("button", {class: "button", title: "Shift adds, Ctrl removes", onclick: act({act: "cluster", cluster: card.number})}, icon("select_all"), "Select")))
  element.querySelector(".dot").style.background = card.colour
  return element
}

// One small bar for each dive: its share in this cluster.
function dives(model, card) {
  const most = Math.max(...card.dives, 1e-9)
  return h("div", {class: "dives", title: `Share of each ${group()}`}, card.dives.map((share, at) => {
    const bar = h("i", {title: `${model.dives[at]}: ${(100 * share).toFixed(1)} %`})
    bar.style.height = `${share > 0.0005 ? Math.max(2, 22 * share / most) : 0}px`
    bar.style.background = card.colour
    return h("span", {}, bar)
  }))
}

// The objects in the cluster: a bar in their colours, and a typical segment of the most frequent ones.
function objects(model, card, act) {
  if (!model.cut || !card.objects.length) return null
  const describeShare = (number, share) => `${model.object_names[number]}: ${(100 * share).toFixed(1)} % of the segments`
  const bar = h("div", {class: "stack", role: "img", "aria-label": `Objects: ${card.objects.slice(0, 8).map(([number, share]) => describeShare(number, share)).join("; ")}`},
    card.objects.map(([number, share]) => {
      const part = h("i", {title: describeShare(number, share)})
      part.style.cssText = `flex: ${share}; background: ${model.object_colours[number]}`
      return part
    }))
  const shares = new Map(card.objects)
  const crops = card.crops.map(([number, image, segment]) => {
    const button = h("button", {class: "near", title: `${describeShare(number, shares.get(number))}; click for all images with it`, "aria-label": `Images with ${model.object_names[number]}`,
      onclick: act({act: "object", object: number})}, h("img", {src: segmentCrop(model.cut, image, segment, 96, model.version), alt: "", loading: "lazy"}))
    button.style.borderColor = model.object_colours[number]
    return button
  })
  return h("div", {class: "madeof"}, bar, h("div", {class: "crops"}, crops))
}

function labelled(card) {
  const ring = h("span", {class: "share", title: `${(100 * card.labelled).toFixed(0)} % labelled${card.label ? `, of these ${(100 * card.agreeing).toFixed(0)} % ${card.label}` : ""}`})
  ring.style.background = `conic-gradient(var(--good) ${card.labelled * 360}deg, var(--line) 0)`
  return h("span", {class: "fact"}, ring, `${(100 * card.labelled).toFixed(0)} %`)
}

function spread(card) {
  return card.spread === null ? null : h("span", {class: "fact soft", title: "Spread: 1 is as wide as all images together"}, icon("open_in_full"), card.spread.toFixed(2))
}
