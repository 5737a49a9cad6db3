// What api.c asks the page: files by their number and by their path. Module.files is the page's list of
// { path, size, read(offset, length) -> Uint8Array or null }.
mergeInto(LibraryManager.library, {
  web_size: function (file) { return Module.files[file].size; },
  web_read: function (file, offset, to, length) {
    if (!length) return 1;
    const bytes = Module.files[file].read(offset, length);
    if (!bytes || bytes.length !== length) return 0;
    HEAPU8.set(bytes, to);
    return 1;
  },
  web_find: function (path, length) {
    const name = UTF8ToString(path, length);
    const found = Module.files.findIndex(f => f.path === name);
    if (found >= 0) return found;
    return !name || Module.files.some(f => f.path.startsWith(name + "/")) ? -2 : -1;
  },
  web_list: function (path, length, to) {
    const name = UTF8ToString(path, length), start = name ? name + "/" : "";
    const names = new Set(Module.files.filter(f => f.path.startsWith(start)).map(f => f.path.slice(start.length).split("/")[0]));
    if (!names.size) return -1;
    const bytes = new TextEncoder().encode([...names].sort().map(n => n + "\n").join(""));
    if (to) HEAPU8.set(bytes, to);
    return bytes.length;
  },
});
