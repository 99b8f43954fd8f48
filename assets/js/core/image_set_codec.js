// Encoding of image sets: four bytes (0 for bits, 1 for positions), then the bits or int32 positions.

export function unpacked(content, count) {
  if (!content || content.byteLength < 4) return new Uint8Array(count)
  const mask = new Uint8Array(count)
  const view = new DataView(content.buffer ?? content, content.byteOffset ?? 0, content.byteLength)
  const body = new Uint8Array(view.buffer, view.byteOffset + 4, view.byteLength - 4)
  if (view.getInt32(0, true) === 0) {
    for (let at = 0; at < count; at++) mask[at] = (body[at >> 3] >> (at & 7)) & 1
  } else {
    const positions = new Int32Array(body.slice().buffer)
    for (const position of positions) mask[position] = 1
  }
  return mask
}

export function packed(mask) {
  let selected = 0
  for (let at = 0; at < mask.length; at++) selected += mask[at]
  if (selected * 32 < mask.length) {
    const content = new Int32Array(selected + 1)
    content[0] = 1
    for (let at = 0, to = 1; at < mask.length; at++) if (mask[at]) content[to++] = at
    return content.buffer
  }
  const content = new Uint8Array(4 + Math.ceil(mask.length / 8))
  for (let at = 0; at < mask.length; at++) if (mask[at]) content[4 + (at >> 3)] |= 1 << (at & 7)
  return content.buffer
}

export const packedPositions = (positions) => Int32Array.from([1, ...positions]).buffer

// The numbers in a parameter of bytes, which arrives as a buffer or as a view of one.
export function numbersOf(content, Type) {
  if (!content || !content.byteLength) return new Type(0)
  if (content instanceof ArrayBuffer) return new Type(content)
  return new Type(content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength))
}

// Arrays are fetched once per page, however many views need them.
const fetched = new Map()

export function array(url, Type) {
  if (!url) return Promise.resolve(null)
  if (!fetched.has(url)) {
    fetched.set(url, fetch(url, {credentials: "same-origin"}).then((answer) => {
      if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
      return answer.arrayBuffer()
    }))
    for (const known of [...fetched.keys()].slice(0, -24)) fetched.delete(known)
  }
  return fetched.get(url).then((content) => new Type(content))
}

export const thumbnail = (id, size, version) => `/thumbnails/image/${id}/${size}.jpg?v=${version}`

export const segmentCrop = (cut, image, segment, size, version) => `/thumbnails/segment/${cut}/${image}/${segment}/${size}.jpg?v=${version}`

// Combines many calls into one before the next frame.
export function oncePerFrame(work) {
  let waiting = 0
  return () => { if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; work() }) }
}
