// Arrays come as one compressed block; `page.pack` in Python wrote it.

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

async function unpack(packed) {
  const letters = atob(packed.bytes);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const arrays = {};
  let at = 0;
  for (const [name, kind, length] of packed.index) {
    const size = length * KINDS[kind].BYTES_PER_ELEMENT;
    arrays[name] = new KINDS[kind](buffer.slice(at, at + size)); // a copy begins where its type may begin
    at += size;
  }
  return arrays;
}
