// Messages of a board worked by the keyboard, numbered: the server tells the number of the last one it has done.

export function inOrder(model) {
  let sent = model.heard
  let turning = sent // number of the last act that puts other images on the table
  let waiting = []
  const tell = (act, more = {}) => model.send_msg({act, ...more, nth: ++sent})
  const away = () => model.heard < turning
  model.on("change:heard", () => { while (waiting.length && !away()) waiting.shift()() })
  return {
    tell,
    // An act after which other images are shown.
    turn: (act, more = {}) => { tell(act, more); turning = sent },
    // What says something of the images on the table: typed while others are on their way it was not meant for those,
    // and is not heard.
    seen: (act) => () => { if (!away()) act() },
    // What does not depend on having looked: typed meanwhile, it is done as soon as they are there.
    after: (act) => () => (away() ? waiting.push(act) : act()),
  }
}
