// The service worker: keeps the page's files, so that it works without a network after the first visit.
"use strict";
const CACHE = "berth-@VERSION@";
const FILES = ["./", "index.html", "style.css", "presets.json", "wasm.js", "engine.js", "line.js", "sets.js", "openmp.js", "places.js", "picture.js",
    "reasons.js", "answer.js", "compare.js", "machine.js", "controls.js", "completion.js", "takeaway.js", "main.js"];

addEventListener("install", event => event.waitUntil(
    caches.open(CACHE).then(cache => cache.addAll(FILES)).then(() => skipWaiting())));

addEventListener("activate", event => event.waitUntil(caches.keys().then(names =>
    Promise.all(names.filter(name => name.startsWith("berth-") && name !== CACHE).map(name => caches.delete(name))))
    .then(() => clients.claim())));

// The network first, so that a new release is seen at once; the kept files where there is no network.
addEventListener("fetch", event => {
    if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return;
    event.respondWith(fetch(event.request).catch(() => caches.match(event.request, { ignoreSearch: true })));
});
