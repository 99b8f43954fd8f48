// Messages of a board worked by the keyboard: numbered, because the server's threads might do them in another order.

export function inOrder(model) {
  let sent = model.heard
  let turning = sent // number of the last act that puts other images on the table
  const tell = (act, more = {}) => model.send_msg({act, ...more, number: ++sent})
  return {
    tell,
    // An act after which other images are shown: what is typed until then was not meant for those.
    turn: (act, more = {}) => { tell(act, more); turning = sent },
    turning: () => model.heard < turning,
  }
}
