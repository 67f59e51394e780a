// A person's walk through the page, which is in a frame of this document.
"use strict";
async function walk() {
}
