// Cover: the share of every label in every dive. An estimate with its interval if images were drawn at random,
// otherwise the range that is certain.

import {h, redraw} from "../../core/element.js"
import {count} from "../../core/format.js"
import {groups} from "../../core/group_words.js"

const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`
const EVERYWHERE = 0 // id of all dives together
const FEW = 4 // terms in one sentence
const LEVELS = [["", "unchanged"], ...[1, 2, 3, 4, 5].map((one) => [one, one])]

export function coverPart({tell, now, plots}) {
  const element = h("div", {class: "cover"})
  let size = 100
  let chosen = null // id of the term that is compared between dives

  function draw() {
    redraw(element, tools(), now().random ? sheet() : lead(), now().unfinished.map(unfinished), across(), h("div", {class: "dives"}, now().groups.map(dive)))
  }

  function tools() {
    const {level, together} = now()
    const query = new URLSearchParams({...(level ? {level} : {}), ...(together ? {together: "true"} : {})}).toString()
    const option = (chosen) => ([value, word]) => h("option", {value, selected: String(value) === String(chosen ?? "")}, word)
    return h("div", {class: "tools"},
      h("label", {class: "pick"}, "Level", h("select", {"data-key": "level", "aria-label": "Level of the terms", onchange: (event) => tell("level", {level: event.target.value || null})}, LEVELS.map(option(level)))),
      h("label", {class: "pick"}, "Intervals", h("select", {"data-key": "together", "aria-label": "Confidence of the intervals", onchange: (event) => tell("together", {on: event.target.value === "1"})}, [["0", "each at 95 %"], ["1", "all together at 95 %"]].map(option(together ? "1" : "0")))),
      h("span", {class: "space"}), now().random ? [sizes(), ask(false)] : null,
      h("a", {class: "button", href: `/api/v1/cover.csv${query ? `?${query}` : ""}`, download: "cover.csv"}, "Save as CSV"))
  }

  const sizes = () => h("label", {class: "pick"}, "Images", h("select", {"data-key": "size", "aria-label": "Random images to label", onchange: (event) => { size = Number(event.target.value); draw() }},
    now().sizes.map((one) => h("option", {value: one, selected: one === size}, one))))

  // Open images come first, then those that need a second look.
  function ask(main) {
    const {waiting, again} = now()
    const words = waiting ? `Label ${count(waiting)} random images` : again ? `Take a second look at ${count(again)} images` : `Label ${size} random images`
    return h("a", {class: main ? "button main" : "button", "data-key": "random", href: waiting || again ? "/learn?queue=random" : `/learn?queue=random&count=${size}`}, words)
  }

  // Random images of a check count for cover too; they stay open if the check was left.
  const unfinished = ({acts, images}) => h("p", {class: "soft", "data-told": "unfinished"}, `A check in Review has ${images === 1 ? "1 unanswered image" : `${count(images)} unanswered images`}. `,
    h("a", {href: `/review?audit=${acts.join(",")}`}, "Finish the check"))

  const lead = () => h("section", {class: "card pad lead"}, h("h2", {}, "No images were drawn at random"),
    h("p", {}, `${now().earlier} The ranges below are certain. To estimate shares, label images that are drawn at random.`),
    h("div", {class: "tools"}, sizes(), ask(true)))

  const sheet = () => h("p", {class: "soft", "data-told": "sheet"}, `${now().intervals[0].toUpperCase()}${now().intervals.slice(1)}. ${now().slips[0].toUpperCase()}${now().slips.slice(1)}.`)

  function dive(group) {
    return h("section", {class: "card pad"}, h("h2", {}, group.name),
      h("p", {class: "soft"}, `${count(group.of)} images. ${group.remark}`),
      group.rows.length ? plots.frame("cover", {query: {dive: group.id === EVERYWHERE ? null : group.id, ...asked()}, stamp: JSON.stringify(group.rows), height: 100 + 26 * group.rows.length, label: `Cover of ${group.name}: ${group.rows.map(words).join(", ")}`}) : null,
      group.hidden ? h("p", {class: "soft"}, `${count(group.hidden)} more terms are in the CSV file`) : null,
      group.draws ? h("p", {class: "soft"}, `Any other term: at most ${percent(group.other)}`) : null,
      group.of_drawn.length ? ofDrawn(group) : null)
  }

  // Many terms would be a wall of text.
  function ofDrawn(group) {
    const title = `Among the ${count(group.drawn_images)} images that could have been drawn`
    if (group.of_drawn.length <= FEW) return h("p", {class: "soft"}, `${title}: ${group.of_drawn.map(words).join(", ")}`)
    return h("details", {class: "soft"}, h("summary", {}, title), h("ul", {}, group.of_drawn.map((row) => h("li", {}, words(row)))))
  }

  const asked = () => ({level: now().level, together: now().together})

  function words({term, estimate, low, high}) {
    return estimate === null ? `${term} between ${percent(low)} and ${percent(high)}` : `${term} ${percent(estimate)} (${percent(low)} – ${percent(high)})`
  }

  // One label in all dives.
  function across() {
    const [all, ...dives] = now().groups
    if (dives.length < 2 || !all.rows.length) return null
    const term = all.rows.find(({id}) => id === chosen) ?? all.rows[0]
    const choice = h("select", {"data-key": "across", "aria-label": `Label to compare between ${groups()}`, onchange: (event) => { chosen = Number(event.target.value); draw() }}, all.rows.map(({id, term: name}) => h("option", {value: id, selected: id === term.id}, name)))
    return h("section", {class: "card pad across"}, h("header", {class: "line"}, h("h2", {}, `One label in all ${groups()}`), choice),
      plots.frame("cover-by-dive", {query: {term: term.id, ...asked()}, stamp: JSON.stringify(dives.map(({rows}) => rows)), height: 100 + 26 * dives.length, label: `Cover of ${term.term} in all ${groups()}`}))
  }

  return {element, draw}
}
