// Runs jobs of the library one after the other, off the page's thread, so that files can be read in ranges.
"use strict";
let files = [], library;

async function start(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  library = await Pellucid({ wasmBinary: await new Response(stream).arrayBuffer(), files });
}

function taken(file, path) {
  const reader = new FileReaderSync();
  return { path, size: file.size, read(offset, length) {
    try { return new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length))); }
    catch { return null; } // it was moved or changed since it was dropped
  } };
}

function text(string) {
  const length = library.lengthBytesUTF8(string), room = library._web_room(length);
  library.stringToUTF8(string, room, length + 1);
  return room;
}

function run(job, number) {
  const code = library._web_run(text(job), number, text(files[number].path));
  const out = new TextDecoder().decode(library.HEAPU8.subarray(library._web_text(), library._web_text() + library._web_length()));
  return { code, text: out, isError: library._web_is_error() === 1, bytesRead: library._web_bytes_read() };
}

self.onmessage = async ({ data }) => {
  try {
    if (data.packed) await start(data.packed);
    if (data.add) files.push(...data.add.map(({ file, path }) => taken(file, path)));
    self.postMessage({ id: data.id, ...(data.job ? run(data.job, data.number) : {}) });
  } catch (problem) { // the memory of a page is bounded; the page starts another worker
    self.postMessage({ id: data.id, failed: String(problem) });
  }
};
